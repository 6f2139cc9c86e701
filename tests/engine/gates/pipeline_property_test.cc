// Drawn pipelines and schedules against a naive oracle: a map of where each item is. Without
// COSCHED_STRESS_SECONDS a few thousand; with it, for as long as it says.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/gates/pipeline_state.h"

namespace cosched {
namespace {

using Hands = Gate::Hands;
using Status = PipelineAnswer::Status;

// An item's payload says which it is, and has a size beside that.
Payload Numbered(int64_t item, int64_t bytes) { return Payload::Of(item, bytes); }
int64_t NumberOf(const Payload& payload) { return payload.As<int64_t>(); }

StageSpec DrawnStage(Random* random, int index, int level, int open) {
  const auto one_in = [random](uint64_t n) { return random->Below(n) == 0; };
  StageSpec stage{.name = "stage " + std::to_string(index)};
  stage.from.hands = static_cast<Hands>(random->Below(4));
  if (stage.from.hands == Hands::kMany || stage.from.hands == Hands::kPartition) {
    stage.from.batch = 1 + static_cast<int>(random->Below(3));
  }
  if (one_in(3))
    stage.from.items = open * (stage.from.batch + static_cast<int64_t>(random->Below(2)));
  if (one_in(4)) stage.from.bytes = 8 * open * (1 + static_cast<int64_t>(random->Below(4)));
  if (index == 0 || stage.from.hands == Hands::kWhole) stage.from.items = stage.from.bytes = 0;
  stage.from.in_order = one_in(3);
  if (one_in(4)) stage.from.open = 1;
  stage.joins = static_cast<int>(random->Below(static_cast<uint64_t>(level) + 1));
  stage.parallel = static_cast<int>(random->Below(4));
  stage.waits = one_in(4);
  stage.emits_many = one_in(3);
  stage.inner_link = one_in(2) ? CreditLink::kLinear : CreditLink::kEndToEnd;
  stage.inner_open = 1 + static_cast<int>(random->Below(2));
  return stage;
}

// One that Check() accepts.
PipelineSpec DrawnSpec(Random* random) {
  while (true) {
    PipelineSpec spec{.link = random->Below(2) == 0 ? CreditLink::kLinear : CreditLink::kEndToEnd};
    spec.open_max = 1 + static_cast<int>(random->Below(3));
    spec.open = 1 + static_cast<int>(random->Below(static_cast<uint64_t>(spec.open_max)));
    int level = 0;
    const auto stages = 1 + static_cast<int>(random->Below(4));
    for (int i = 0; i < stages; ++i) {
      spec.stages.push_back(DrawnStage(random, i, level, spec.open_max));
      level +=
          (spec.stages.back().from.hands == Hands::kPartition ? 1 : 0) - spec.stages.back().joins;
    }
    try {
      Check(spec);
      return spec;
    } catch (const InputError&) {
    }
  }
}

// Where each item is, and who makes which call.
class Oracle {
 public:
  explicit Oracle(const PipelineSpec& spec) : spec_(spec) {}

  int64_t NewItem(int gate, RequestId request) {
    items_[next_item_] = {gate, request};
    return next_item_++;
  }

  void Admitted(RequestId request) { waited_for_.insert(request); }

  void Began(const PipelineState::Call& call) {
    const RequestId batch = call.batch.request;
    std::optional<RequestId> owner;
    for (const Item& item : call.batch.items) {
      const auto found = items_.find(NumberOf(item.payload));
      ASSERT_NE(found, items_.end()) << "an item that was nowhere, or twice";
      EXPECT_EQ(found->second.gate, call.stage);
      EXPECT_EQ(owner.value_or(found->second.request), found->second.request) << "a mixed batch";
      owner = found->second.request;
      items_.erase(found);
    }
    const StageSpec& stage = spec_.stages[static_cast<size_t>(call.stage)];
    if (stage.from.hands == Hands::kPartition) {
      ASSERT_TRUE(owner);
      EXPECT_FALSE(parents_.contains(batch));
      parents_[batch] = *owner;
    } else {
      EXPECT_EQ(owner.value_or(batch), batch);
    }
    EXPECT_EQ(Outermost(batch), call.request);
    EXPECT_TRUE(waited_for_.contains(call.request));
    CheckSize(call, owner.value_or(batch));
    calls_[call.id] = {call.stage, batch};
  }

