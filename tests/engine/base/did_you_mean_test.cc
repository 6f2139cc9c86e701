#include "engine/base/did_you_mean.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

constexpr const char* kPolicies = "strict, always-attend, max-prop, no-control, sjf, srpt";

TEST(DidYouMeanTest, NamesTheOneThatIsMostAlike) {
  EXPECT_EQ(DidYouMean("strcit", kPolicies), ", did you mean \"strict\"?");
  EXPECT_EQ(DidYouMean("always_attend", kPolicies), ", did you mean \"always-attend\"?");
  EXPECT_EQ(DidYouMean("maxprop", kPolicies), ", did you mean \"max-prop\"?");
  EXPECT_EQ(DidYouMean("sjff", kPolicies), ", did you mean \"sjf\"?");
  EXPECT_EQ(DidYouMean("srp", kPolicies), ", did you mean \"srpt\"?");
}

TEST(DidYouMeanTest, TwoNeighboursExchangedAreOneEdit) {
  EXPECT_EQ(DidYouMean("rnu", "compare, run"), ", did you mean \"run\"?");
  EXPECT_EQ(DidYouMean("ct", "tc"), "") << "of two characters both are wrong";
}

TEST(DidYouMeanTest, SaysNothingOfWhatIsLikeNone) {
  EXPECT_EQ(DidYouMean("gang", kPolicies), "");
  EXPECT_EQ(DidYouMean("", kPolicies), "");
  EXPECT_EQ(DidYouMean("strict", ""), "");
  EXPECT_EQ(DidYouMean("strict", "strict"), "") << "it is known";
}

}  // namespace
}  // namespace cosched
