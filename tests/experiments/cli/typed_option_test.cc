#include "experiments/cli/typed_option.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"

namespace cosched {
namespace {

enum class Fruit { kApple, kPear, kPlum };

class TypedOptionTest : public testing::Test {
 protected:
  // What is said of these arguments; "" if they are accepted.
  std::string Complaint(const std::string& arguments) {
    try {
      app_.parse(arguments);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  CLI::App app_;
};

TEST_F(TypedOptionTest, NumbersAreDecimalWholeAndWithinTheirBounds) {
  int count = 5;
  AddNumber(&app_, "--count", &count, 1, 40, "");
  EXPECT_EQ(Complaint(""), "");
  EXPECT_EQ(count, 5);
  EXPECT_EQ(Complaint("--count 010"), "");
  EXPECT_EQ(count, 10);
  for (const std::string text :
       {"0", "41", "0x10", "1e1", "+1", "1 ", "1.0", "99999999999999999999"})
    EXPECT_EQ(Complaint("--count=\"" + text + "\""),
              "command line: --count: \"" + text + "\"; allowed: an integer from 1 to 40");
}

TEST_F(TypedOptionTest, FractionsAreNumbersAndNothingElse) {
  double share = 0.1;
  AddNumber(&app_, "--share", &share, 0.0, 1.0, "", "a share");
  EXPECT_EQ(Complaint("--share 0.3"), "");
  EXPECT_EQ(share, 0.3);
  for (const std::string text : {"nan", "inf", "-0.1", "1.1", "half"})
    EXPECT_EQ(Complaint("--share=" + text),
              "command line: --share: \"" + text + "\"; allowed: a share");
}

TEST_F(TypedOptionTest, SeveralNumbersAreCheckedOneByOne) {
  std::vector<int> counts;
  std::optional<int> most;
  AddNumber(&app_, "--count", &counts, 1, 9, "")->delimiter(',');
  AddNumber(&app_, "--most", &most, 1, 9, "");
  EXPECT_EQ(Complaint("--count 1,2"), "");
  EXPECT_EQ(counts, (std::vector<int>{1, 2}));
  EXPECT_EQ(most, std::nullopt);
  EXPECT_NE(Complaint("--count 1,x").find("\"x\""), std::string::npos);
  EXPECT_EQ(Complaint("--most 3"), "");
  EXPECT_EQ(most, 3);
}

TEST_F(TypedOptionTest, ChoicesGoByTheirNames) {
  Fruit fruit = Fruit::kPear;
  std::vector<Fruit> fruits;
  const NamedValues<Fruit> names = {
      {"apple", Fruit::kApple}, {"pear", Fruit::kPear}, {"plum", Fruit::kPlum}};
  AddChoice(&app_, "--fruit", &fruit, names, "");
  AddChoice<std::vector<Fruit>, Fruit>(&app_, "--fruits", &fruits, names, "");
  EXPECT_EQ(Complaint("--fruit plum --fruits apple pear"), "");
  EXPECT_EQ(fruit, Fruit::kPlum);
  EXPECT_EQ(fruits, (std::vector<Fruit>{Fruit::kApple, Fruit::kPear}));
  for (const std::string text : {"1", "Plum", "pea"})
    EXPECT_EQ(Complaint("--fruit " + text),
              "command line: --fruit: \"" + text + "\"; allowed: apple, pear or plum");
}

TEST_F(TypedOptionTest, HelpShowsWhatMayBeGivenAndTheDefault) {
  int count = 5;
  uint64_t seed = 1;
  Fruit fruit = Fruit::kPear;
  AddNumber(&app_, "--count", &count, 1, 40, "");
  AddNumber(&app_, "--seed", &seed, 0, std::numeric_limits<uint64_t>::max(), "");
  AddChoice(&app_, "--fruit", &fruit, {{"apple", Fruit::kApple}, {"pear", Fruit::kPear}}, "");
  for (const char* part : {"--count INT:1..40=5", "--seed UINT=1", "--fruit apple|pear=pear"})
    EXPECT_NE(app_.help().find(part), std::string::npos) << app_.help();
}

}  // namespace
}  // namespace cosched