  // The request that gets what the call emits.
  RequestId Target(int64_t call) const {
    const Place& at = calls_.at(call);
    RequestId target = at.request;
    const size_t below = static_cast<size_t>(at.gate) + 1;
    if (below == spec_.stages.size()) return Outermost(target);
    for (int i = 0; i < spec_.stages[below].joins; ++i) target = parents_.at(target);
    return target;
  }
  // A refused item is with its call again.
  void Lost(int64_t item) { items_.erase(item); }
  int StageOf(int64_t call) const { return calls_.at(call).gate; }

  void Ended(int64_t call) { calls_.erase(call); }
  void Dropped(RequestId admitted) {
    std::erase_if(items_,
                  [&](const auto& item) { return Outermost(item.second.request) == admitted; });
    over_.insert(admitted);
  }
  bool IsOver(int64_t call) const { return over_.contains(Outermost(calls_.at(call).request)); }
  RequestId RequestOf(int64_t call) const { return Outermost(calls_.at(call).request); }

  void Answered(const PipelineAnswer& answer) {
    EXPECT_EQ(waited_for_.erase(answer.request), 1u) << "a second answer";
    EXPECT_EQ(answer.status == Status::kDone, !over_.contains(answer.request)) << answer.why;
    for (const auto& [id, call] : calls_) EXPECT_NE(Outermost(call.request), answer.request);
    for (const Payload& payload : answer.payloads) {
      const auto found = items_.find(NumberOf(payload));
      ASSERT_NE(found, items_.end());
      EXPECT_EQ(found->second.gate, static_cast<int>(spec_.stages.size()));
      EXPECT_EQ(found->second.request, answer.request);
      items_.erase(found);
    }
    for (const auto& [id, item] : items_) {
      EXPECT_NE(Outermost(item.request), answer.request) << "an item was left behind";
    }
  }

  bool Waits() const { return !waited_for_.empty(); }
  const std::set<RequestId>& WaitedFor() const { return waited_for_; }

 private:
  struct Place {
    int gate = 0;
    RequestId request;
  };

  RequestId Outermost(RequestId request) const {
    for (auto at = parents_.find(request); at != parents_.end(); at = parents_.find(request)) {
      request = at->second;
    }
    return request;
  }

  bool Belongs(RequestId request, RequestId to) const {
    for (auto at = parents_.find(request); request != to; at = parents_.find(request)) {
      if (at == parents_.end()) return false;
      request = at->second;
    }
    return true;
  }

  // Full, or else nothing more of it is at the gate or on its way there.
  void CheckSize(const PipelineState::Call& call, RequestId owner) const {
    const Gate::Options& from = spec_.stages[static_cast<size_t>(call.stage)].from;
    const size_t full = from.hands == Hands::kOne ? 1 : static_cast<size_t>(from.batch);
    if (from.hands != Hands::kWhole) {
      EXPECT_GE(call.batch.items.size(), 1u);
      EXPECT_LE(call.batch.items.size(), full);
      if (call.batch.items.size() == full) return;
    }
    for (const auto& [id, item] : items_) {
      EXPECT_FALSE(item.gate <= call.stage && Belongs(item.request, owner)) << "not a full batch";
    }
    for (const auto& [id, other] : calls_) {
      EXPECT_FALSE(other.gate < call.stage && Belongs(other.request, owner)) << "not a full batch";
    }
  }

  const PipelineSpec& spec_;
  std::map<int64_t, Place> items_;
  std::map<int64_t, Place> calls_;  // Running or parked, with their stages.
  std::map<RequestId, RequestId> parents_;
  std::set<RequestId> waited_for_, over_;
  int64_t next_item_ = 1;
};

// A pipeline under a drawn schedule.
class DrawnRun {
 public:
  DrawnRun(const PipelineSpec& spec, Random* random)
      : spec_(spec), random_(*random), state_(spec), oracle_(spec_) {}

