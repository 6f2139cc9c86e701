// Every order in which things can happen in small pipelines: promises are kept in each state, and
// Check() refuses those pipelines in which requests can wait for each other for ever. The search
// does not know what Check() says.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/gates/pipeline_spec.h"
#include "model.h"

namespace cosched {
namespace {

using Hands = Gate::Hands;
using Link = CreditLink;

std::string Refusal(const PipelineSpec& spec) {
  try {
    Check(spec);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

PipelineSpec SpecOf(Link link, int open, std::vector<StageSpec> stages) {
  for (size_t i = 0; i < stages.size(); ++i) stages[i].name = std::string(1, "abcdef"[i]);
  return {.stages = std::move(stages), .link = link, .open = open, .open_max = open};
}

StageSpec Whole() { return {.from = {.hands = Hands::kWhole}}; }

// Together more than a million states, with requests that fail and are cancelled at any time.
std::vector<model::Settings> Pipelines() {
  const Gate::Options twos = {.hands = Hands::kMany, .batch = 2};
  const Gate::Options cut = {.hands = Hands::kPartition, .batch = 2};
  std::vector<model::Settings> all;
  all.push_back(
      {.name = "many items of one, then two by two",
       .spec = SpecOf(Link::kLinear, 2, {{.parallel = 2, .emits_many = true}, {.from = twos}}),
       .items = {2, 1},
       .cancels = true,
       .raises_open = true,
       .lowers_open = true});
  all.push_back(
      {.name = "whole requests, without items, too",
       .spec = SpecOf(Link::kLinear, 3, {{}, Whole(), {.from = {.items = 3}, .parallel = 1}}),
       .items = {1, 0, 1},
       .lanes = 2,
       .fails = true,
       .raises_open = true,
       .lowers_open = true});
  all.push_back({.name = "one without items behind one without a batch",
                 .spec = SpecOf(Link::kEndToEnd, 3, {{.parallel = 2}, {.from = twos}}),
                 .items = {2, 0, 2},
                 .lanes = 3,
                 .cancels = true});
  all.push_back({.name = "credits end to end, bytes, and a stage that waits",
                 .spec = SpecOf(Link::kEndToEnd, 2,
                                {{.parallel = 2},
                                 {.from = {.bytes = 16}, .parallel = 2, .waits = true},
                                 {.from = {.hands = Hands::kMany, .batch = 2, .items = 4}}}),
                 .items = {2, 2},
                 .lanes = 3,
                 .bytes = {4, 12},
                 .raises_open = true,
                 .lowers_open = true});
  all.push_back(
      {.name = "in order, few places and bytes",
       .spec = SpecOf(Link::kLinear, 2,
                      {{.parallel = 2}, {.from = {.items = 4, .bytes = 16, .in_order = true}}}),
       .items = {3, 1, 2},
       .lanes = 3,
       .bytes = {4, 12},
       .cancels = true});
  all.push_back(
      {.name = "partitions, credits gate by gate",
       .spec =
           SpecOf(Link::kLinear, 2,
                  {{.from = cut, .emits_many = true, .inner_link = Link::kLinear, .inner_open = 2},
                   {.from = {.open = 1}},
                   {.from = {.hands = Hands::kWhole}, .joins = 1}}),
       .items = {3, 1},
       .lanes = 3,
       .cancels = true,
       .raises_open = true,
       .lowers_open = true});
  all.push_back(
      {.name = "partitions of partitions, joined at once",
       .spec = SpecOf(
           Link::kEndToEnd, 2,
           {{.from = {.hands = Hands::kPartition, .batch = 2}, .emits_many = true, .inner_open = 2},
            {.from = {.hands = Hands::kPartition}, .inner_open = 2},
            {.from = twos, .joins = 2}}),
       .items = {3, 2},
       .lanes = 3,
       .fails = true});
  return all;
}

TEST(ModelCheckTest, PromisesAreKeptInAMillionStates) {
  int64_t states = 0;
  for (const model::Settings& settings : Pipelines()) {
    EXPECT_EQ(Refusal(settings.spec), "") << settings.name;
    const model::Result result = model::Search(settings);
    EXPECT_EQ(result.violation, "");
    EXPECT_EQ(result.deadlock, "");
    EXPECT_TRUE(result.complete) << settings.name;
    states += result.states;
    std::printf("%-50s %7ld states %8ld steps\n", settings.name.c_str(), result.states,
                result.steps);
  }
  EXPECT_GE(states, 1'000'000);
}

// Whether requests can wait for each other for ever, as far as the search gets.
struct Verdict {
  bool deadlock = false;
  bool complete = true;
};

Verdict VerdictOn(const PipelineSpec& spec, std::vector<int> items,
                  std::vector<int64_t> bytes = {0}, int walks = 1'000) {
  const model::Settings settings{.spec = spec,
                                 .items = std::move(items),
                                 .lanes = 3,
                                 .bytes = std::move(bytes),
                                 .lowers_open = true,
                                 .most_states = 20'000};
  model::Result result = model::Search(settings);
  if (!result.complete) result.deadlock = model::Walk(settings, walks).deadlock;
  EXPECT_EQ(result.violation, "");
  return {.deadlock = !result.deadlock.empty(), .complete = result.complete};
}

std::string Described(const PipelineSpec& spec) {
  std::string text;
  for (const StageSpec& stage : spec.stages) {
    const Gate::Options& from = stage.from;
    text += " [" + std::to_string(static_cast<int>(from.hands)) + " x" +
            std::to_string(from.batch) + " items " + std::to_string(from.items) + " bytes " +
            std::to_string(from.bytes) + (from.in_order ? " in order" : "") + "] parallel " +
            std::to_string(stage.parallel) + (stage.emits_many ? " many" : "");
  }
  return text;
}

TEST(ModelCheckTest, PlacesThatCallsOfAWaitingRequestTakeAreRefusedWhereTheyDeadlock) {
  int refused = 0, complete = 0;
  for (const Hands hands : {Hands::kOne, Hands::kMany, Hands::kWhole}) {
    for (const bool many : {false, true}) {
      for (const int parallel : {0, 1, 2}) {
        for (const bool bytes : {false, true}) {
          const int batch = hands == Hands::kMany ? 2 : 1;
          const PipelineSpec spec = SpecOf(
              Link::kLinear, 2,
              {{},
               {.from = {.hands = hands, .batch = batch}, .parallel = parallel, .emits_many = many},
               {.from = {.items = bytes ? 0 : 2, .bytes = bytes ? 16 : 0}, .parallel = 1}});
          // As many as it takes to fill the places while the older request still has an item to come.
          std::vector<int> items = hands == Hands::kMany ? std::vector{3, 6} : std::vector{2, 4};
          const Verdict verdict =
              VerdictOn(spec, items, bytes ? std::vector<int64_t>{4, 8} : std::vector<int64_t>{0});
          const std::string refusal = Refusal(spec);
          // Some deadlocks lie so deep that a thousand walks miss them.
          if (verdict.deadlock || verdict.complete) {
            EXPECT_EQ(!refusal.empty(), verdict.deadlock) << Described(spec) << ": " << refusal;
          }
          refused += verdict.deadlock ? 1 : 0;
          complete += verdict.complete ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GE(refused, 3);
  EXPECT_GE(complete, 6);
}

TEST(ModelCheckTest, WhatMakesPlacesSafeDoesNotDeadlock) {
  const auto spec = [](Link link, int open, int parallel, int own, int items) {
    return SpecOf(link, open,
                  {{},
                   {.parallel = parallel, .emits_many = true},
                   {.from = {.open = own, .items = items}, .parallel = 1}});
  };
  EXPECT_TRUE(VerdictOn(spec(Link::kLinear, 2, 1, 0, 2), {2, 4}, {0}, 20'000).deadlock);
  EXPECT_NE(Refusal(spec(Link::kLinear, 2, 1, 0, 2)), "");
  for (const PipelineSpec& safe :
       {spec(Link::kEndToEnd, 2, 1, 0, 2), spec(Link::kLinear, 1, 1, 0, 1),
        spec(Link::kLinear, 2, 1, 1, 1), spec(Link::kLinear, 2, 0, 0, 2),
        spec(Link::kLinear, 2, 1, 0, 0),
        SpecOf(Link::kLinear, 2, {{.parallel = 1, .emits_many = true}, {.from = {.items = 2}}})}) {
    EXPECT_EQ(Refusal(safe), "") << Described(safe);
    EXPECT_FALSE(VerdictOn(safe, {2, 2}).deadlock) << Described(safe);
  }
}

// What keeps a request back may be further down than the gate where it takes a place.
TEST(ModelCheckTest, ARequestThatIsKeptBackTwoGatesDownIsRefusedWhereItDeadlocks) {
  for (const int between : {0, 1}) {
    const PipelineSpec spec = SpecOf(Link::kLinear, 2,
                                     {{},
                                      {.parallel = 1, .emits_many = true},
                                      {.from = {.open = 1, .items = between}},
                                      {.from = {.items = 2}}});
    const Verdict verdict = VerdictOn(spec, {2, 2});
    EXPECT_EQ(!Refusal(spec).empty(), verdict.deadlock) << Described(spec) << Refusal(spec);
  }
}

TEST(ModelCheckTest, OrderIsRefusedWhereItDeadlocks) {
  int refused = 0;
  for (int bits = 0; bits < 1 << 4; ++bits) {
    for (const int parallel : {0, 1, 2}) {
      for (const int items : {0, 1, 2}) {
        const bool b_order = (bits & 1) != 0, c_order = (bits & 2) != 0;
        const PipelineSpec spec =
            SpecOf(Link::kLinear, 1,
                   {{.parallel = (bits & 4) != 0 ? 2 : 1},
                    {.from = {.items = items, .in_order = b_order}, .parallel = parallel},
                    {.from = {.items = (bits & 8) != 0 ? 1 : 0, .in_order = c_order}},
                    {.from = {.items = 1, .in_order = true}, .parallel = 1}});
        const Verdict verdict = VerdictOn(spec, {3});
        EXPECT_TRUE(verdict.complete) << Described(spec);
        EXPECT_EQ(!Refusal(spec).empty(), verdict.deadlock) << Described(spec) << Refusal(spec);
        refused += verdict.deadlock ? 1 : 0;
      }
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(ModelCheckTest, OrderWithFewBytesIsRefusedWhereItDeadlocks) {
  int refused = 0;
  for (int bits = 0; bits < 1 << 4; ++bits) {
    for (const int parallel : {0, 1}) {
      const PipelineSpec spec =
          SpecOf(Link::kLinear, 1,
                 {{.parallel = (bits & 1) != 0 ? 2 : 1},
                  {.from = {.bytes = (bits & 2) != 0 ? 4 : 0, .in_order = (bits & 4) != 0},
                   .parallel = parallel},
                  {.from = {.items = (bits & 8) != 0 ? 2 : 0, .bytes = 4, .in_order = true},
                   .parallel = 1}});
      const Verdict verdict = VerdictOn(spec, {3}, {4, 8});
      EXPECT_TRUE(verdict.complete || verdict.deadlock) << Described(spec);
      EXPECT_EQ(!Refusal(spec).empty(), verdict.deadlock) << Described(spec) << Refusal(spec);
      refused += verdict.deadlock ? 1 : 0;
    }
  }
  EXPECT_GT(refused, 0);
}

// Of partitions Check() may refuse more than what deadlocks, never less.
TEST(ModelCheckTest, PartitionsThatDeadlockAreRefused) {
  int deadlocks = 0;
  for (int bits = 0; bits < 1 << 6; ++bits) {
    std::vector<StageSpec> stages;
    if ((bits & 1) != 0) stages.push_back({});
    stages.push_back({.from = {.hands = Hands::kPartition},
                      .inner_link = (bits & 2) != 0 ? Link::kLinear : Link::kEndToEnd,
                      .inner_open = (bits & 4) != 0 ? 2 : 1});
    if ((bits & 8) != 0) stages.push_back({});
    stages.push_back({.from = {.items = (bits & 16) != 0 ? 2 : 0}, .joins = 1});
    const PipelineSpec spec = SpecOf((bits & 32) != 0 ? Link::kLinear : Link::kEndToEnd, 2, stages);
    model::Settings settings{
        .spec = spec, .items = {2, 2}, .lanes = 2, .lowers_open = true, .most_states = 10'000};
    model::Result result = model::Search(settings);
    if (!result.complete) result.deadlock = model::Walk(settings, 500).deadlock;
    EXPECT_EQ(result.violation, "");
    const bool deadlock = !result.deadlock.empty();
    EXPECT_TRUE(!deadlock || !Refusal(spec).empty()) << Described(spec) << result.deadlock;
    deadlocks += deadlock ? 1 : 0;
  }
  EXPECT_GT(deadlocks, 0);
}

}  // namespace
}  // namespace cosched
