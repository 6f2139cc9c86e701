#include "experiments/hosts/simulation/pipeline_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>

#include "engine/base/error.h"
#include "tests/experiments/hosts/simulation/pipeline_fixture.h"

namespace cosched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kTick;
using testing::kTickSeconds;
using testing::Row;
using testing::Ticks;

// Answers to requests of these numbers of items, all submitted at once.
std::vector<PipelineModel::Answer> AnswersTo(PipelineCluster* cluster,
                                             const std::vector<int64_t>& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    cluster->Submit(static_cast<int64_t>(i), items[i], {});
  }
  while (const auto next = cluster->NextEvent()) {
    cluster->Advance(*next);
    cluster->CheckInvariants();
  }
  EXPECT_TRUE(cluster->Empty());
  return cluster->Take();
}

std::vector<int64_t> Ends(const std::vector<PipelineModel::Answer>& answers) {
  std::vector<int64_t> ends;
  for (const auto& answer : answers) {
    EXPECT_EQ(answer.ended.time_since_epoch() % kTick, Duration(0));
    ends.push_back(answer.ended.time_since_epoch() / kTick);
  }
  return ends;
}

// A partition a request of `batch` items at most, which goes through the stages from `first` on and
// is joined at the last.
Row Partitioned(Row row, size_t first, int batch, int inner_open) {
  row.Stage(first).from.hands = Gate::Hands::kPartition;
  row.Stage(first).from.batch = batch;
  row.Stage(first).inner_open = inner_open;
  StageSpec& last = row.settings.spec.stages.back();
  last.from.hands = Gate::Hands::kWhole;
  last.joins = 1;
  return row;
}

TEST(PipelineCluster, OneMachineWithoutHelpersIsAPipelineModel) {
  Row row({0.003, 0.004, 0.002, 0.001}, 4);
  row.settings.spec.link = CreditLink::kLinear;
  row.settings.seed = 3;
  row.Stage(0).emits_many = true;
  row.Cost(0).emits_per_item = 1.5;
  row.Stage(1).parallel = 2;
  row.Stage(1).from.items = 8;
  row.Stage(2).waits = true;
  row.Stage(2).from.hands = Gate::Hands::kMany;
  row.Stage(2).from.batch = 3;
  for (StageCost& cost : row.settings.costs) cost.noise = 0.3;
  std::vector<int64_t> items;
  for (int i = 0; i < 60; ++i) items.push_back(i % 6);
  for (const int cores : {1, 2, 3}) {
    PipelineModel model(row.settings);
    model.Resize(cores, {cores, 1}, {});
    for (int i = 0; i < 60; ++i) model.Submit(i, items[static_cast<size_t>(i)], {});
    testing::RunUntil(&model);
    PipelineCluster cluster(row.settings, {.groups = {{.cores = cores}}, .link_latency_s = 1});
    const auto alike = AnswersTo(&cluster, items), answers = model.Take();
    ASSERT_EQ(alike.size(), 60);
    for (size_t i = 0; i < 60; ++i) {
      EXPECT_EQ(
          std::tuple(alike[i].number, alike[i].items, alike[i].admitted, alike[i].ended),
          std::tuple(answers[i].number, answers[i].items, answers[i].admitted, answers[i].ended));
    }
    EXPECT_EQ(cluster.Transferred().transfers, 0);
    const PipelineSample one = cluster.Sample(), other = model.Sample();
    for (size_t stage = 0; stage < 4; ++stage) {
      EXPECT_EQ(one.stages[stage].busy, other.stages[stage].busy);
      EXPECT_EQ(one.stages[stage].lasted, other.stages[stage].lasted);
      EXPECT_EQ(one.stages[stage].taken, other.stages[stage].taken);
    }
  }
}

TEST(PipelineCluster, ACallPaysForWhatWasMadeElsewhere) {
  Row row({3 * kTickSeconds, 4 * kTickSeconds}, 8);
  row.settings.item_bytes = 10;
  PipelineCluster cluster(row.settings, {.groups = {{.stages = {"s0"}}, {.stages = {"s1"}}},
                                         .link_latency_s = 1 * kTickSeconds,
                                         .link_bytes_per_s = 5 / kTickSeconds});
  // A row of stages of 3 and of 4 + 1 + 2 ticks.
  EXPECT_THAT(Ends(AnswersTo(&cluster, {1, 1, 1})), ElementsAre(10, 17, 24));
  EXPECT_EQ(cluster.Transferred().transfers, 3);
  EXPECT_EQ(cluster.Transferred().bytes, 30);
  EXPECT_EQ(cluster.Sample().stages[1].busy, 12 * kTick);
  EXPECT_EQ(cluster.Sample().stages[1].lasted, 21 * kTick);
}