  void ToTheEnd() {
    int requests = 4;
    for (int step = 0; step < 200'000; ++step) {
      if (requests > 0 && state_.CanAdmit() && random_.Below(4) == 0) {
        Admit();
        --requests;
      } else if (random_.Below(40) == 0) {
        Disturb();
      } else if (!GoOn() && requests == 0) {
        break;
      }
      state_.CheckInvariants();
      for (const PipelineAnswer& answer : state_.TakeAnswers()) oracle_.Answered(answer);
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_FALSE(oracle_.Waits()) << "requests did not end";
    EXPECT_EQ(state_.Requests(), 0);
    for (size_t link = 0; link < state_.Layout().links.size(); ++link) {
      EXPECT_EQ(state_.LinkAt(static_cast<int>(link)).Out(), 0) << "a credit did not come back";
    }
  }

 private:
  int64_t DrawnBytes() { return 4 * static_cast<int64_t>(random_.Below(4)); }

  void Admit() {
    // Numbered as the state will number it, for the oracle needs the items' owner before.
    std::vector<Payload> payloads;
    const RequestId next = state_.NextRequest();
    for (uint64_t count = random_.Below(6); count > 0; --count) {
      payloads.push_back(Numbered(oracle_.NewItem(0, next), DrawnBytes()));
    }
    oracle_.Admitted(next);
    EXPECT_EQ(state_.Admit(std::move(payloads)), next);
  }

  void Disturb() {
    const std::set<RequestId>& waited_for = oracle_.WaitedFor();
    if (random_.Below(2) == 0 || waited_for.empty()) {
      const auto most = static_cast<uint64_t>(spec_.open_max);
      state_.SetOpenRequests(1 + static_cast<int>(random_.Below(most)));
      return;
    }
    const auto which = static_cast<std::ptrdiff_t>(random_.Below(waited_for.size()));
    const RequestId request = *std::next(waited_for.begin(), which);
    oracle_.Dropped(request);
    state_.Cancel(request, "cancelled");
  }

  // Takes a call or goes on with one that runs; false: neither can be done.
  bool GoOn() {
    const size_t lanes = 4;
    if (running_.size() < lanes && (running_.empty() || random_.Below(2) == 0)) {
      const bool waits = random_.Below(2) == 0;
      if (Take(waits ? LaneKind::kWaits : LaneKind::kComputes)) return true;
      if (Take(waits ? LaneKind::kComputes : LaneKind::kWaits)) return true;
    }
    if (running_.empty()) return false;
    Act(running_[random_.Below(running_.size())]);
    return true;
  }

  bool Take(LaneKind kind) {
    const std::optional<PipelineState::Call> call = state_.Next(kind);
    if (!call) return false;
    if (!call->resumed) {
      oracle_.Began(*call);
      // Items that the call is going to emit.
      const bool many = spec_.stages[static_cast<size_t>(call->stage)].emits_many;
      for (uint64_t left = many ? random_.Below(4) : 1; left > 0; --left) {
        left_[call->id].push_back(DrawnBytes());
      }
    }
    running_.push_back(call->id);
    return true;
  }

  void Act(int64_t call) {
    std::vector<int64_t>& left = left_[call];
    if (random_.Below(60) == 0 && !oracle_.IsOver(call)) {
      oracle_.Dropped(oracle_.RequestOf(call));
      state_.Fail(call, "failed");
    } else if (!left.empty()) {
      if (Emit(call, left.back())) {
        left.pop_back();
        return;
      }
      state_.Park(call);
      std::erase(running_, call);
      return;
    } else {
      state_.Finish(call);
    }
    oracle_.Ended(call);
    std::erase(running_, call);
  }

  bool Emit(int64_t call, int64_t bytes) {
    const bool over = oracle_.IsOver(call);
    EXPECT_EQ(state_.Cancelled(call), over);
    const int64_t item =
        over ? 0 : oracle_.NewItem(oracle_.StageOf(call) + 1, oracle_.Target(call));
    const bool emitted = state_.Emit(call, Numbered(item, bytes));
    EXPECT_TRUE(emitted || !over);
    if (!emitted) oracle_.Lost(item);
    return emitted;
  }

  const PipelineSpec spec_;
  Random& random_;
  PipelineState state_;
  Oracle oracle_;
  std::vector<int64_t> running_;
  std::map<int64_t, std::vector<int64_t>> left_;
};

// Whether one more run, of those that are quick to make, is to be made.
class Budget {
 public:
  explicit Budget(int runs) : runs_(runs) {
    const char* text = std::getenv("COSCHED_STRESS_SECONDS");
    if (text == nullptr) return;
    end_ = std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::duration<double>(std::strtod(text, nullptr)));
  }
  bool HasMore() { return runs_-- > 0 || (end_ && std::chrono::steady_clock::now() < *end_); }

