#include "engine/gates/pipeline_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "engine/base/error.h"
#include "engine/gates/pipeline_layout.h"

namespace cosched {
namespace {

using ::testing::HasSubstr;
using Hands = Gate::Hands;

std::string RefusalOf(const PipelineSpec& spec) {
  try {
    Check(spec);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

PipelineSpec Of(std::vector<StageSpec> stages, int open = 1) {
  return {.stages = std::move(stages), .open = open, .open_max = open};
}

TEST(PipelineSpecTest, RefusesNumbersThatMakeNoSense) {
  EXPECT_THAT(RefusalOf({}), HasSubstr("stages: none"));
  EXPECT_THAT(RefusalOf({.stages = {{.name = "a"}}, .open = 3, .open_max = 2}),
              HasSubstr("open: 3; allowed: 1 to 2"));
  EXPECT_THAT(RefusalOf(Of({{.name = "a", .from = {.batch = 0}}})),
              HasSubstr("stages.a.batch: 0; allowed: 1 or more"));
  EXPECT_THAT(RefusalOf(Of({{.name = "a", .parallel = -1}})), HasSubstr("stages.a.parallel: -1"));
  EXPECT_THAT(RefusalOf(Of({{.name = "a", .from = {.hands = Hands::kPartition}, .inner_open = 0}})),
              HasSubstr("stages.a.inner_open: 0"));
}

TEST(PipelineSpecTest, RefusesRoomForLessThanABatchOfEachRequest) {
  const auto with = [](int64_t items, int open) {
    return Of(
        {{.name = "a"}, {.name = "b", .from = {.hands = Hands::kMany, .batch = 3, .items = items}}},
        open);
  };
  EXPECT_EQ(RefusalOf(with(6, 2)), "accepted");
  EXPECT_THAT(RefusalOf(with(5, 2)), HasSubstr("5 items for 2 requests, each of which needs room "
                                               "for a batch of 3; allowed: 6 or more, or 0"));
}

TEST(PipelineSpecTest, RefusesBoundsWhereItemsCanOnlyWaitForEachOther) {
  EXPECT_THAT(RefusalOf(Of({{.name = "a", .from = {.items = 9}}})), HasSubstr("at the ingress"));
  EXPECT_THAT(
      RefusalOf(Of({{.name = "a"}, {.name = "b", .from = {.hands = Hands::kWhole, .bytes = 9}}})),
      HasSubstr("stages.b.bytes: a bound where requests wait until all"));
}

TEST(PipelineSpecTest, RefusesToJoinWhatWasNotBegun) {
  EXPECT_THAT(RefusalOf(Of({{.name = "a", .joins = 1}})), HasSubstr("allowed: 0, as many as"));
  EXPECT_THAT(RefusalOf(Of({{.name = "a", .from = {.hands = Hands::kPartition}},
                            {.name = "b", .joins = 2}})),
              HasSubstr("stages.b.joins: 2 levels; allowed: 1"));
}

TEST(PipelineSpecTest, RefusesOrderWithoutNumbers) {
  const auto below = [](StageSpec stage, int joins = 0) {
    stage.name = "a";
    return Of({stage, {.name = "b", .from = {.in_order = true}, .joins = joins}});
  };
  EXPECT_EQ(RefusalOf(below({})), "accepted");
  EXPECT_EQ(RefusalOf(below({.parallel = 1, .emits_many = true})), "accepted");
  EXPECT_EQ(RefusalOf(below({.from = {.hands = Hands::kWhole}, .emits_many = true})), "accepted");
  EXPECT_THAT(RefusalOf(below({.emits_many = true})), HasSubstr("stages.b.in_order"));
  EXPECT_THAT(RefusalOf(below({.from = {.hands = Hands::kPartition}}, 1)),
              HasSubstr("stages.b.in_order"));
}

TEST(PipelineSpecTest, RefusesMorePartsOfAnOrdinalThanItHas) {
  std::vector<StageSpec> stages(Ordinal::kMostParts, {.name = "a", .emits_many = true});
  EXPECT_THAT(RefusalOf(Of(stages)), HasSubstr("7 deep"));
  stages[3].parallel = 1;
  EXPECT_EQ(RefusalOf(Of(stages)), "accepted");
}

TEST(PipelineSpecTest, CreditsOfAGatesOwnAreForLinearOnes) {
  PipelineSpec spec = Of({{.name = "a"}, {.name = "b", .from = {.open = 1}}}, 2);
  EXPECT_EQ(RefusalOf(spec), "accepted");
  spec.link = CreditLink::kEndToEnd;
  EXPECT_THAT(RefusalOf(spec), HasSubstr("stages.b.open"));
}

TEST(PipelineSpecTest, SaysWhyRequestsCanWaitForEachOther) {
  EXPECT_THAT(
      RefusalOf(Of({{.name = "a"},
                    {.name = "b", .parallel = 1, .emits_many = true},
                    {.name = "c", .from = {.items = 2}}},
                   2)),
      HasSubstr("stages.b.parallel: 1, but calls of a request that waits for a credit at c"));
  EXPECT_THAT(RefusalOf(Of({{.name = "a"},
                            {.name = "b", .from = {.hands = Hands::kPartition}},
                            {.name = "c"},
                            {.name = "d", .from = {.items = 2}, .joins = 1}},
                           2)),
              HasSubstr("stages.b.inner_open: 1, but partitions of a request"));
}

TEST(PipelineLayoutTest, LinearCreditsLieBetweenNeighboursOfALevel) {
  const PipelineLayout layout(
      Of({{.name = "a"},
          {.name = "b", .from = {.hands = Hands::kPartition}, .inner_link = CreditLink::kLinear},
          {.name = "c"},
          {.name = "d", .from = {.open = 1}, .joins = 1}},
         2));
  EXPECT_EQ(layout.LevelAt(0).enters, layout.At(0).closes);
  EXPECT_EQ(layout.At(0).opens, layout.At(1).closes);
  EXPECT_EQ(layout.At(1).opens, layout.At(3).closes) << "over the partitions";
  EXPECT_EQ(layout.At(3).opens, layout.LevelAt(0).ends);
  EXPECT_EQ(layout.LevelAt(1).enters, layout.At(2).closes);
  EXPECT_EQ(layout.At(2).opens, layout.LevelAt(1).ends);
  EXPECT_EQ(layout.links.size(), 6u);
  EXPECT_EQ(layout.At(3).shares, 1);
  EXPECT_EQ(layout.At(0).shares, 2);
}

}  // namespace
}  // namespace cosched
