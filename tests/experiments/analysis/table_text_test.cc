#include "experiments/analysis/table_text.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

TEST(BytesTextTest, HasTheUnitInWhichItIsRead) {
  EXPECT_EQ(BytesText(0), "0 kB");
  EXPECT_EQ(BytesText(345), "0.3 kB");
  EXPECT_EQ(BytesText(12'000), "12 kB");
  EXPECT_EQ(BytesText(1.23e6), "1.2 MB");
  EXPECT_EQ(BytesText(9e6), "9 MB");
  EXPECT_EQ(BytesText(999.9e6), "1 GB");
  EXPECT_EQ(BytesText(123.4e9), "123 GB");
}

}  // namespace
}  // namespace cosched
