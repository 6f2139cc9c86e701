// The search of split = "auto" of a pipeline, on answers that a test makes up.

#include "workloads/pipelines/pipeline_chooser.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

namespace cosched {
namespace {

using Arrangement = PipelineChooser::Arrangement;

const CpuSet kOneCore{0};

class PipelineChooserTest : public testing::Test {
 protected:
  // A request that was inside for so long has an answer, so long after the one before.
  bool Answer(double inside_s, double apart_s, bool failed = false) {
    now_ += FromSeconds(apart_s);
    return Tell({.admitted = now_ - FromSeconds(inside_s), .ended = now_, .failed = failed});
  }
  bool Tell(const PipelineChooser::Answer& answer) {
    const std::optional<Arrangement> next = chooser_.Answered(answer, cores_, has_, now_);
    if (next) has_ = *next;
    return next.has_value();
  }
  // So far apart are the answers with so many open requests. What it has chosen.
  int Chosen(const std::function<double(int open)>& apart_s) {
    for (int answers = 0; answers < 5000; ++answers) {
      const int open = has_.open;
      Answer(open * apart_s(open), apart_s(open));
      if (chooser_.Settled()) return has_.open;
    }
    ADD_FAILURE() << "it never chooses";
    return 0;
  }

  TimePoint now_;
  CpuSet cores_ = kOneCore;
  PipelineChooser chooser_{{1, 1}, 4};
  Arrangement has_{{1, 1}, 4};
};

TEST_F(PipelineChooserTest, ChoosesWhatAnswersMostOften) {
  EXPECT_EQ(Chosen([](int open) { return 0.1 / open; }), 4);
}

TEST_F(PipelineChooserTest, ChoosesFewWhereMoreOnlyWaitForEachOther) {
  EXPECT_EQ(Chosen([](int open) { return 0.1 * open; }), 1);
}

TEST_F(PipelineChooserTest, AnswersThatComeTogetherCountAsAWhole) {
  for (int rounds = 0; rounds < 1000 && (rounds == 0 || !chooser_.Settled()); ++rounds) {
    const int open = has_.open;
    for (int i = 0; i < open; ++i) Answer(0.1, i == 0 ? 0.1 : 0);
  }
  EXPECT_EQ(has_.open, 4);
}

TEST_F(PipelineChooserTest, BeginsWithTheFirstThatItTriesAndTriesOthersAfterItsAnswers) {
  EXPECT_TRUE(Answer(0.1, 0.1));
  EXPECT_EQ(has_, (Arrangement{{1, 1}, 1}));
  // One that begins a step, and one that is it, which was long enough.
  EXPECT_FALSE(Answer(0.05, 0.1));
  EXPECT_TRUE(Answer(0.05, 0.1));
  EXPECT_EQ(has_, (Arrangement{{1, 1}, 2}));
}

TEST_F(PipelineChooserTest, WhatFailedOrWasAdmittedBeforeOrInAPauseTellsNothing) {
  Answer(0.1, 0.1);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(Answer(0.05, 0.1, /*failed=*/true));
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(Tell({.admitted = TimePoint(), .ended = now_})) << "from before";
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(Answer(0.05, 0.1));
    chooser_.Paused();
  }
  Answer(0.05, 0.1);
  EXPECT_TRUE(Answer(0.05, 0.1));
}

TEST_F(PipelineChooserTest, WhatOthersAskForDoesNotLastAndOtherCoresAreAnotherSearch) {
  EXPECT_EQ(Chosen([](int open) { return 0.1 / open; }), 4);
  EXPECT_FALSE(Answer(0.1, 0.1));
  has_.open = 2;
  EXPECT_TRUE(Answer(0.1, 0.1));
  EXPECT_EQ(has_.open, 4);
  has_.split = {2, 2};
  EXPECT_TRUE(Answer(0.1, 0.1));
  EXPECT_EQ(has_.split, (Split{1, 1})) << "more than its capacity";
  cores_ = CpuSet{0, 1};
  EXPECT_TRUE(Answer(0.1, 0.1));
  EXPECT_EQ(has_.open, 1) << "it begins anew";
}

}  // namespace
}  // namespace cosched
