#include "engine/gates/stage_objects.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace cosched {
namespace {

TEST(StageObjectsTest, AreMadeWhereNoneIsFreeAndKeptByStage) {
  int made[] = {0, 0};
  const auto counted = [&made](size_t stage) -> StageFactory {
    return [&made, stage] {
      ++made[stage];
      return MakeNativeStage([](StageCall&, int) { return false; });
    };
  };
  StageObjects objects({counted(0), counted(1)});
  std::unique_ptr<Stage> first = objects.Take(0), second = objects.Take(0);
  EXPECT_EQ(made[0], 2);
  Stage* const kept = first.get();
  objects.GiveBack(0, std::move(first));
  objects.Take(1);
  EXPECT_EQ(made[1], 1) << "another stage's object is none of this one";
  EXPECT_EQ(objects.Take(0).get(), kept);
  EXPECT_EQ(made[0], 2);
}

TEST(StageObjectsTest, AnyExceptionIsToldAsAText) {
  const auto why = [](const auto& thrown) {
    try {
      throw thrown;
    } catch (...) {
      return WhyStageThrew().why;
    }
  };
  EXPECT_EQ(why(std::runtime_error("no such read")), "no such read");
  EXPECT_FALSE(why(7).empty());
}

}  // namespace
}  // namespace cosched
