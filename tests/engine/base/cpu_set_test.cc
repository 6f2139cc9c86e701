#include "engine/base/cpu_set.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cosched {
namespace {

TEST(CpuSetTest, ParsesAndPrintsIntervals) {
  for (const char* text : {"", "0", "0-3", "0-3,5", "63-64", "1,3,5-7,127,4095"}) {
    const auto set = CpuSet::Parse(text);
    ASSERT_TRUE(set.has_value()) << text;
    EXPECT_EQ(set->ToString(), text);
  }
}

TEST(CpuSetTest, PrintsOneCanonicalForm) {
  EXPECT_EQ(CpuSet::Parse("3,2,1")->ToString(), "1-3");
  EXPECT_EQ(CpuSet::Parse("0-4,2-6")->ToString(), "0-6");
  EXPECT_EQ(CpuSet::Parse("7-7")->ToString(), "7");
  EXPECT_EQ(CpuSet::Parse("007")->ToString(), "7");
}

TEST(CpuSetTest, RejectsMalformedText) {
  for (const char* text : {",",
                           "1,",
                           ",1",
                           "1,,2",
                           "-",
                           "-1",
                           "1-",
                           "3-1",
                           "1-2-3",
                           " 1",
                           "1 ",
                           "1, 2",
                           "+1",
                           "0x1",
                           "a",
                           "1a",
                           "4096",
                           "0-4096",
                           "99999999999999999999",
                           "1;2",
                           "1.5",
                           "\n",
                           "1\n"}) {
    EXPECT_FALSE(CpuSet::Parse(text).has_value()) << '"' << text << '"';
  }
}

TEST(CpuSetTest, AddsAndRemoves) {
  CpuSet set;
  EXPECT_TRUE(set.Empty());
  EXPECT_EQ(set.First(), -1);
  set.Add(130);
  set.Add(2);
  set.Add(2);
  EXPECT_EQ(set.Count(), 2);
  EXPECT_EQ(set.First(), 2);
  EXPECT_EQ((CpuSet{64, 65}).First(), 64);
  EXPECT_EQ((CpuSet{4000, 200}).First(), 200);
  EXPECT_EQ(set.ToVector(), (std::vector<int>{2, 130}));
  set.Remove(130);
  set.Remove(4000);
  EXPECT_EQ(set, CpuSet{2});
  set.Remove(2);
  EXPECT_TRUE(set.Empty());
  EXPECT_EQ(set, CpuSet());
}

TEST(CpuSetTest, ContainsCpusAndSubsets) {
  const CpuSet set = CpuSet::Range(1, 70);
  EXPECT_TRUE(set.Contains(70));
  EXPECT_FALSE(set.Contains(0));
  EXPECT_FALSE(set.Contains(71));
  EXPECT_FALSE(set.Contains(-1));
  EXPECT_FALSE(set.Contains(100000));
  EXPECT_TRUE(set.Contains(CpuSet{1, 64}));
  EXPECT_TRUE(set.Contains(set));
  EXPECT_TRUE(set.Contains(CpuSet()));
  EXPECT_FALSE(set.Contains(CpuSet{1, 200}));
  EXPECT_FALSE(CpuSet().Contains(set));
}

TEST(CpuSetTest, IteratesInAscendingOrderAcrossEmptyWords) {
  const CpuSet set{0, 63, 64, 300, 4095};
  EXPECT_EQ(std::vector<int>(set.begin(), set.end()), (std::vector<int>{0, 63, 64, 300, 4095}));
  const CpuSet high{200};
  EXPECT_EQ(std::vector<int>(high.begin(), high.end()), std::vector<int>{200});
  EXPECT_EQ(CpuSet().begin(), CpuSet().end());
}

TEST(CpuSetTest, LowestStopsAtTheLastOne) {
  const CpuSet set{3, 70, 71};
  EXPECT_EQ(set.Lowest(2), (CpuSet{3, 70}));
  EXPECT_EQ(set.Lowest(9), set);
  EXPECT_TRUE(set.Lowest(0).Empty());
}

TEST(CpuSetTest, IntersectsWhereACpuIsInBoth) {
  EXPECT_TRUE((CpuSet{1, 200}).Intersects(CpuSet{200, 4000}));
  EXPECT_FALSE((CpuSet{1, 200}).Intersects(CpuSet{2, 201}));
  EXPECT_FALSE((CpuSet{1}).Intersects(CpuSet()));
}

TEST(CpuSetTest, RangeMayBeEmpty) {
  EXPECT_TRUE(CpuSet::Range(3, 2).Empty());
  EXPECT_EQ(CpuSet::Range(3, 3), CpuSet{3});
}

TEST(CpuSetTest, SetOperationsAgreeWithMembership) {
  const CpuSet a{0, 1, 63, 64, 200}, b{1, 64, 65};
  EXPECT_EQ(a | b, (CpuSet{0, 1, 63, 64, 65, 200}));
  EXPECT_EQ(b | a, a | b);
  EXPECT_EQ(a & b, (CpuSet{1, 64}));
  EXPECT_EQ(b & a, a & b);
  EXPECT_EQ(a - b, (CpuSet{0, 63, 200}));
  EXPECT_EQ(b - a, CpuSet{65});
  EXPECT_TRUE((a - a).Empty());
  EXPECT_EQ(a - a, CpuSet());  // No trailing words, or equality would fail.
  EXPECT_EQ(a & CpuSet(), CpuSet());
  EXPECT_EQ(a | CpuSet(), a);
}

}  // namespace
}  // namespace cosched
