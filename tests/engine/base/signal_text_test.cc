#include "engine/base/signal_text.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace cosched {
namespace {

TEST(SignalTextTest, HasANumberAndANameWhereThereIsOne) {
  EXPECT_EQ(SignalText(SIGKILL), "signal 9 (Killed)");
  EXPECT_EQ(SignalText(SIGRTMIN), "signal " + std::to_string(SIGRTMIN));
}

}  // namespace
}  // namespace cosched
