// The search of credit-knee against pipelines whose answers a second are a formula of their open
// requests.

#include <gtest/gtest.h>

#include <functional>

#include "tests/policies/pipeline_machine.h"

namespace cosched {
namespace {

class CreditKneeTest : public testing::Test {
 protected:
  explicit CreditKneeTest(OpenRange open = {.at_start = 1, .most = 16})
      : machine_(kSixteenCores, "credit-knee", {{"explore_windows", "2"}, {"rest_windows", "3"}}) {
    machine_.AddPipeline(1, open);
  }

  int Open() const { return machine_.View(1).open_requests; }
  // A window in which requests waited to be admitted.
  int Saturated() {
    const int open = Open();
    machine_.Window(1) = {.answered = answers_(open), .in_flight = open + 5, .open = open};
    machine_.Over();
    return Open();
  }
  std::vector<int> Saturated(int windows) {
    std::vector<int> open;
    for (int i = 0; i < windows; ++i) open.push_back(Saturated());
    return open;
  }
  int Idle() {
    machine_.Window(1) = {.answered = 10, .in_flight = 1, .open = 1};
    machine_.Over();
    return Open();
  }

  PipelineMachine machine_;
  std::function<int64_t(int open)> answers_ = [](int open) { return 100 * std::min(open, 4); };
};

class FromEight : public CreditKneeTest {
 protected:
  FromEight() : CreditKneeTest({.at_start = 8, .most = 8}) {}
};

// The first window is of cores that are new, and after each step one belongs to nobody.
TEST_F(CreditKneeTest, ClimbsWhileOneMoreAnswersMore) {
  EXPECT_EQ(Saturated(15), (std::vector<int>{1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 4}));
}

TEST_F(CreditKneeTest, RestsAtTheKneeAndThenTriesAgain) {
  Saturated(15);
  // Nobody's, three of rest, two that measure 4, then its neighbours, and the knee.
  EXPECT_EQ(Saturated(12), (std::vector<int>{4, 4, 4, 4, 4, 5, 5, 5, 3, 3, 3, 4}));
}

TEST_F(CreditKneeTest, WhatHasChangedIsFoundWhenItTriesAgain) {
  Saturated(15);
  answers_ = [](int open) { return 100 * std::min(open, 6); };
  Saturated(30);
  EXPECT_EQ(Open(), 6);
}

TEST_F(FromEight, DescendsWhileOneLessAnswersAsMuch) {
  EXPECT_EQ(Saturated(18),
            (std::vector<int>{8, 8, 7, 7, 7, 6, 6, 6, 5, 5, 5, 4, 4, 4, 3, 3, 3, 4}));
}

TEST_F(CreditKneeTest, AFewMoreAnswersAreNotWorthARequest) {
  answers_ = [](int open) { return open < 4 ? 1000 * open : open == 4 ? 4000 : 4070; };
  Saturated(20);
  EXPECT_EQ(Open(), 4) << "1.7 % fewer than the best";
}

TEST_F(CreditKneeTest, MoreThanAFewAre) {
  answers_ = [](int open) { return open < 4 ? 1000 * open : open == 4 ? 4000 : 4090; };
  Saturated(20);
  EXPECT_EQ(Open(), 5) << "4 answer 2.2 % fewer than the best";
}

TEST_F(CreditKneeTest, WindowsInWhichNobodyWaitedSayNothing) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Idle(), 1);
  // At its end only, or at its begin only.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(i % 2 == 0 ? Saturated() : Idle(), 1);
  EXPECT_EQ(Saturated(3), (std::vector<int>{1, 1, 2}));
}

TEST_F(CreditKneeTest, WithoutAnAnswerNothingIsKnown) {
  answers_ = [](int) { return 0; };
  EXPECT_EQ(Saturated(10), std::vector<int>(10, 1));
  answers_ = [](int open) { return open; };
  EXPECT_EQ(Saturated(), 2);
}

TEST_F(CreditKneeTest, OnOtherCoresItBeginsAnew) {
  Saturated(15);
  answers_ = [](int open) { return 100 * std::min(open, 2); };
  machine_.AddJob(2);
  EXPECT_EQ(machine_.Counts(), "1=8 2=8");
  // The window with the change; 4, its neighbours, and down to the knee.
  EXPECT_EQ(Saturated(15), (std::vector<int>{4, 4, 5, 5, 5, 3, 3, 3, 2, 2, 2, 1, 1, 1, 2}));
}

TEST_F(CreditKneeTest, CoresAreThoseOfEqualShare) {
  machine_.AddJob(2);
  machine_.AddService(3);
  machine_.AddPipeline(4, {.at_start = 5, .most = 5});
  EXPECT_EQ(machine_.Counts(), "1=4 2=4 3=4 4=4");
  Saturated(40);
  EXPECT_EQ(machine_.Counts(), "1=4 2=4 3=4 4=4");
  EXPECT_EQ(machine_.View(4).open_requests, 5) << "nobody waited there";
  machine_.Finish(2);
  EXPECT_EQ(machine_.Counts(), "1=6 3=5 4=5");
}

}  // namespace
}  // namespace cosched
