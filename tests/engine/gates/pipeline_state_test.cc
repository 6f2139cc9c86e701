#include "engine/gates/pipeline_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace cosched {
namespace {

using ::testing::ElementsAre;
using Hands = Gate::Hands;
using Status = PipelineAnswer::Status;

Payload Value(float value) { return Payload::Of(value, sizeof(float)); }

std::vector<Payload> Values(std::initializer_list<float> values) {
  std::vector<Payload> payloads;
  for (const float value : values) payloads.push_back(Value(value));
  return payloads;
}

std::vector<float> Told(const PipelineAnswer& answer) {
  std::vector<float> values;
  for (const Payload& payload : answer.payloads) values.push_back(payload.As<float>());
  return values;
}

PipelineState::Call Take(PipelineState* state, LaneKind kind = LaneKind::kComputes) {
  std::optional<PipelineState::Call> call = state->Next(kind);
  EXPECT_TRUE(call.has_value());
  state->CheckInvariants();
  return call ? *std::move(call) : PipelineState::Call();
}

// The call emits the sum of its batch.
void Sum(PipelineState* state, const PipelineState::Call& call) {
  float sum = 0;
  for (const Item& item : call.batch.items) sum += item.payload.As<float>();
  EXPECT_TRUE(state->Emit(call.id, Value(sum)));
  state->Finish(call.id);
  state->CheckInvariants();
}

// As a stage that keeps what found no room.
bool Offer(PipelineState* state, int64_t call, Payload* payload) {
  return state->Emit(call, std::move(*payload));
}

void RunAll(PipelineState* state) {
  while (const std::optional<PipelineState::Call> call = state->Next(LaneKind::kComputes)) {
    Sum(state, *call);
  }
}

TEST(PipelineStateTest, AnswersByOrdinalWhateverTheOrderOfEnds) {
  PipelineState state({.stages = {{.name = "a"}}});
  state.Admit(Values({1, 2, 3}));
  EXPECT_FALSE(state.CanAdmit());
  const PipelineState::Call first = Take(&state), second = Take(&state), third = Take(&state);
  EXPECT_FALSE(state.Next(LaneKind::kComputes));
  Sum(&state, third);
  Sum(&state, first);
  EXPECT_TRUE(state.TakeAnswers().empty());
  Sum(&state, second);
  const std::vector<PipelineAnswer> answers = state.TakeAnswers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].status, Status::kDone);
  EXPECT_THAT(Told(answers[0]), ElementsAre(1, 2, 3));
  EXPECT_TRUE(state.TakeAnswers().empty());
  EXPECT_TRUE(state.CanAdmit());
}

TEST(PipelineStateTest, TheStageNearestToTheEgressGoesFirst) {
  PipelineState state({.stages = {{.name = "a"}, {.name = "b"}}});
  state.Admit(Values({1, 2}));
  Sum(&state, Take(&state));
  EXPECT_EQ(Take(&state).stage, 1);
  EXPECT_EQ(Take(&state).stage, 0);
}

TEST(PipelineStateTest, AFinishedRequestIsNotHeldUpByASlowerOne) {
  PipelineState state({.stages = {{.name = "a", .parallel = 2}}, .open = 2, .open_max = 2});
  const RequestId slow = state.Admit(Values({1}));
  const PipelineState::Call held = Take(&state);
  const RequestId quick = state.Admit(Values({2}));
  Sum(&state, Take(&state));
  std::vector<PipelineAnswer> answers = state.TakeAnswers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].request, quick);
  Sum(&state, held);
  answers = state.TakeAnswers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].request, slow);
}

TEST(PipelineStateTest, ACallThatFindsNoRoomIsParkedAndGivenAgain) {
  PipelineState state({.stages = {{.name = "a", .emits_many = true},
                                  {.name = "b", .from = {.items = 1}, .parallel = 1}}});
  state.Admit(Values({1}));
  const PipelineState::Call call = Take(&state);
  EXPECT_TRUE(state.Emit(call.id, Value(1)));
  Payload second = Value(2);
  EXPECT_FALSE(Offer(&state, call.id, &second));
  EXPECT_EQ(second.As<float>(), 2) << "left alone";
  EXPECT_DEATH(state.Finish(call.id), "what it made does not fit");
  state.Park(call.id);
  EXPECT_EQ(state.Sample()[0].parked, 1);
  const PipelineState::Call below = Take(&state);
  EXPECT_EQ(below.stage, 1);
  const PipelineState::Call again = Take(&state);
  EXPECT_EQ(again.id, call.id);
  EXPECT_TRUE(again.resumed);
  EXPECT_TRUE(Offer(&state, call.id, &second));
  state.Finish(call.id);
  Sum(&state, below);
  RunAll(&state);
  EXPECT_THAT(Told(state.TakeAnswers().at(0)), ElementsAre(1, 2));
}

