#include "model.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_set>
#include <utility>

#include "engine/base/random.h"

namespace cosched::model {
namespace {

constexpr size_t kMostRequests = 4;
constexpr size_t kMostGates = 6;
constexpr size_t kMostIds = 64;  // Of requests and their partitions.
constexpr int kMostSteps = 150;  // Of a walk.

// The first two are Next(); what comes before a call can act.
enum class Kind { kCompute, kWait, kAdmit, kEmit, kPark, kFinish, kFail, kCancel, kSetOpen };
constexpr std::array kKindNames = {"next",   "next(waits)", "admit",  "emit",    "park",
                                   "finish", "fail",        "cancel", "set open"};

struct Action {
  Kind kind = Kind::kCompute;
  int64_t which = 0;  // The call's place in Calls(), the request's number, or the open requests.
  int64_t bytes = 0;  // Of what is emitted.
};

// What the search knows by itself.
struct Shadow {
  std::vector<RequestId> ids;  // Of those admitted.
  std::array<bool, kMostRequests> answered = {}, over = {};
  // Items of each request that came to and left each gate.
  std::array<std::array<int, kMostGates>, kMostRequests> came = {}, left = {};
  std::array<uint8_t, kMostIds> ended = {};  // Of each request or partition: gates, as bits.
};

struct Node {
  PipelineState state;
  Shadow shadow;
  int64_t index = 0;
};

class Searcher {
 public:
  explicit Searcher(const Settings& settings) : settings_(settings) {}

  Result Run() {
    Visit({PipelineState(settings_.spec), {}, 0}, -1, {});
    while (!frontier_.empty() && result_.violation.empty() && result_.deadlock.empty()) {
      const Node node = std::move(frontier_.front());
      frontier_.pop_front();
      Expand(node);
      if (result_.states >= settings_.most_states) {
        result_.complete = frontier_.empty();
        break;
      }
    }
    return result_;
  }

  Result RunWalks(int walks) {
    for (int i = 0; i < walks && result_.violation.empty() && result_.deadlock.empty(); ++i) {
      steps_.assign(1, {});
      ++walk_;
      Node node{PipelineState(settings_.spec), {}, 0};
      for (int step = 0; step < kMostSteps && GoOn(&node); ++step) {
      }
    }
    return result_;
  }

 private:
  // A drawn step, if there is one.
  bool GoOn(Node* node) {
    std::vector<Action> actions = ActionsOn(*node);
    bool goes_on = HasFreeCall(*node);
    std::ranges::sort(actions, {}, [this, node](Action action) { return Priority(*node, action); });
    while (!actions.empty()) {
      if (random_.Below(8) == 0) std::swap(actions[random_.Below(actions.size())], actions.back());
      const Action action = actions.back();
      actions.pop_back();
      // Rarely, or most walks were over before anything had come far.
      if (action.kind >= Kind::kCancel && random_.Below(16) > 0) continue;
      std::optional<Node> next;
      if (!Try(*node, action, [&next](Node after) { next = std::move(after); })) continue;
      goes_on = goes_on || action.kind <= Kind::kWait;
      if (!next) return false;  // It broke a promise.
      // What is no step of the pipeline itself could go on for ever.
      if (action.kind >= Kind::kAdmit && !goes_on && Stuck(*node)) return false;
      steps_.push_back({node->index, action});
      next->index = std::ssize(steps_) - 1;
      *node = std::move(*next);
      return true;
    }
    return !Stuck(*node);
  }

