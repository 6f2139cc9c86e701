#include "experiments/analysis/decision_diff.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

class DecisionDiffTest : public testing::Test {
 protected:
  // A cell in which jobs 0 and 1 (both cnn) do a step every second.
  std::filesystem::path Cell(const std::string& name, const std::string& decisions) {
    const std::filesystem::path cell = folder_.path() / name;
    WriteText(cell / "decisions.csv",
              "time,decision,event,allocation,decision_us,settle_us\n" + decisions);
    WriteText(cell / "jobs.csv", "job_id,workload\n0,cnn\n1,cnn\n");
    WriteText(cell / "steps.csv", "job_id,step,time\n0,0,1.0\n0,1,2.0\n0,2,3.0\n1,0,3.0\n");
    return cell;
  }

  const TemporaryFolder folder_;
};

// Rows are in order of settling, as the records write them; what changed nothing and when it was
// decided is no difference.
TEST_F(DecisionDiffTest, AlikeToTheEnd) {
  const auto a = Cell("a",
                      "1.0,1,job-arrived 1,,3,\n0.0,0,job-arrived 0,0=0-1,3,\n"
                      "4.0,2,job-finished 0,1=0,3,\n");
  const auto b = Cell("b",
                      "0.1,0,job-arrived 0,0=0-1,9,\n1.1,1,job-arrived 1,,3,\n"
                      "1.2,2,grant-settled 0,,3,\n4.5,3,job-finished 0,1=0,3,\n");
  EXPECT_FALSE(FindFirstDifference(a, b).has_value());
}

TEST_F(DecisionDiffTest, TheFirstDifferenceWithBothViews) {
  const auto a = Cell("a", "0.0,0,job-arrived 0,0=0-1,3,\n2.5,1,job-arrived 1,0=0 1=1,3,\n");
  const auto b = Cell("b", "0.0,0,job-arrived 0,0=0-1,3,\n3.5,1,job-arrived 1,1=1,3,\n");
  const auto diff = FindFirstDifference(a, b);
  ASSERT_TRUE(diff.has_value());
  EXPECT_EQ(diff->same, 1);
  EXPECT_EQ(diff->a.decision->allocation, "0=0 1=1");
  EXPECT_EQ(diff->b.decision->allocation, "1=1");
  // Before the decision: job 0 has both cores, job 1 has come and waits.
  EXPECT_EQ(diff->a.jobs.at(0).cores, "0-1");
  EXPECT_EQ(diff->a.jobs.at(0).steps, 2);
  EXPECT_EQ(diff->b.jobs.at(0).steps, 3);
  EXPECT_EQ(diff->a.jobs.at(1).cores, "");
  const std::string text = DiffText(*diff, "hardware", "simulated");
  EXPECT_NE(text.find("the first 1 decisions are alike"), std::string::npos) << text;
  EXPECT_NE(text.find("cnn, cores 0-1, 2 steps done"), std::string::npos) << text;
  EXPECT_NE(text.find("cnn, waits, 1 steps done"), std::string::npos) << text;
}

TEST_F(DecisionDiffTest, OneSideThatDecidesNothingMore) {
  const auto a = Cell("a", "0.0,0,job-arrived 0,0=pause,3,\n1.0,1,job-arrived 1,1=0,3,\n");
  const auto b = Cell("b", "0.0,0,job-arrived 0,0=pause,3,\n");
  const auto diff = FindFirstDifference(a, b);
  ASSERT_TRUE(diff.has_value());
  EXPECT_FALSE(diff->b.decision.has_value());
  EXPECT_EQ(diff->a.jobs.at(0).cores, "pause");
  EXPECT_NE(DiffText(*diff, "a", "b").find("decided    1=0"), std::string::npos);
}

TEST_F(DecisionDiffTest, EndedAndRejectedJobsAreOutOfTheView) {
  const auto a = Cell("a",
                      "0.0,0,job-arrived 0,0=reject,3,\n1.0,1,job-arrived 1,1=0,3,\n"
                      "2.0,2,job-finished 1,,3,\n2.5,3,tick,7=0,3,\n");
  const auto b = Cell("b", "0.0,0,job-arrived 0,0=reject,3,\n1.0,1,job-arrived 1,1=0,3,\n");
  const auto diff = FindFirstDifference(a, b);
  ASSERT_TRUE(diff.has_value());
  EXPECT_TRUE(diff->a.jobs.empty());
  EXPECT_EQ(diff->b.jobs.size(), 1U);
}

TEST_F(DecisionDiffTest, AFolderWithoutRecordsIsRefused) {
  const auto a = Cell("a", "");
  EXPECT_THROW(FindFirstDifference(a, folder_.path() / "nothing"), InputError);
}

}  // namespace
}  // namespace cosched