TEST(PipelineCluster, ThoseWhoUseTheStoreShareIt) {
  Row row({4 * kTickSeconds, 0}, 2);
  row.Stage(1).waits = true;
  row.Stage(1).parallel = 2;
  row.Cost(1).store_bytes_per_item = 8;
  PipelineCluster cluster(row.settings, {.groups = {{}}, .store_bytes_per_s = 1 / kTickSeconds});
  // From 4 to 8 the first has it by itself, then half of it, as long as the second: 4 of 8 are left
  // of that when the first is done.
  EXPECT_THAT(Ends(AnswersTo(&cluster, {1, 1})), ElementsAre(16, 20));
  row.Cost(1).store_bytes_per_item = 1e30;  // And where there is no bound it costs nothing.
  PipelineCluster unbound(row.settings, {.groups = {{}}});
  EXPECT_THAT(Ends(AnswersTo(&unbound, {1, 1})), ElementsAre(4, 8));
}

// A processor sharing station is as a single server of exponential service to mean value analysis,
// however services are distributed (Baskett et al., JACM 22(2), 1975).
TEST(PipelineCluster, TheStoreIsAStationOfMeanValueAnalysis) {
  constexpr int kRequests = 200'000, kOpen = 4;
  Row row({0.01, 0}, kOpen);
  row.Exponential();
  row.Stage(1).waits = true;
  row.Stage(1).parallel = 0;
  row.Cost(1).store_bytes_per_item = 12;
  PipelineCluster cluster(row.settings,
                          {.groups = {{.waiting_lanes = kOpen}}, .store_bytes_per_s = 1000});
  double compute = 0, store = 0, throughput = 0;  // Queues.
  for (int n = 1; n <= kOpen; ++n) {
    throughput = n / (0.01 * (1 + compute) + 0.012 * (1 + store));
    compute = throughput * 0.01 * (1 + compute);
    store = throughput * 0.012 * (1 + store);
  }
  for (int i = 0; i < kRequests; ++i) cluster.Submit(i, 1, {});
  while (const auto next = cluster.NextEvent()) cluster.Advance(*next);
  const double simulated = kRequests / ToSeconds(cluster.Take().back().ended);
  EXPECT_NEAR(simulated / throughput, 1, 4 / std::sqrt(static_cast<double>(kRequests)));
}

TEST(PipelineCluster, PartitionsStayOnTheMachineThatPulledThem) {
  Row row = Partitioned(Row({2 * kTickSeconds, 3 * kTickSeconds, 5 * kTickSeconds}), 0, 4, 1);
  row.Cost(0) = {.per_call_s = 4 * kTickSeconds, .item_bytes = 1'000'000};
  row.Stage(0).emits_many = true;
  row.Stage(1).from.hands = Gate::Hands::kWhole;  // One call a partition.
  row.Cost(1) = {.per_call_s = 3 * kTickSeconds, .kept_bytes = 0};
  row.Cost(2) = {.per_call_s = 5 * kTickSeconds};
  PipelineCluster cluster(row.settings,
                          {.groups = {{.stages = {"s2"}}, {.count = 2, .stages = {"s0"}}},
                           .link_latency_s = 1 * kTickSeconds,
                           .link_bytes_per_s = 1});
  // Two partitions side by side, each of which comes from the first machine and goes back, and what
  // is between its stages never leaves: 1 + 4 + 3, then 1 + 5.
  EXPECT_THAT(Ends(AnswersTo(&cluster, {8})), ElementsAre(14));
  EXPECT_EQ(cluster.Transferred().transfers, 3);
  EXPECT_EQ(cluster.Transferred().bytes, 0);
  const PipelineSample sample = cluster.Sample();
  EXPECT_EQ(std::tuple(sample.stages[0].calls, sample.stages[0].taken), std::tuple(2, 8));
  EXPECT_EQ(std::tuple(sample.stages[1].calls, sample.stages[1].taken), std::tuple(2, 8));
  EXPECT_EQ(std::tuple(sample.stages[2].calls, sample.stages[2].taken), std::tuple(1, 2));
}

TEST(PipelineCluster, CreditsAndCallsOfPartitionsAreOfEachMachine) {
  for (const int machines : {1, 2, 4}) {
    for (const int inner_open : {1, 2}) {
      Row row = Partitioned(Row({2 * kTickSeconds, 3 * kTickSeconds, 0}), 0, 1, inner_open);
      PipelineCluster cluster(row.settings, {.groups = {{.count = machines, .cores = 2}}});
      // With one partition inside a machine has 5 ticks for each, with two the slower stage's 3.
      const int rounds = 8 / machines;
      const int ticks = inner_open == 1 ? 5 * rounds : 2 + 3 * rounds;
      EXPECT_THAT(Ends(AnswersTo(&cluster, {8})), ElementsAre(ticks));
    }
  }
}

