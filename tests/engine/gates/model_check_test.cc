#include <gtest/gtest.h>

#include "model.h"

namespace cosched {
namespace {

using Hands = Gate::Hands;

TEST(ModelCheckTest, Tries) {
  model::Settings settings{
      .name = "two stages",
      .spec = {.stages = {{.name = "a", .from = {.name = "a"}, .parallel = 2, .emits_many = true},
                          {.name = "b", .from = {.name = "b", .hands = Hands::kMany, .batch = 2}}},
               .open = 2,
               .open_max = 2},
      .items = {2, 1, 2},
      .lanes = 3,
      .fails = true,
      .cancels = true,
      .sets_open = true};
  const model::Result result = model::Search(settings);
  std::printf("%ld states %ld steps %ld deadlocks %s\n", result.states, result.steps,
              result.deadlocks, result.first_deadlock.c_str());
  EXPECT_EQ(result.violation, "");
  EXPECT_EQ(result.deadlocks, 0);
}

}  // namespace
}  // namespace cosched
