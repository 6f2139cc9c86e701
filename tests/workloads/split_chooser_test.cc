// split = "auto" with a fake measurer: how near its choice comes to the best split, what it does
// not try, and that it looks again when the grant changes.

#include "workloads/split_chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "engine/base/random.h"

namespace cosched {
namespace {

using StepSeconds = std::function<double(Split)>;

// Steps until the choice is made. Returns how many.
int Settle(SplitChooser* chooser, int cores, const StepSeconds& step) {
  for (int steps = 0;; ++steps) {
    const Split split = chooser->Next(cores);
    if (chooser->Settled()) return steps;
    EXPECT_LT(steps, 5000);
    if (steps == 5000) return steps;
    chooser->Note(step(split));
  }
}

// A graph of so many branches, each with a part that only one thread can do.
double Branches(Split split, int cores, double branches, double serial) {
  const double at_once = std::min<double>(split.inter, branches);
  const double threads = std::min<double>(split.intra, cores / at_once);
  return (serial + (1 - serial) / threads) / at_once + 0.01 * (split.intra - 1);
}

TEST(SplitChooserTest, IsWithinThreePercentOfTheBestUnderNoise) {
  for (const int cores : {2, 4, 16}) {
    for (const double branches : {1.0, 2.0, 4.0}) {
      for (const double serial : {0.0, 0.1, 0.4}) {
        for (const double scale : {0.0005, 0.01, 1.0}) {  // A step: 0.5 ms to a second.
          const StepSeconds exact = [&](Split split) {
            return scale * Branches(split, cores, branches, serial);
          };
          double best = 1e9;
          for (int inter : PowersUpTo(cores)) {
            for (int intra : PowersUpTo(cores)) best = std::min(best, exact({inter, intra}));
          }
          Random random(7);
          SplitChooser chooser(branches, {cores, cores});
          Settle(&chooser, cores, [&](Split split) {
            const bool hit = random.Uniform() < 0.1;  // A neighbour takes a core for a while.
            return exact(split) * (1 + 0.01 * random.Uniform() + (hit ? 0.5 : 0));
          });
          EXPECT_LE(exact(chooser.Chosen()), best * 1.03)
              << cores << " cores, " << branches << " branches, " << serial << " serial, "
              << chooser.Chosen().inter << "x" << chooser.Chosen().intra;
        }
      }
    }
  }
}

TEST(SplitChooserTest, AChainIsNeverGivenTwoInterOpThreads) {
  SplitChooser chooser(1.0, {8, 8});
  std::set<int> inters;
  Settle(&chooser, 8, [&](Split split) {
    inters.insert(split.inter);
    return 1.0 / split.intra;
  });
  EXPECT_EQ(inters, std::set<int>{1});
  EXPECT_EQ(chooser.Chosen(), (Split{1, 8}));
}

TEST(SplitChooserTest, OpenRequestsAreSearchedWithTheSplit) {
  SplitChooser chooser(2.0, {2, 2}, /*most_open=*/6);
  std::set<int> tried;
  for (int steps = 0; steps < 5000; ++steps) {
    const Split split = chooser.Next(2);
    if (chooser.Settled()) break;
    tried.insert(chooser.Open());
    // Three stages that wait, each for half of the time if its call has a helper.
    chooser.Note(0.1 / std::min(chooser.Open(), 3) / (split == Split{1, 2} ? 2 : 1));
  }
  EXPECT_EQ(tried, (std::set<int>{1, 2, 4, 6}));
  ASSERT_TRUE(chooser.Settled());
  EXPECT_EQ(chooser.Chosen(), (Split{1, 2}));
  EXPECT_EQ(chooser.Open(), 4);  // As fast as 6, and fewer.
}

TEST(SplitChooserTest, OneCoreNeedsNoSearch) {
  SplitChooser chooser(4.0, {8, 8});
  EXPECT_EQ(chooser.Next(1), (Split{1, 1}));
  EXPECT_TRUE(chooser.Settled());
}

TEST(SplitChooserTest, StaysWithinTheCapacity) {
  SplitChooser chooser(4.0, {2, 3});
  Settle(&chooser, 8, [](Split split) {
    EXPECT_LE(split.inter, 2);
    EXPECT_LE(split.intra, 3);
    return 1.0;
  });
}

TEST(SplitChooserTest, AnotherGrantIsAnotherSearch) {
  // Two branches; a third thread at one node is of no use.
  const auto step = [](int cores) {
    return [cores](Split split) {
      const int threads = std::min(cores, split.inter * std::min(split.intra, 2));
      return 1.0 / threads + 0.001 * split.inter;
    };
  };
  SplitChooser chooser(2.0, {4, 4});
  Settle(&chooser, 2, step(2));
  EXPECT_EQ(chooser.Chosen().inter, 1);
  EXPECT_EQ(chooser.Next(4), (Split{1, 4}));
  EXPECT_FALSE(chooser.Settled());
  Settle(&chooser, 4, step(4));
  EXPECT_EQ(chooser.Chosen().inter, 2);
  const Split chosen = chooser.Chosen();
  EXPECT_EQ(chooser.Next(4), chosen);  // The same number: no search.
  EXPECT_TRUE(chooser.Settled());
}

TEST(SplitChooserTest, OneDisturbedStepDoesNotDecide) {
  SplitChooser chooser(1.0, {2, 2});
  int steps = 0;
  Settle(&chooser, 2, [&](Split split) {
    const double usual = split.intra == 2 ? 0.1 : 0.11;
    return ++steps == 7 ? 10 * usual : usual;
  });
  EXPECT_EQ(chooser.Chosen(), (Split{1, 2}));
}

}  // namespace
}  // namespace cosched