TEST(PipelineStateTest, AFailureIsItsRequestsOnlyAndKeepsCreditsUntilCallsAreOver) {
  PipelineState state({.stages = {{.name = "a"}}, .open = 2, .open_max = 2});
  const RequestId bad = state.Admit(Values({1, 2, 3}));
  const RequestId good = state.Admit(Values({4}));
  const PipelineState::Call first = Take(&state), second = Take(&state);
  state.Fail(second.id, "reads.fq:7: no quality");
  state.CheckInvariants();
  EXPECT_TRUE(state.Cancelled(first.id));
  EXPECT_TRUE(state.TakeAnswers().empty()) << "a call of it runs";
  EXPECT_FALSE(state.CanAdmit());
  EXPECT_EQ(state.Sample()[0].dropped, 1) << "the third item";
  EXPECT_TRUE(state.Emit(first.id, Value(1))) << "dropped";
  EXPECT_EQ(state.Sample()[0].dropped, 2);
  state.Finish(first.id);
  std::vector<PipelineAnswer> answers = state.TakeAnswers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].request, bad);
  EXPECT_EQ(answers[0].status, Status::kFailed);
  EXPECT_EQ(answers[0].stage, 0);
  EXPECT_EQ(answers[0].item, Ordinal(1));
  EXPECT_EQ(answers[0].why, "reads.fq:7: no quality");
  EXPECT_TRUE(state.CanAdmit());
  RunAll(&state);
  answers = state.TakeAnswers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].request, good);
  EXPECT_EQ(answers[0].status, Status::kDone);
}

TEST(PipelineStateTest, TheFirstOfTwoFailuresIsToldAndNothingIsLeftOfTheOther) {
  PipelineState state({.stages = {{.name = "a"}}});
  const RequestId request = state.Admit(Values({1, 2}));
  const PipelineState::Call first = Take(&state), second = Take(&state);
  state.Fail(second.id, "first");
  state.Cancel(request, "second");
  state.CheckInvariants();
  state.Fail(first.id, "third");
  state.CheckInvariants();
  const std::vector<PipelineAnswer> answers = state.TakeAnswers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].why, "first");
}

TEST(PipelineStateTest, ACancelledRequestsParkedCallIsGivenToEnd) {
  PipelineState state(
      {.stages = {{.name = "a", .emits_many = true}, {.name = "b", .from = {.items = 1}}}});
  const RequestId request = state.Admit(Values({1}));
  const PipelineState::Call call = Take(&state);
  EXPECT_TRUE(state.Emit(call.id, Value(1)));
  EXPECT_FALSE(state.Emit(call.id, Value(2)));
  state.Park(call.id);
  state.Cancel(request, "the client left");
  state.Cancel(request, "twice");
  EXPECT_TRUE(state.TakeAnswers().empty());
  const PipelineState::Call again = Take(&state);
  EXPECT_EQ(again.id, call.id);
  EXPECT_TRUE(state.Cancelled(call.id));
  state.Finish(call.id);
  const std::vector<PipelineAnswer> answers = state.TakeAnswers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].status, Status::kCancelled);
  EXPECT_EQ(answers[0].why, "the client left");
  state.Cancel(request, "it has ended already");
  EXPECT_TRUE(state.TakeAnswers().empty());
}