 private:
  int runs_;
  std::optional<std::chrono::steady_clock::time_point> end_;
};

TEST(PipelinePropertyTest, DrawnPipelinesDoWhatANaiveOneDoes) {
  Budget budget(30'000);
  for (uint64_t seed = 1; budget.HasMore() && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const PipelineSpec spec = DrawnSpec(&random);
    DrawnRun(spec, &random).ToTheEnd();
  }
}

// Items in order, and all that was emitted by them: what each batch of the second stage had.
std::vector<std::vector<int64_t>> BatchesInOrder(const PipelineSpec& spec, int items,
                                                 Random* random) {
  PipelineState state(spec);
  std::vector<Payload> payloads;
  for (int i = 0; i < items; ++i) payloads.push_back(Numbered(i, 0));
  state.Admit(std::move(payloads));
  std::vector<std::vector<int64_t>> batches;
  std::vector<std::pair<int64_t, int64_t>> running;  // Calls, with the first of their items.
  while (true) {
    const std::optional<PipelineState::Call> call =
        random->Below(2) == 0 || running.empty() ? state.Next(LaneKind::kComputes) : std::nullopt;
    if (call) {
      std::vector<int64_t> numbers;
      for (const Item& item : call->batch.items) numbers.push_back(NumberOf(item.payload));
      running.emplace_back(call->id, numbers.front());
      if (call->stage == 1) batches.push_back(std::move(numbers));
    } else if (!running.empty()) {
      std::swap(running[random->Below(running.size())], running.back());
      EXPECT_TRUE(state.Emit(running.back().first, Numbered(running.back().second, 0)));
      state.Finish(running.back().first);
      running.pop_back();
    } else {
      break;
    }
  }
  const std::vector<PipelineAnswer> answers = state.TakeAnswers();
  EXPECT_EQ(answers.size(), 1u);
  for (const PipelineAnswer& answer : answers) {
    std::vector<int64_t>& numbers = batches.emplace_back();
    for (const Payload& payload : answer.payloads) numbers.push_back(NumberOf(payload));
  }
  return batches;
}

TEST(PipelinePropertyTest, InOrderBatchesAndAnswersDependOnNoTiming) {
  Budget budget(1'000);
  for (uint64_t seed = 1; budget.HasMore() && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const int batch = 1 + static_cast<int>(random.Below(3));
    const int room =
        static_cast<int>(random.Below(2)) * (batch + static_cast<int>(random.Below(3)));
    const PipelineSpec spec{
        .stages = {
            {.name = "a"},
            {.name = "b",
             .from = {.hands = Hands::kMany, .batch = batch, .items = room, .in_order = true}}}};
    const auto items = static_cast<int>(random.Below(12));
    Random other = random.Derive("another schedule");
    EXPECT_EQ(BatchesInOrder(spec, items, &random), BatchesInOrder(spec, items, &other));
  }
}

}  // namespace
}  // namespace cosched