  // Drawn for each call of a walk, so that some are held up for long while others come far (as in
  // Burckhardt et al., A randomized scheduler with probabilistic guarantees of finding bugs).
  uint64_t Priority(const Node& node, Action action) const {
    const bool of_call = action.kind >= Kind::kEmit && action.kind <= Kind::kFail;
    const int64_t call = of_call ? node.state.Calls()[static_cast<size_t>(action.which)].id
                                 : -1 - static_cast<int>(action.kind);
    return Random(walk_ * 1'000 + static_cast<uint64_t>(call + 100)).Next();
  }

  bool Stuck(const Node& node) {
    if (HasFreeCall(node) || !Awaits(node)) return false;
    for (const LaneKind kind : {LaneKind::kComputes, LaneKind::kWaits}) {
      PipelineState state = node.state;
      if (state.Next(kind)) return false;
    }
    result_.deadlock = WayTo(node.index, "deadlock");
    return true;
  }

  struct Step {
    int64_t parent = -1;
    Action action;
  };

  static size_t Place(int value) { return static_cast<size_t>(value); }
  const StageSpec& Stage(int stage) const { return settings_.spec.stages[Place(stage)]; }
  size_t NumberOf(const Shadow& shadow, RequestId id) {
    const auto found = std::ranges::find(shadow.ids, id);
    Require(found != shadow.ids.end(), "a request that nobody admitted");
    return static_cast<size_t>(found - shadow.ids.begin());
  }

  void Require(bool holds, const std::string& what) {
    if (!holds && problem_.empty()) problem_ = what;
  }

  static std::string NameOf(Action action) {
    return kKindNames[static_cast<size_t>(action.kind)] + (" " + std::to_string(action.which));
  }

  std::string WayTo(int64_t index, const std::string& end) const {
    std::vector<std::string> names;
    while (steps_[static_cast<size_t>(index)].parent >= 0) {
      names.push_back(NameOf(steps_[static_cast<size_t>(index)].action));
      index = steps_[static_cast<size_t>(index)].parent;
    }
    std::string way = settings_.name + ": ";
    for (auto name = names.rbegin(); name != names.rend(); ++name) way.append(*name).append(", ");
    return way.append(end);
  }

  static Payload PayloadOf(size_t request, int64_t bytes) { return Payload::Of(request, bytes); }
  static size_t OwnerOf(const Payload& payload) { return payload.As<size_t>(); }

  void Visit(Node node, int64_t parent, Action action) {
    uint64_t hash = node.state.Fingerprint();
    hash = (hash ^ node.shadow.ids.size()) * 0xff51afd7ed558ccdu;
    for (const bool answered : node.shadow.answered) hash = hash * 3 + (answered ? 1 : 0);
    if (!seen_.insert(hash).second) return;
    node.index = result_.states++;
    steps_.push_back({parent, action});
    frontier_.push_back(std::move(node));
  }

  void Expand(const Node& node) {
    bool goes_on = HasFreeCall(node);
    for (const Action action : ActionsOn(node)) {
      const bool done = Try(node, action, [this, &node, action](Node after) {
        Visit(std::move(after), node.index, action);
      });
      goes_on = goes_on || (done && action.kind <= Kind::kWait);
    }
    if (!goes_on && Awaits(node)) result_.deadlock = WayTo(node.index, "deadlock");
  }

  // A call that somebody makes will emit or end.
  static bool HasFreeCall(const Node& node) {
    const std::vector<PipelineState::CallView> calls = node.state.Calls();
    return std::ranges::count(calls, false, &PipelineState::CallView::parked) > 0;
  }

  static bool Awaits(const Node& node) {
    const auto answered = static_cast<size_t>(std::ranges::count(node.shadow.answered, true));
    return answered < node.shadow.ids.size();
  }

  std::vector<Action> ActionsOn(const Node& node) const {
    std::vector<Action> actions;
    const std::vector<PipelineState::CallView> calls = node.state.Calls();
    if (std::ranges::count(calls, false, &PipelineState::CallView::parked) < settings_.lanes) {
      actions.push_back({Kind::kCompute});
      const bool waits = std::ranges::count(settings_.spec.stages, true, &StageSpec::waits) > 0;
      if (waits) actions.push_back({Kind::kWait});
    }
    for (size_t i = 0; i < calls.size(); ++i) {
      if (!calls[i].parked) AddActions(calls[i], static_cast<int64_t>(i), &actions);
    }
    const size_t admitted = node.shadow.ids.size();
    if (admitted < settings_.items.size() && node.state.CanAdmit()) {
      actions.push_back({Kind::kAdmit, static_cast<int64_t>(admitted)});
    }
    for (size_t i = 0; settings_.cancels && i < admitted; ++i) {
      const bool ends = node.shadow.answered[i] || node.shadow.over[i];
      if (!ends) actions.push_back({Kind::kCancel, static_cast<int64_t>(i)});
    }
    for (int open = 1; open <= settings_.spec.open_max; ++open) {
      const int now = node.state.OpenRequests();
      if (open < now ? settings_.lowers_open : settings_.raises_open && open > now) {
        actions.push_back({Kind::kSetOpen, open});
      }
    }
    return actions;
  }

  void AddActions(const PipelineState::CallView& call, int64_t which,
                  std::vector<Action>* actions) const {
    if (call.refused) {
      actions->push_back({Kind::kPark, which});
    } else {
      const bool many = Stage(call.stage).emits_many;
      const bool emits = call.emitted < (many ? settings_.most_emitted : 1);
      for (const int64_t bytes : settings_.bytes) {
        if (emits) actions->push_back({Kind::kEmit, which, bytes});
      }
      if (many || call.emitted == 1 || call.ended) actions->push_back({Kind::kFinish, which});
    }
    if (settings_.fails && !call.ended) actions->push_back({Kind::kFail, which});
  }

  // Whether there was something to do.
  template <typename Then>
  bool Try(const Node& node, Action action, const Then& then) {
    Node after = node;
    if (!Act(action, node, &after)) return false;
    ++result_.steps;
    CheckStep(node, &after);
    if (!problem_.empty()) {
      const std::string end = NameOf(action) + ": " + problem_;
      if (result_.violation.empty()) result_.violation = WayTo(node.index, end);
      return true;
    }
    then(std::move(after));
    return true;
  }

  bool Act(Action action, const Node& before, Node* after) {
    PipelineState& state = after->state;
    Shadow& shadow = after->shadow;
    switch (action.kind) {
      case Kind::kAdmit: {
        const size_t request = shadow.ids.size();
        std::vector<Payload> payloads;
        for (int i = 0; i < settings_.items[request]; ++i)
          payloads.push_back(PayloadOf(request, 0));
        shadow.came[request][0] = settings_.items[request];
        shadow.ids.push_back(state.Admit(std::move(payloads)));
        return true;
      }
      case Kind::kCompute: return Take(LaneKind::kComputes, before, after);
      case Kind::kWait: return Take(LaneKind::kWaits, before, after);
      case Kind::kCancel: {
        const auto request = static_cast<size_t>(action.which);
        state.Cancel(shadow.ids[request], "cancelled");
        shadow.over[request] = true;
        return true;
      }
      case Kind::kSetOpen: state.SetOpenRequests(static_cast<int>(action.which)); return true;
      default: ActOnCall(action, after); return true;
    }
  }

  void ActOnCall(Action action, Node* after) {
    PipelineState& state = after->state;
    Shadow& shadow = after->shadow;
    const PipelineState::CallView call = state.Calls()[static_cast<size_t>(action.which)];
    const size_t request = NumberOf(shadow, call.request);
    Require(state.Cancelled(call.id) == shadow.over[request], "a call knows not that nobody waits");
    switch (action.kind) {
      case Kind::kEmit: {
        const bool accepted = state.Emit(call.id, PayloadOf(request, action.bytes));
        Require(accepted || !shadow.over[request], "no room for what is dropped");
        if (accepted && !shadow.over[request]) ++shadow.came[request][Place(call.stage) + 1];
        break;
      }
      case Kind::kPark: state.Park(call.id); break;
      case Kind::kFinish: state.Finish(call.id); break;
      default: state.Fail(call.id, "failed"); shadow.over[request] = true;
    }
  }

  bool Take(LaneKind kind, const Node& before, Node* after) {
    Shadow& shadow = after->shadow;
    const std::optional<PipelineState::Call> call = after->state.Next(kind);
    Require(before.state.HasNext(kind) == call.has_value(), "a next call that is not as was told");
    if (!call) return false;
    const size_t request = NumberOf(shadow, call->request);
    if (call->resumed) return true;
    Require(!shadow.over[request], "a call for a request that is no more");
    for (const Item& item : call->batch.items) {
      Require(OwnerOf(item.payload) == request, "a mixed batch");
    }
    const auto count = static_cast<int>(call->batch.items.size());
    shadow.left[request][Place(call->stage)] += count;
    const Gate::Options& from = Stage(call->stage).from;
    const bool partitions = from.hands == Gate::Hands::kPartition;
    const int batch = from.hands == Gate::Hands::kOne ? 1 : from.batch;
    // A partition's batch is the parent's.
    if (!partitions) {
      uint8_t& ended = shadow.ended[static_cast<size_t>(call->batch.request.value)];
      const auto bit = static_cast<uint8_t>(1 << call->stage);
      Require((ended & bit) == 0, "a batch after a request's last one");
      if (from.hands == Gate::Hands::kWhole || count < batch) ended = ended | bit;
    }
    if (from.hands != Gate::Hands::kWhole) {
      Require(count >= 1 && count <= batch, "a batch of " + std::to_string(count));
      CheckTurn(before, *call, batch);
    }
    return true;
  }

  // Of the requests at the gate before this one, none has a full batch; told where nothing below
  // can keep one back.
  void CheckTurn(const Node& before, const PipelineState::Call& call, int batch) {
    const Gate& gate = before.state.GateAt(call.stage);
    const bool last = call.stage + 1 == static_cast<int>(settings_.spec.stages.size());
    const bool bounded =
        !last && (Stage(call.stage + 1).from.items > 0 || Stage(call.stage + 1).from.bytes > 0);
    const bool partitions = Stage(call.stage).from.hands == Gate::Hands::kPartition;
    if (bounded || partitions || Stage(call.stage).from.in_order) return;
    for (const RequestId other : gate.InOrderOfArrival()) {
      if (other == call.batch.request) return;
      Require(gate.ItemsOf(other) < batch, "a request with a full batch was overtaken");
    }
  }

  void CheckStep(const Node& before, Node* after) {
    PipelineState& state = after->state;
    state.CheckInvariants();
    for (const PipelineAnswer& answer : state.TakeAnswers()) CheckAnswer(answer, after);
    for (size_t link = 0; link < state.Layout().links.size(); ++link) {
      const Credits& now = state.LinkAt(static_cast<int>(link));
      const int out = before.state.LinkAt(static_cast<int>(link)).Out();
      Require(now.Out() <= std::max(out, now.Capacity()), "more credits than there are");
    }
    for (int gate = 0; gate < state.Layout().Egress(); ++gate) CheckArrivals(before, *after, gate);
    const auto answered = static_cast<size_t>(std::ranges::count(after->shadow.answered, true));
    if (answered == after->shadow.ids.size()) CheckQuiet(state);
  }

  void CheckAnswer(const PipelineAnswer& answer, Node* after) {
    Shadow& shadow = after->shadow;
    const size_t request = NumberOf(shadow, answer.request);
    Require(!shadow.answered[request], "a second answer");
    shadow.answered[request] = true;
    const bool done = answer.status == PipelineAnswer::Status::kDone;
    Require(done != shadow.over[request], "an answer of the wrong kind");
    if (!done) return;
    const size_t egress = settings_.spec.stages.size();
    shadow.left[request][egress] = static_cast<int>(answer.payloads.size());
    Require(shadow.left[request] == shadow.came[request], "items that came did not all leave");
    for (const Payload& payload : answer.payloads) {
      Require(OwnerOf(payload) == request, "another's item");
    }
  }

  // Requests stay in the order of their arrival, and those that may be inside are as many as have
  // credits.
  void CheckArrivals(const Node& before, const Node& after, int gate) {
    std::vector<RequestId> old = before.state.GateAt(gate).InOrderOfArrival();
    const std::vector<RequestId> now = after.state.GateAt(gate).InOrderOfArrival();
    std::erase_if(old, [&now](RequestId id) { return !std::ranges::count(now, id); });
    Require(std::equal(old.begin(), old.end(), now.begin(),
                       now.begin() + std::min(std::ssize(old), std::ssize(now))),
            "the order of arrival has changed");
    const int closes = after.state.Layout().At(gate).closes;
    Require(closes < 0 || std::ssize(now) <= after.state.LinkAt(closes).Out(),
            "a request without a credit");
  }

  void CheckQuiet(const PipelineState& state) {
    for (size_t link = 0; link < state.Layout().links.size(); ++link) {
      Require(state.LinkAt(static_cast<int>(link)).Out() == 0, "a credit did not come back");
    }
    for (int gate = 0; gate <= state.Layout().Egress(); ++gate) {
      Require(state.GateAt(gate).Requests() == 0, "something was left behind");
    }
    Require(state.Calls().empty() && state.Requests() == 0, "something outlives its request");
  }

  const Settings& settings_;
  std::deque<Node> frontier_;
  std::unordered_set<uint64_t> seen_;
  std::vector<Step> steps_;  // By state.
  std::string problem_;
  Result result_;
  Random random_{17};
  uint64_t walk_ = 0;
};

}  // namespace

Result Search(const Settings& settings) { return Searcher(settings).Run(); }

Result Walk(const Settings& settings, int walks) { return Searcher(settings).RunWalks(walks); }

}  // namespace cosched::model