TEST(PipelineStateTest, PartitionsAreRequestsOfTheirOwnUntilTheyAreJoined) {
  PipelineState state(
      {.stages = {{.name = "cut",
                   .from = {.hands = Hands::kPartition, .batch = 2},
                   .emits_many = true,
                   .inner_open = 2},
                  {.name = "inside", .from = {.hands = Hands::kMany, .batch = 2}},
                  {.name = "merge", .from = {.hands = Hands::kWhole}, .joins = 1}}});
  state.Admit(Values({1, 2, 3, 4, 5}));
  const PipelineState::Call first = Take(&state), second = Take(&state);
  EXPECT_FALSE(state.Next(LaneKind::kComputes)) << "two partitions may be open";
  EXPECT_EQ(first.request, second.request);
  EXPECT_NE(first.batch.request, second.batch.request);
  for (const PipelineState::Call* call : {&second, &first}) {
    for (const Item& item : call->batch.items) {
      EXPECT_TRUE(state.Emit(call->id, Payload(item.payload)));
    }
  }
  state.Finish(second.id);
  state.Finish(first.id);
  const PipelineState::Call inside = Take(&state);
  EXPECT_THAT(inside.batch.items.size(), 2u);
  EXPECT_EQ(inside.batch.request, second.batch.request) << "its items came first";
  Sum(&state, inside);
  const PipelineState::Call other = Take(&state), third = Take(&state);
  EXPECT_EQ(other.stage, 1);
  EXPECT_EQ(third.stage, 0) << "a partition has ended";
  Sum(&state, other);
  state.Finish(third.id);
  const PipelineState::Call merge = Take(&state);
  EXPECT_EQ(merge.stage, 2);
  ASSERT_EQ(merge.batch.items.size(), 2u) << "the third partition emitted nothing";
  EXPECT_EQ(merge.batch.items[0].payload.As<float>(), 3) << "by the partitions' order";
  EXPECT_EQ(merge.batch.items[1].payload.As<float>(), 7);
  Sum(&state, merge);
  EXPECT_THAT(Told(state.TakeAnswers().at(0)), ElementsAre(10));
  EXPECT_EQ(state.Requests(), 0);
}

TEST(PipelineStateTest, ARequestWithoutItemsHasOneCallWhereRequestsAreWhole) {
  PipelineState state(
      {.stages = {{.name = "a"}, {.name = "b", .from = {.hands = Hands::kWhole}}, {.name = "c"}}});
  state.Admit({});
  const PipelineState::Call call = Take(&state);
  EXPECT_EQ(call.stage, 1);
  Sum(&state, call);
  RunAll(&state);
  EXPECT_THAT(Told(state.TakeAnswers().at(0)), ElementsAre(0));
}

TEST(PipelineStateTest, LinearCreditsLetOneRequestBeBeforeEachGate) {
  PipelineState state({.stages = {{.name = "a"}, {.name = "b"}}});
  state.Admit(Values({1}));
  const PipelineState::Call first = Take(&state);
  ASSERT_TRUE(state.CanAdmit()) << "the ingress has handed the first one out";
  state.Admit(Values({2}));
  EXPECT_FALSE(state.CanAdmit());
  EXPECT_FALSE(state.Next(LaneKind::kComputes)) << "the gate of b may have one request";
  Sum(&state, first);
  EXPECT_EQ(Take(&state).stage, 1);
  EXPECT_EQ(Take(&state).stage, 0);
}

TEST(PipelineStateTest, EndToEndCreditsBoundAllThatIsInside) {
  PipelineState state({.stages = {{.name = "a"}, {.name = "b"}},
                       .link = CreditLink::kEndToEnd,
                       .open = 1,
                       .open_max = 2});
  state.Admit(Values({1}));
  Sum(&state, Take(&state));
  const PipelineState::Call last = Take(&state);
  EXPECT_FALSE(state.CanAdmit());
  state.SetOpenRequests(2);
  EXPECT_TRUE(state.CanAdmit());
  state.Admit(Values({2}));
  state.SetOpenRequests(1);
  Sum(&state, last);
  EXPECT_FALSE(state.CanAdmit()) << "the one that is left has the one credit";
  RunAll(&state);
  EXPECT_TRUE(state.CanAdmit());
  EXPECT_DEATH(state.SetOpenRequests(3), "3 open requests, of 2 at most");
}

TEST(PipelineStateTest, StagesThatWaitHaveLanesOfTheirOwn) {
  PipelineState state({.stages = {{.name = "read", .waits = true}}});
  state.Admit(Values({1}));
  EXPECT_FALSE(state.Next(LaneKind::kComputes));
  EXPECT_EQ(Take(&state, LaneKind::kWaits).stage, 0);
}

TEST(PipelineStateTest, ACallThatMakesOneItemFailsWithNoneOrTwo) {
  PipelineState state({.stages = {{.name = "a"}}});
  for (const int items : {0, 2}) {
    state.Admit(Values({1}));
    const PipelineState::Call call = Take(&state);
    for (int i = 0; i < items; ++i) EXPECT_TRUE(state.Emit(call.id, Value(1)));
    state.Finish(call.id);
    const std::vector<PipelineAnswer> answers = state.TakeAnswers();
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].status, Status::kFailed);
    EXPECT_EQ(answers[0].why, items == 0 ? "a call that makes one item emitted none"
                                         : "a call that makes one item emitted two");
  }
}

