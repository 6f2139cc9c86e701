#include "traces/job_trace.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cosched {
namespace {

JobArrival At(int ms, const std::string& workload) {
  JobArrival job;
  job.time = std::chrono::milliseconds(ms);
  job.workload = workload;
  return job;
}

TEST(JobTrace, HoldsEveryJobAsItWasAdded) {
  std::vector<JobArrival> jobs = {At(0, "a"), At(0, "b"), At(5, "a"), At(7, "a")};
  jobs[1].cores_min = 1;
  jobs[1].cores_preferred = 2;
  jobs[1].cores_max = 3;
  jobs[2].priority = -4;
  jobs[2].elasticity = Elasticity::kRigid;
  jobs[3].steps = 9;
  const JobTrace trace(jobs);
  ASSERT_EQ(trace.size(), jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(trace[i], jobs[i]) << i;
    EXPECT_EQ(trace.Time(i), jobs[i].time) << i;
  }
  EXPECT_EQ(trace.back(), jobs.back());
  EXPECT_EQ(std::vector<JobArrival>(trace.begin(), trace.end()), jobs);
  EXPECT_TRUE(JobTrace().empty());
}

// More that differ than are looked through when a job is added.
TEST(JobTrace, JobsMayAllDiffer) {
  std::vector<JobArrival> jobs;
  for (int i = 0; i < 1000; ++i) {
    jobs.push_back(At(i, "a"));
    jobs.back().steps = i % 300;
  }
  const JobTrace trace(jobs);
  for (size_t i = 0; i < jobs.size(); ++i) ASSERT_EQ(trace[i], jobs[i]) << i;
}

}  // namespace
}  // namespace cosched
