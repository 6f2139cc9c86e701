#include "experiments/hosts/simulation/pipeline_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "engine/base/error.h"
#include "tests/experiments/hosts/simulation/pipeline_fixture.h"

namespace cosched {
namespace {

using testing::AnswersOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kTick;
using testing::kTickSeconds;
using testing::Row;
using testing::RunUntil;
using testing::Ticks;
using Status = PipelineAnswer::Status;

std::vector<int64_t> EndsInTicks(const std::vector<PipelineModel::Answer>& answers) {
  std::vector<int64_t> ends;
  for (const auto& answer : answers) {
    EXPECT_EQ(answer.ended.time_since_epoch() % kTick, Duration(0));
    ends.push_back(answer.ended.time_since_epoch() / kTick);
  }
  return ends;
}

ScalingLaw Perfect() { return {.parameters = {0.0}}; }

// A row of one stage, whose calls take so many ticks, with so many of them at once.
Row OneStage(int ticks, int parallel) {
  Row row({ticks * kTickSeconds}, parallel);
  row.Stage(0).parallel = parallel;
  return row;
}

TEST(PipelineModel, APauseKeepsWhatIsLeftOfACall) {
  PipelineModel model(OneStage(10, 1).settings);
  model.Submit(7, 1, Ticks(0));
  EXPECT_FALSE(model.NextEvent());  // It has not begun.
  EXPECT_EQ(model.Sample().waiting, 1);
  model.Resize(1, {1, 1}, Ticks(1));
  model.Resize(0, {0, 0}, Ticks(4));
  EXPECT_FALSE(model.NextEvent());
  EXPECT_EQ(model.Busy(), 0);
  model.Resize(1, {1, 1}, Ticks(104));
  EXPECT_EQ(model.NextEvent(), Ticks(111));
  RunUntil(&model);
  EXPECT_TRUE(model.Empty());
  const auto answers = model.Take();
  ASSERT_EQ(answers.size(), 1);
  EXPECT_EQ(std::tuple(answers[0].number, answers[0].items, answers[0].status),
            std::tuple(7, 1, Status::kDone));
  EXPECT_EQ(answers[0].submitted, Ticks(0));
  EXPECT_EQ(answers[0].admitted, Ticks(1));
  EXPECT_EQ(answers[0].ended, Ticks(111));
  const PipelineSample sample = model.Sample();
  EXPECT_EQ(sample.stages[0].busy, 10 * kTick);
  EXPECT_EQ(sample.stages[0].lasted, 110 * kTick);
}

TEST(PipelineModel, WhatDisturbsItSlowsWhatIsLeft) {
  PipelineModel model(OneStage(10, 1).settings);
  model.Resize(1, {1, 1}, Ticks(0));
  model.Submit(0, 1, Ticks(0));
  model.SetSpeed(0.5, Ticks(2));
  EXPECT_EQ(model.NextEvent(), Ticks(18));
  model.SetSpeed(1, Ticks(4));
  EXPECT_EQ(model.NextEvent(), Ticks(11));
}

TEST(PipelineModel, FewerCoresThanThreadsSlowAllCalls) {
  PipelineModel model(OneStage(6, 3).settings);
  model.Resize(1.5, {3, 1}, Ticks(0));
  EXPECT_THAT(EndsInTicks(AnswersOf(&model, 3)), ElementsAre(12, 12, 12));
}

TEST(PipelineModel, HelpersAreDividedAmongTheCallsThatGainByThem) {
  Row row = OneStage(15, 2);
  row.Add(12 * kTickSeconds);
  row.Cost(0).law = Perfect();
  PipelineModel model(row.settings);
  model.Resize(4, {2, 3}, Ticks(0));
  model.Submit(0, 1, Ticks(0));
  EXPECT_EQ(model.Threads(), 3);
  EXPECT_EQ(model.NextEvent(), Ticks(5));  // Three threads by itself.
  model.Submit(1, 1, Ticks(1));
  EXPECT_EQ(model.Threads(), 4);
  // 12 ticks of work are left of one with two threads, and of the other 15 …
  EXPECT_EQ(model.NextEvent(), Ticks(7));
  model.Advance(Ticks(7));
  // … of which 3 are left with all three, beside the other stage, which gains nothing.
  EXPECT_EQ(model.Threads(), 4);
  EXPECT_EQ(model.NextEvent(), Ticks(8));
  RunUntil(&model);
  EXPECT_THAT(EndsInTicks(model.Take()), ElementsAre(19, 31));
}

TEST(PipelineModel, ComputesAsManyCallsAsTheSplitAllowsOfWhicheverStages) {
  Row row({3 * kTickSeconds, 5 * kTickSeconds, 2 * kTickSeconds}, 6);
  for (int stage = 0; stage < 3; ++stage) row.Stage(static_cast<size_t>(stage)).parallel = 0;
  for (const int inter : {1, 2, 3}) {
    PipelineModel model(row.settings);
    model.Resize(inter, {inter, 1}, Ticks(0));
    int most = 0;
    for (int i = 0; i < 6; ++i) model.Submit(i, 1, Ticks(0));
    RunUntil(&model, TimePoint::max(), [&](TimePoint) {
      most = std::max(most, model.Busy());
      model.State().CheckInvariants();
    });
    EXPECT_EQ(most, inter);
    EXPECT_EQ(model.Take().back().ended, Ticks(60 / inter));  // No core is ever idle.
  }
}

TEST(PipelineModel, WithFewerLanesTheOldestCallsGoOnAndTheOthersBeforeNewOnes) {
  PipelineModel model(OneStage(10, 4).settings);
  model.Resize(3, {3, 1}, Ticks(0));
  for (int i = 0; i < 4; ++i) model.Submit(i, 1, Ticks(i));  // 3 waits for a lane.
  model.Resize(1, {1, 1}, Ticks(6));                         // Left: 4, 5, 6 and 10.
  EXPECT_EQ(model.Busy(), 1);
  RunUntil(&model, Ticks(12));
  model.Resize(2, {2, 1}, Ticks(12));  // Left: 0, 3, 6 and 10.
  RunUntil(&model);
  EXPECT_THAT(EndsInTicks(model.Take()), ElementsAre(10, 15, 18, 25));
}

TEST(PipelineModel, StagesThatWaitNeedNoCores) {
  Row row({4 * kTickSeconds, 2 * kTickSeconds}, 3);
  row.Stage(0).waits = true;
  row.Stage(0).parallel = 2;
  row.Cost(0).law = Perfect();
  PipelineModel model(row.settings);
  model.Resize(0, {0, 0}, Ticks(0));
  EXPECT_EQ(model.Threads(), 0);
  for (int i = 0; i < 3; ++i) model.Submit(i, 1, Ticks(0));
  RunUntil(&model);  // Two at once, the third after them, with no cores at all.
  EXPECT_EQ(model.Sample().stages[0].calls, 3);
  EXPECT_EQ(model.Sample().stages[0].busy, 12 * kTick);
  EXPECT_EQ(model.Sample().stages[1].batches, 3);
  model.Resize(1, {1, 4}, Ticks(8));
  RunUntil(&model);
  EXPECT_THAT(EndsInTicks(model.Take()), ElementsAre(10, 12, 14));
}

TEST(PipelineModel, LanesForStagesThatWaitCanBeFewer) {
  Row row = OneStage(4, 3);
  row.Stage(0).waits = true;
  row.settings.waiting_lanes = 1;
  PipelineModel model(row.settings);
  model.Resize(0, {0, 0}, Ticks(0));
  model.SetSpeed(0.5, Ticks(0));  // What disturbs cores does not disturb them.
  EXPECT_THAT(EndsInTicks(AnswersOf(&model, 3)), ElementsAre(4, 8, 12));
}

TEST(PipelineModel, ItemsOfACallComeOutInEqualDistances) {
  Row row({0, 1 * kTickSeconds});
  row.Stage(0).emits_many = true;
  row.Cost(0) = {.per_call_s = 4 * kTickSeconds,
                 .per_item_s = 2 * kTickSeconds,
                 .emits_per_call = 1,
                 .emits_per_item = 1,
                 .item_bytes = 3,
                 .kept_bytes = 0.5};
  row.Stage(0).from.hands = Gate::Hands::kWhole;
  row.settings.item_bytes = 20;
  PipelineModel model(row.settings);
  model.Resize(2, {2, 1}, Ticks(0));
  model.Submit(0, 4, Ticks(0));  // 12 ticks of work for 5 items.
  EXPECT_EQ(model.NextEvent(), TimePoint(Ticks(12).time_since_epoch() / 5));
  // 3 bytes and a fifth of the half of 80.
  model.Resize(1, {1, 1}, Ticks(1));
  RunUntil(&model, Ticks(12));
  PipelineSample sample = model.Sample();
  EXPECT_EQ(sample.stages[1].items, 4);
  EXPECT_EQ(sample.stages[1].bytes, 4 * 11);
  EXPECT_EQ(sample.stages[0].taken, 4);
  RunUntil(&model);
  EXPECT_EQ(model.Take().at(0).items, 5);
}

TEST(PipelineModel, AFractionOfAnItemIsAChance) {
  Row row({0}, 1);
  row.Stage(0).emits_many = true;
  row.Stage(0).parallel = 0;
  row.Cost(0).emits_per_item = 0.25;
  PipelineModel model(row.settings);
  model.Resize(1, {1, 1}, Ticks(0));
  constexpr int kItems = 40'000;
  model.Submit(0, kItems, Ticks(0));
  RunUntil(&model);
  // Four standard deviations of a binomial count.
  EXPECT_NEAR(static_cast<double>(model.Take().at(0).items), kItems * 0.25,
              4 * std::sqrt(kItems * 0.25 * 0.75));
}

TEST(PipelineModel, BatchesPartitionsAndJoinsAreTheStates) {
  // A partition of 4, each of which is handed out by twos and made one of; the join has all of them.
  Row row({kTickSeconds, kTickSeconds, kTickSeconds});
  row.Stage(0).from.hands = Gate::Hands::kPartition;
  row.Stage(0).from.batch = 4;
  row.Stage(0).emits_many = true;
  row.Stage(1).from.hands = Gate::Hands::kMany;
  row.Stage(1).from.batch = 2;
  row.Stage(2).from.hands = Gate::Hands::kWhole;
  row.Stage(2).joins = 1;
  for (const auto& stage : row.settings.spec.stages) EXPECT_EQ(stage.parallel, 1);
  PipelineModel model(row.settings);
  model.Resize(3, {3, 1}, Ticks(0));
  model.Submit(0, 10, Ticks(0));  // Partitions of 4, 4 and 2, which make 2, 2 and 1.
  RunUntil(&model);
  const auto answers = model.Take();
  EXPECT_EQ(answers.at(0).items, 1);
  const PipelineSample sample = model.Sample();
  EXPECT_EQ(std::tuple(sample.stages[0].calls, sample.stages[0].taken), std::tuple(3, 10));
  EXPECT_EQ(std::tuple(sample.stages[1].calls, sample.stages[1].taken), std::tuple(5, 10));
  EXPECT_EQ(std::tuple(sample.stages[2].calls, sample.stages[2].taken), std::tuple(1, 5));
  EXPECT_EQ(sample.stages[1].busy, 10 * kTick);
}

TEST(PipelineModel, ACancelledRequestEndsWithThePiecesOfItsCalls) {
  Row row({10 * kTickSeconds, kTickSeconds});
  row.Cost(0).piece_s = 3 * kTickSeconds;
  PipelineModel model(row.settings);
  model.Resize(1, {1, 1}, Ticks(0));
  for (int i = 0; i < 3; ++i) model.Submit(i, 1, Ticks(0));
  model.Cancel(1, Ticks(1));  // Not admitted yet.
  model.Cancel(0, Ticks(2));  // 8 ticks are left: two pieces of three, and two thirds of one.
  model.Cancel(9, Ticks(2));
  RunUntil(&model);
  const auto answers = model.Take();
  ASSERT_EQ(answers.size(), 3);
  EXPECT_EQ(std::tuple(answers[0].number, answers[0].status), std::tuple(1, Status::kCancelled));
  EXPECT_EQ(std::tuple(answers[0].admitted, answers[0].ended), std::tuple(Ticks(1), Ticks(1)));
  EXPECT_EQ(std::tuple(answers[1].number, answers[1].status), std::tuple(0, Status::kCancelled));
  EXPECT_EQ(std::tuple(answers[1].admitted, answers[1].ended), std::tuple(Ticks(0), Ticks(4)));
  EXPECT_EQ(std::tuple(answers[2].number, answers[2].status), std::tuple(2, Status::kDone));
  EXPECT_EQ(std::tuple(answers[2].admitted, answers[2].ended), std::tuple(Ticks(4), Ticks(15)));
}

TEST(PipelineModel, ARequestWithoutItemsIsAnsweredAtOnce) {
  PipelineModel model(OneStage(3, 1).settings);
  model.Resize(0, {0, 0}, Ticks(0));
  model.Submit(0, 0, Ticks(5));
  EXPECT_TRUE(model.Empty());
  EXPECT_EQ(model.Take().at(0).ended, Ticks(5));
}

// Three stages of noise, the middle one with little room above it, one that waits, and requests of
// several sizes.
Row Mixed(uint64_t seed, CreditLink link) {
  Row row({0.003, 0.004, 0.002}, 4);
  row.settings.spec.link = link;
  row.settings.seed = seed;
  row.Stage(0).emits_many = true;
  row.Cost(0).emits_per_item = 1.5;
  row.Stage(1).parallel = 2;
  row.Stage(2).waits = true;
  row.Stage(2).from.hands = Gate::Hands::kMany;
  row.Stage(2).from.batch = 3;
  for (StageCost& cost : row.settings.costs) cost.noise = 0.3;
  row.Cost(1).law = Perfect();
  return row;
}

void SubmitMixed(PipelineModel* model) {
  model->Resize(3, {2, 2}, {});
  for (int i = 0; i < 60; ++i) model->Submit(i, i % 6, TimePoint(std::chrono::milliseconds(9) * i));
}

TEST(PipelineModel, EqualSeedsGiveEqualAnswers) {
  const auto ends = [](uint64_t seed) {
    PipelineModel model(Mixed(seed, CreditLink::kLinear).settings);
    SubmitMixed(&model);
    RunUntil(&model);
    std::vector<std::tuple<int64_t, int64_t, TimePoint, TimePoint>> all;
    for (const auto& answer : model.Take()) {
      all.emplace_back(answer.number, answer.items, answer.admitted, answer.ended);
    }
    EXPECT_EQ(all.size(), 60);
    return all;
  };
  EXPECT_EQ(ends(3), ends(3));
  EXPECT_NE(ends(3), ends(4));
}

TEST(PipelineModel, LittlesLawHoldsOnTheRecordToTheNanosecond) {
  for (const CreditLink link : {CreditLink::kLinear, CreditLink::kEndToEnd}) {
    PipelineModel model(Mixed(8, link).settings);
    model.Resize(3, {2, 2}, {});
    Duration waiting{0}, inside{0};
    TimePoint last;
    const auto pass = [&](TimePoint now) {  // REQUIRES: nothing happens between.
      const PipelineSample sample = model.Sample();
      waiting += sample.waiting * (now - last);
      inside += sample.open * (now - last);
      last = now;
    };
    const auto run_until = [&](TimePoint until) {
      for (auto next = model.NextEvent(); next && *next < until; next = model.NextEvent()) {
        pass(*next);
        model.Advance(*next);
      }
      if (until != TimePoint::max()) pass(until);
    };
    for (int i = 0; i < 60; ++i) {
      const TimePoint at(std::chrono::milliseconds(5) * i);
      run_until(at);
      model.Submit(i, i % 6, at);
      if (i == 20) model.Resize(0, {0, 0}, at);
      if (i == 30) model.Resize(2, {2, 1}, at);
      if (i == 40) model.SetOpenRequests(1, at);
    }
    run_until(TimePoint::max());
    for (const auto& answer : model.Take()) {
      waiting -= answer.admitted - answer.submitted;
      inside -= answer.ended - answer.admitted;
    }
    EXPECT_EQ(waiting, Duration(0));
    EXPECT_EQ(inside, Duration(0));
  }
}

TEST(PipelineModel, CreditsBoundWhatIsInside) {
  for (const CreditLink link : {CreditLink::kLinear, CreditLink::kEndToEnd}) {
    PipelineModel model(Mixed(5, link).settings);
    model.Resize(3, {2, 2}, {});
    for (int i = 0; i < 60; ++i) model.Submit(i, 1 + i % 5, {});
    int64_t most_inside = 0;
    int most_at_a_gate = 0, bound = 4;
    const auto look = [&](TimePoint) {
      const PipelineSample sample = model.Sample();
      most_inside = std::max(most_inside, sample.open);
      for (const auto& stage : sample.stages) {
        most_at_a_gate = std::max(most_at_a_gate, stage.requests);
        EXPECT_LE(stage.credits, bound);
      }
      model.State().CheckInvariants();
    };
    RunUntil(&model, TimePoint(std::chrono::milliseconds(200)), look);
    // A link before each of three gates and one before the egress.
    EXPECT_GT(most_inside, link == CreditLink::kLinear ? 4 : 3);
    EXPECT_LE(most_inside, link == CreditLink::kLinear ? 16 : 4);
    EXPECT_LE(most_at_a_gate, 4);
    // Those inside may go on, and then there are fewer.
    model.SetOpenRequests(1, TimePoint(std::chrono::milliseconds(200)));
    RunUntil(&model, TimePoint(std::chrono::milliseconds(300)));
    most_inside = most_at_a_gate = 0;
    bound = 1;
    RunUntil(&model, TimePoint::max(), look);
    EXPECT_GT(most_inside, 0);
    EXPECT_LE(most_inside, link == CreditLink::kLinear ? 4 : 1);
    EXPECT_LE(most_at_a_gate, 1);
    EXPECT_EQ(model.Take().size(), 60);
  }
}

TEST(PipelineModel, CallsThatWaitForRoomGiveTheirLanesUp) {
  Row row({0, 4 * kTickSeconds});
  row.Stage(0).emits_many = true;
  row.Stage(1).from.items = 2;
  row.Cost(0) = {.per_call_s = 4 * kTickSeconds, .emits_per_call = 4, .emits_per_item = 0};
  PipelineModel model(row.settings);
  model.Resize(1, {1, 1}, Ticks(0));
  model.Submit(0, 1, Ticks(0));
  RunUntil(&model, Ticks(3));
  EXPECT_EQ(model.Sample().stages[0].parked, 1);
  EXPECT_EQ(model.Sample().stages[1].running, 1);  // On the only lane.
  RunUntil(&model);
  EXPECT_EQ(model.Take().at(0).items, 4);
  const PipelineSample sample = model.Sample();
  EXPECT_EQ(sample.stages[0].busy, 4 * kTick);
  EXPECT_GT(sample.stages[0].lasted, 4 * kTick);
}

TEST(PipelineModel, RefusesCostsAndLanesThatMakeNoSense) {
  const auto refusal = [](const std::function<void(Row*)>& change) -> std::string {
    Row row({0.01, 0.01});
    change(&row);
    try {
      const PipelineModel model(row.settings);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal([](Row*) {}), "");
  EXPECT_THAT(refusal([](Row* row) { row->settings.costs.pop_back(); }), HasSubstr("stages"));
  EXPECT_THAT(refusal([](Row* row) { row->Cost(1).per_item_s = -1; }),
              HasSubstr("stages.s1.per_item_s"));
  EXPECT_THAT(refusal([](Row* row) { row->Cost(0).noise = std::nan(""); }),
              HasSubstr("stages.s0.noise"));
  EXPECT_THAT(refusal([](Row* row) { row->settings.waiting_lanes = -1; }),
              HasSubstr("waiting_lanes"));
  EXPECT_THAT(refusal([](Row* row) {
                row->Stage(1).waits = true;
                row->Stage(1).parallel = 0;
              }),
              HasSubstr("stages.s1.parallel"));
}

}  // namespace
}  // namespace cosched