// `a` has a parked call, and one that could begin.
PipelineState WithAParkedCall() {
  PipelineState state({.stages = {{.name = "a", .emits_many = true},
                                  {.name = "b", .from = {.items = 1}},
                                  {.name = "c", .parallel = 1, .waits = true}}});
  state.Admit(Values({1, 2}));
  const PipelineState::Call call = Take(&state);
  EXPECT_TRUE(state.Emit(call.id, Value(1)));
  EXPECT_FALSE(state.Emit(call.id, Value(2)));
  state.Park(call.id);
  return state;
}

TEST(PipelineStateTest, OneStagesNextCallIsTheParkedOneFirst) {
  PipelineState state = WithAParkedCall();
  EXPECT_FALSE(state.NextOf(0)) << "no room below";
  EXPECT_FALSE(state.BeginOf(0)) << "no room below";
  const std::optional<PipelineState::Call> below = state.NextOf(1);
  ASSERT_TRUE(below);
  EXPECT_EQ(below->stage, 1);
  PipelineState other = state;
  const std::optional<PipelineState::Call> parked = state.NextOf(0, /*may_begin=*/false);
  ASSERT_TRUE(parked);
  EXPECT_TRUE(parked->resumed);
  EXPECT_FALSE(state.NextOf(0, /*may_begin=*/false)) << "it is given once";
  const std::optional<PipelineState::Call> begun = state.NextOf(0);
  ASSERT_TRUE(begun);
  EXPECT_FALSE(begun->resumed);
  const std::optional<PipelineState::Call> first = other.NextOf(0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->id, parked->id) << "before any that begins";
  state.CheckInvariants();
  other.CheckInvariants();
}

TEST(PipelineStateTest, WhoeverMayNotGoOnWithAParkedCallBeginsAnother) {
  PipelineState state = WithAParkedCall();
  const int64_t parked = state.Calls().front().id;
  Take(&state);
  const std::optional<PipelineState::Call> begun = state.BeginOf(0);
  ASSERT_TRUE(begun);
  EXPECT_FALSE(begun->resumed);
  EXPECT_NE(begun->id, parked);
  EXPECT_FALSE(state.BeginOf(0)) << "nothing is left that could begin";
  EXPECT_EQ(Take(&state).id, parked);
}

TEST(PipelineStateTest, TellsWhetherThereIsANextCallOfAKind) {
  using enum LaneKind;
  PipelineState state = WithAParkedCall();
  EXPECT_TRUE(state.HasNext(kComputes)) << "b's";
  EXPECT_FALSE(state.HasNext(kWaits));
  const PipelineState::Call below = Take(&state);
  PipelineState no_more = state;
  EXPECT_TRUE(state.HasNext(kComputes)) << "the parked one, and one more";
  EXPECT_TRUE(Take(&state).resumed);
  EXPECT_TRUE(state.HasNext(kComputes));
  EXPECT_FALSE(Take(&state).resumed);
  EXPECT_FALSE(state.HasNext(kComputes)) << "all run";
  Sum(&state, below);
  EXPECT_TRUE(state.HasNext(kWaits));
  EXPECT_EQ(Take(&state, kWaits).stage, 2);
  EXPECT_FALSE(state.HasNext(kWaits));
  no_more.Cancel(below.request, "left");
  EXPECT_TRUE(no_more.HasNext(kComputes)) << "the parked one is to be ended";
  Take(&no_more);
  EXPECT_FALSE(no_more.HasNext(kComputes));
}

TEST(PipelineStateTest, StatesThatBehaveAlikeHaveOneFingerprint) {
  PipelineState fresh({.stages = {{.name = "a"}}});
  PipelineState used = fresh;
  EXPECT_EQ(used.Fingerprint(), fresh.Fingerprint());
  used.Admit(Values({1}));
  EXPECT_NE(used.Fingerprint(), fresh.Fingerprint());
  RunAll(&used);
  (void)used.TakeAnswers();
  EXPECT_EQ(used.Fingerprint(), fresh.Fingerprint());
}

}  // namespace
}  // namespace cosched
