// What is told before figures run: no number is invented.

#include "experiments/cli/reproduce_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr uintmax_t kMuch = 1'000'000'000'000;

Json PlannedFigure(const std::string& name, const Json& seconds, const std::string& from) {
  return {{"name", name},
          {"status", "planned"},
          {"why", ""},
          {"kept", false},
          {"lacks", Json::array()},
          {"plan",
           {{"cells", 12},
            {"cores", 2},
            {"seconds", seconds},
            {"seconds_from", from},
            {"bytes", 2e6}}}};
}

TEST(PlanTableTest, TimesThatAreKnownAreSummedAndThoseOfElsewhereSayWhere) {
  const std::string text =
      PlanTable({PlannedFigure("a", 30, "as it took here"),
                 PlannedFigure("b", 60, "as it took on a big machine, 64 cores")},
                2, kMuch);
  EXPECT_THAT(text, ContainsRegex("a +12 +0\\.5 +2 MB +2\n"));
  EXPECT_THAT(text, ContainsRegex("b +12 +1\\.0\\* +2 MB +2\n"));
  EXPECT_THAT(text, ContainsRegex("together +24 +1\\.5 +4 MB +2 cores here\n"));
  EXPECT_THAT(text, HasSubstr("* as it took on a big machine, 64 cores\n"));
}

TEST(PlanTableTest, ATimeThatIsNotKnownIsNoNumberAndTheSumSaysThatItIsMore) {
  const std::string text = PlanTable(
      {PlannedFigure("a", 30, "as it took here"), PlannedFigure("b", nullptr, "not known"),
       PlannedFigure("c", 60, "at least, by its arrivals")},
      2, kMuch);
  EXPECT_THAT(text, ContainsRegex("b +12 +\\? +2 MB"));
  EXPECT_THAT(text, ContainsRegex("c +12 +> 1\\.0 +2 MB"));
  EXPECT_THAT(text, ContainsRegex("together +36 +> 1\\.5 "));
  EXPECT_THAT(text, HasSubstr("not known: 1 figure"));
}

TEST(PlanTableTest, WhatCannotRunOrIsKeptCountsNothingAndSaysWhy) {
  Json absent = PlannedFigure("a", nullptr, "not known");
  absent["status"] = "not supported here";
  absent["why"] = "bench_a was not built";
  Json kept = PlannedFigure("b", 60, "as it took here");
  kept["kept"] = true;
  const std::string text = PlanTable({absent, kept}, 1, kMuch);
  EXPECT_THAT(text, ContainsRegex("a +not supported here: bench_a was not built\n"));
  EXPECT_THAT(text, ContainsRegex("b .*is whole, and is kept\n"));
  EXPECT_THAT(text, ContainsRegex("together +0 +0\\.0 +0 kB +1 core here\n"));
}

TEST(PlanTableTest, WhatSeveralLackIsToldOnceWithTheirNames) {
  Json first = PlannedFigure("a", 1, "as it took here");
  Json second = PlannedFigure("b", 1, "as it took here");
  first["lacks"] = second["lacks"] = {"no PyTorch"};
  EXPECT_THAT(PlanTable({first, second}, 2, kMuch), HasSubstr("  - a, b: no PyTorch\n"));
}

TEST(PlanTableTest, ADiskThatIsTooSmallIsToldBefore) {
  const Json figures = {PlannedFigure("a", 1, "as it took here")};
  EXPECT_THAT(PlanTable(figures, 2, 1'000'000), HasSubstr("WARNING: only 1 MB are free"));
  EXPECT_THAT(PlanTable(figures, 2, kMuch), Not(HasSubstr("WARNING")));
}

}  // namespace
}  // namespace cosched
