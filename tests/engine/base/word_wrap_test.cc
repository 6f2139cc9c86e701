#include "engine/base/word_wrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cosched {
namespace {

using ::testing::ElementsAre;

TEST(WordWrapTest, LinesAreAsLongAsTheyMayBe) {
  EXPECT_THAT(WordsInLines("ab cd  ef\ngh", 5), ElementsAre("ab cd", "ef gh"));
  EXPECT_THAT(WordsInLines("ab cd", 4), ElementsAre("ab", "cd"));
}

TEST(WordWrapTest, ALongWordHasALineOfItsOwnAndNothingIsOneLine) {
  EXPECT_THAT(WordsInLines("a longer b", 3), ElementsAre("a", "longer", "b"));
  EXPECT_THAT(WordsInLines("", 3), ElementsAre(""));
}

}  // namespace
}  // namespace cosched
