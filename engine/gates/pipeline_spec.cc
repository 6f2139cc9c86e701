#include "engine/gates/pipeline_spec.h"

#include <string>
#include <vector>

#include "engine/gates/pipeline_layout.h"

namespace cosched {
namespace {

// Which requests of a pipeline can wait for each other. A request is *kept back* at a gate where its
// room can be full until it is opened there or further down, for want of a credit that an older one
// has. That is no harm (the older one goes on) unless what is kept back has something that the older
// one needs: a call in one of a stage's few places, or a credit of the partitions of all requests.
class DeadlockCheck {
 public:
  explicit DeadlockCheck(const PipelineLayout& layout) : layout_(layout) {
    kept_back_.resize(layout.places.size());
    for (int gate = layout.Egress() - 1; gate > 0; --gate) {
      kept_back_[Index(gate)] = IsBounded(gate) && (IsContested(gate) || IsKeptBackBelow(gate));
    }
    FindOrder();
  }

  void Check() const {
    for (int stage = 0; stage + 1 < layout_.Egress(); ++stage) {
      CheckPlaces(stage);
      CheckOrder(stage);
    }
    for (const PipelineLayout::Level& level : layout_.levels) {
      if (level.partition >= 0) CheckPartitions(level);
    }
  }

 private:
  static size_t Index(int gate) { return static_cast<size_t>(gate); }
  const Gate::Options& From(int gate) const { return layout_.Stage(gate).from; }
  bool IsBounded(int gate) const { return From(gate).items > 0 || From(gate).bytes > 0; }
  bool IsLimited(int stage) const { return layout_.Stage(stage).parallel > 0; }
  // Whether a call of the stage can find no room after it has begun: if it makes one item, that one
  // was promised room, but of a byte only.
  bool Parks(int stage) const {
    return IsBounded(stage + 1) && (layout_.Stage(stage).emits_many || From(stage + 1).bytes > 0);
  }

  // Whether more requests may be at the gate than can be opened there: always if credits can become
  // fewer, as those of the outermost level.
  bool IsContested(int gate) const {
    const PipelineLayout::Place& place = layout_.At(gate);
    if (place.opens < 0) return false;
    const int inside = layout_.links[Index(place.closes)].most;
    return inside > (place.level == 0 ? 1 : layout_.links[Index(place.opens)].capacity);
  }

  bool IsKeptBackBelow(int gate) const {
    const int last =
        layout_.Partitions(gate) ? layout_.LevelAt(layout_.At(gate).call_level).join : gate + 1;
    for (int below = gate + 1; below <= last; ++below) {
      if (kept_back_[Index(below)]) return true;
    }
    return false;
  }

  // Whether calls of a request begin, and items come, in the order of their ordinals.
  void FindOrder() {
    begins_in_order_.resize(layout_.places.size());
    bool comes_in_order = true;
    for (int i = 0; i < layout_.Egress(); ++i) {
      const PipelineLayout::Place& place = layout_.At(i);
      const bool begins = From(i).in_order || comes_in_order || place.one_call ||
                          From(i).hands == Gate::Hands::kMany;
      begins_in_order_[Index(i)] = begins;
      const bool one_inside = i + 1 < layout_.Egress() && From(i + 1).items > 0 &&
                              From(i + 1).items / layout_.At(i + 1).shares == 1;
      const bool one_by_one =
          layout_.Stage(i).parallel == 1 || (one_inside && !layout_.Stage(i).emits_many);
      comes_in_order = place.numbers || (begins && one_by_one) || place.one_call;
    }
  }

  void CheckPlaces(int stage) const {
    const int below = stage + 1;
    const bool joins = layout_.Stage(below).joins > 0;
    // Calls of the first stage begin request by request; and whose one call of a stage has begun
    // needs no further place there.
    if (stage == 0 || (layout_.At(stage).one_call && !joins)) return;
    if (!IsLimited(stage) || !Parks(stage) || !kept_back_[Index(below)]) return;
    if (layout_.At(below).shares < 2) return;  // Never two between here and there.
    RefuseStage(
        layout_.Stage(stage), "parallel",
        std::to_string(layout_.Stage(stage).parallel) +
            ", but calls of a request that waits for a credit at " + layout_.Stage(below).name +
            " can take all places there are, while the request that has the credit needs one",
        "0 (no limit); or no bound at " + layout_.Stage(below).name +
            "; or end-to-end credits; or one call a request");
  }

  void CheckOrder(int stage) const {
    const int below = stage + 1;
    const bool keeps = From(stage).hands == Gate::Hands::kOne && !layout_.At(stage).numbers;
    if (stage == 0 || !keeps || !From(below).in_order || !IsBounded(below)) return;
    if (From(stage).in_order) return;
    // What waits at a bounded gate leaves room for what was promised some: for all that is on its
    // way and comes before it, if calls above begin in order. Bytes are not promised.
    const bool begins = begins_in_order_[Index(stage)];
    const bool no_room = (From(stage).items > 0 && !begins_in_order_[Index(stage - 1)]) ||
                         (From(stage).bytes > 0 && !begins);
    const bool no_place = IsLimited(stage) && Parks(stage) && !begins;
    if (!no_room && !no_place) return;
    RefuseStage(layout_.Stage(below), "in_order",
                "items that come before their turn can take the room, or the places, that the next "
                "one needs at " +
                    layout_.Stage(stage).name,
                "in_order there, too, or no bound here");
  }

  void CheckPartitions(const PipelineLayout::Level& level) const {
    if (!kept_back_[Index(level.join)] || layout_.At(level.join).shares < 2) return;
    const StageSpec& stage = layout_.Stage(level.partition);
    const bool inner_gates = level.join > level.partition + 1;
    // A partition that has no call yet has no credit, and a call has room for what it makes.
    if (!inner_gates && !Parks(level.partition)) return;
    const bool in_turn = level.partition == 0 && (level.link == CreditLink::kEndToEnd ||
                                                  stage.inner_open == 1 || !inner_gates);
    if (in_turn) return;
    RefuseStage(stage, "inner_open",
                std::to_string(stage.inner_open) +
                    ", but partitions of a request that waits for a credit further down can have "
                    "all of these credits, while the request that has that credit needs one",
                "no bound where partitions are joined, or end-to-end credits outside of them");
  }

  const PipelineLayout& layout_;
  std::vector<bool> kept_back_;        // By gate.
  std::vector<bool> begins_in_order_;  // By stage.
};

}  // namespace

void Check(const PipelineSpec& spec) {
  const PipelineLayout layout(spec);
  DeadlockCheck(layout).Check();
}

}  // namespace cosched