// A tier that aligns at the rate at which `merging` machines merge: with one request open the two
// take turns, and with 1 + merging all are busy, at no request's cost.
TEST(PipelineCluster, TheGainOfTiersInBalanceIsOneAndTheMergingMachines) {
  for (const int merging : {1, 3, 5}) {
    const auto last = [merging](int open, int requests) {
      Row row({4 * kTickSeconds, merging * 4 * kTickSeconds}, open);
      row.Stage(1).parallel = 0;
      PipelineCluster cluster(row.settings, {.groups = {{.count = 1, .stages = {"s0"}},
                                                        {.count = merging, .stages = {"s1"}}}});
      const auto answers =
          AnswersTo(&cluster, std::vector<int64_t>(static_cast<size_t>(requests), 1));
      for (const auto& answer : answers) {
        EXPECT_EQ(answer.ended - answer.admitted >= 4 * (1 + merging) * kTick, true);
      }
      return Ends(answers).back();
    };
    const int alone = 4 * (1 + merging);
    EXPECT_EQ(last(1, 50), 50 * alone);
    EXPECT_EQ(last(1 + merging, 50), 49 * alone / (1 + merging) + alone);
  }
}

TEST(PipelineCluster, AsManyMachinesAsThereAreMakeAsMuch) {
  Row row({4 * kTickSeconds}, 1);
  row.Stage(0).parallel = 0;
  for (const int machines : {1, 5, 20}) {
    PipelineCluster cluster(row.settings, {.groups = {{.count = machines, .cores = 2}}});
    EXPECT_THAT(Ends(AnswersTo(&cluster, {400})), ElementsAre(4 * 400 / (2 * machines)));
  }
}

TEST(PipelineCluster, WhoeverHasMostFreeCoresPullsNext) {
  Row row = Row({4 * kTickSeconds}, 2);
  row.Stage(0).parallel = 0;
  PipelineCluster cluster(row.settings, {.groups = {{.count = 2, .cores = 2}}});
  AnswersTo(&cluster, {1, 1});
  EXPECT_EQ(cluster.Transferred().transfers, 1);  // One a machine.
}

TEST(PipelineCluster, ACallThatWaitedForRoomGoesOnOnItsMachine) {
  Row row({0, 3 * kTickSeconds});
  row.Stage(0).emits_many = true;
  row.Cost(0) = {.per_call_s = 4 * kTickSeconds, .emits_per_call = 4, .emits_per_item = 0};
  row.Stage(1).from.items = 1;
  PipelineCluster cluster(row.settings, {.groups = {{.count = 2}}});
  // It makes items at 1 and 2, has no room for the third at 3, and its machine takes the second at
  // 4, until 7, though the other one is idle. Then it makes the fourth until 8.
  EXPECT_THAT(Ends(AnswersTo(&cluster, {1})), ElementsAre(13));
}

TEST(PipelineCluster, WhatAPartitionBecameNeedsNoMachineToGoOn) {
  Row row({0, kTickSeconds});
  row.Stage(0).from.hands = Gate::Hands::kPartition;
  row.Stage(0).emits_many = true;
  row.Cost(0) = {
      .per_call_s = 4 * kTickSeconds, .emits_per_call = 2, .emits_per_item = 0, .item_bytes = 2};
  row.Stage(1).joins = 1;
  row.Stage(1).from.bytes = 3;  // For one of them; and a byte is enough for a partition to begin.
  PipelineCluster cluster(row.settings, {.groups = {{.stages = {"s0"}}, {.stages = {"s1"}}}});
  // Partitions end at 4, 8 and 12, and the second item of each waits until the first is taken,
  // when the next partition has the machine's credit.
  EXPECT_THAT(Ends(AnswersTo(&cluster, {3})), ElementsAre(14));
}

// Room for little everywhere, partitions of several sizes, and noise.
PipelineModel::Settings Crowded(uint64_t seed, Gate::Hands last) {
  Row row = Partitioned(Row({0.001, 0.002, 0.003, 0.002, 0.001}, 3), 1, 4, 2);
  row.settings.seed = seed;
  row.settings.spec.link = CreditLink::kEndToEnd;
  row.Stage(0).emits_many = row.Stage(1).emits_many = true;
  row.Stage(0).parallel = 0;
  row.Cost(0).emits_per_item = 3;
  row.Stage(1).from.items = 12;
  row.Stage(2).parallel = 0;
  row.Stage(2).emits_many = true;
  row.Cost(2).emits_per_item = 2;
  row.Stage(2).from.items = 4;
  row.Stage(3).waits = true;
  row.Stage(3).from.bytes = 20;
  row.settings.item_bytes = 6;
  for (StageCost& cost : row.settings.costs) {
    cost.noise = 0.5;
    cost.kept_bytes = 0;
    cost.item_bytes = 7;
  }
  row.Cost(3).store_bytes_per_item = 100;
  row.Stage(4).emits_many = true;
  row.Stage(4).from.hands = last;
  if (last == Gate::Hands::kOne) row.Stage(4).from.items = 9;  // Less than partitions make.
  Check(row.settings.spec);
  return row.settings;
}

