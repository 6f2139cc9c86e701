#include "policies/queue_order.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

JobView Job(int64_t id, JobState state, int priority, double started) {
  JobView job;
  job.id = {id};
  job.state = state;
  job.priority = priority;
  if (state != JobState::kWaiting) job.started = TimePoint(FromSeconds(started));
  return job;
}

std::vector<int64_t> Ids(const std::vector<const JobView*>& jobs) {
  std::vector<int64_t> ids;
  for (const JobView* job : jobs) ids.push_back(job->id.value);
  return ids;
}

TEST(QueueOrder, RunningJobsAreSortedByTheirStart) {
  MachineView view;
  view.jobs = {Job(1, JobState::kRunning, 0, 9), Job(2, JobState::kPaused, 0, 1),
               Job(3, JobState::kRunning, 0, 4), Job(4, JobState::kRunning, 0, 4),
               Job(5, JobState::kWaiting, 0, 0)};
  EXPECT_EQ(Ids(RunningJobs(view)), (std::vector<int64_t>{3, 4, 1}));
}

TEST(QueueOrder, WaitingJobsAreSortedBySubmissionOrPriority) {
  MachineView view;
  view.jobs = {Job(1, JobState::kWaiting, 0, 0), Job(2, JobState::kWaiting, 3, 0),
               Job(3, JobState::kRunning, 9, 1), Job(4, JobState::kWaiting, 3, 0)};
  EXPECT_EQ(Ids(WaitingJobs(view, QueueOrder::kFcfs)), (std::vector<int64_t>{1, 2, 4}));
  EXPECT_EQ(Ids(WaitingJobs(view, QueueOrder::kPriority)), (std::vector<int64_t>{2, 4, 1}));
}

}  // namespace
}  // namespace cosched