TEST(PipelineCluster, EverythingComesOutAndEqualSeedsGiveEqualAnswers) {
  const auto run = [](uint64_t seed, Gate::Hands last) {
    PipelineCluster cluster(Crowded(seed, last), {.groups = {{.count = 2, .cores = 2}, {}},
                                                  .link_latency_s = 0.0005,
                                                  .link_bytes_per_s = 1e5,
                                                  .store_bytes_per_s = 1e5});
    std::vector<int64_t> items;
    for (int i = 0; i < 40; ++i) items.push_back(i % 7);
    std::vector<std::tuple<int64_t, TimePoint, TimePoint>> all;
    Duration inside{0};
    for (const auto& answer : AnswersTo(&cluster, items)) {
      EXPECT_EQ(answer.items, items[static_cast<size_t>(answer.number)] * 3 * 2);
      all.emplace_back(answer.number, answer.admitted, answer.ended);
      inside += answer.ended - answer.admitted;
    }
    EXPECT_EQ(all.size(), 40);
    EXPECT_LE(inside, 3 * std::get<2>(all.back()).time_since_epoch());
    const PipelineSample sample = cluster.Sample();
    for (const auto& stage : sample.stages) {
      EXPECT_EQ(std::tuple(stage.running, stage.parked, stage.items), std::tuple(0, 0, 0));
      EXPECT_LE(stage.busy, stage.lasted);
    }
    return all;
  };
  for (const Gate::Hands last : {Gate::Hands::kWhole, Gate::Hands::kOne}) {
    for (uint64_t seed = 0; seed < 5; ++seed) EXPECT_EQ(run(seed, last), run(seed, last));
    EXPECT_NE(run(1, last), run(2, last));
  }
}

TEST(PipelineCluster, FewerOpenRequestsHoldLater) {
  Row row({4 * kTickSeconds}, 4);
  row.Stage(0).parallel = 0;
  PipelineCluster cluster(row.settings, {.groups = {{.cores = 4}}});
  for (int i = 0; i < 8; ++i) cluster.Submit(i, 1, {});
  cluster.SetOpenRequests(1, Ticks(1));
  while (const auto next = cluster.NextEvent()) cluster.Advance(*next);
  EXPECT_THAT(Ends(cluster.Take()), ElementsAre(4, 4, 4, 4, 8, 12, 16, 20));
}

TEST(PipelineCluster, RefusesMachinesThatMakeNoSense) {
  const auto refusal = [](const ClusterSettings& cluster) -> std::string {
    Row row = Partitioned(Row({0.01, 0.01, 0.01}), 0, 4, 1);
    row.Stage(1).waits = true;
    row.Stage(1).parallel = 0;
    try {
      const PipelineCluster made(row.settings, cluster);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const ClusterSettings::Group all{.waiting_lanes = 2};
  EXPECT_EQ(refusal({.groups = {all}}), "");
  EXPECT_THAT(refusal({}), HasSubstr("groups"));
  EXPECT_THAT(refusal({.groups = {{}}}), HasSubstr("stages.s1.parallel"));
  EXPECT_THAT(refusal({.groups = {{.count = 0, .waiting_lanes = 2}}}), HasSubstr("groups.count"));
  EXPECT_THAT(refusal({.groups = {{.cores = 0, .waiting_lanes = 2}}}), HasSubstr("groups.cores"));
  EXPECT_THAT(refusal({.groups = {all}, .link_latency_s = -1}), HasSubstr("link_latency_s"));
  EXPECT_THAT(refusal({.groups = {all}, .store_bytes_per_s = -1}), HasSubstr("store_bytes_per_s"));
  EXPECT_THAT(refusal({.groups = {all, {.waiting_lanes = 2, .stages = {"s1"}}}}),
              HasSubstr("allowed: s0, s2"));
  EXPECT_THAT(refusal({.groups = {{.waiting_lanes = 2, .stages = {"s0"}}}}),
              HasSubstr("stages.s2"));
}

}  // namespace
}  // namespace cosched
