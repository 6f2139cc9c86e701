#include "policies/job_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "engine/base/random.h"

namespace cosched {
namespace {

JobView MakeView(int64_t id, JobState state, int priority = 0, double started = 0,
                 int preferred = 1) {
  JobView job;
  job.id = {id};
  job.state = state;
  job.priority = priority;
  job.request = {1, preferred, preferred};
  if (state != JobState::kWaiting) job.started = TimePoint(FromSeconds(started));
  return job;
}

template <typename Jobs>
std::vector<int64_t> Ids(const Jobs& jobs) {
  std::vector<int64_t> ids;
  for (const JobView& job : jobs) ids.push_back(job.id.value);
  return ids;
}

using Numbers = std::vector<int64_t>;

TEST(JobTable, RunningJobsAreInOrderOfTheirStart) {
  const JobTable jobs = {MakeView(1, JobState::kRunning, 0, 9),
                         MakeView(2, JobState::kPaused, 0, 1),
                         MakeView(3, JobState::kRunning, 0, 4),
                         MakeView(4, JobState::kRunning, 0, 4), MakeView(5, JobState::kWaiting)};
  EXPECT_EQ(Ids(jobs.Running()), (Numbers{3, 4, 1}));
  EXPECT_EQ(Ids(jobs.Paused()), (Numbers{2}));
  EXPECT_EQ(Ids(jobs), (Numbers{1, 2, 3, 4, 5}));
}

TEST(JobTable, WaitingJobsAreInOrderOfSubmissionOrPriority) {
  const JobTable jobs = {MakeView(1, JobState::kWaiting), MakeView(2, JobState::kWaiting, 3),
                         MakeView(3, JobState::kRunning, 9, 1), MakeView(4, JobState::kWaiting, 3)};
  EXPECT_EQ(Ids(jobs.Waiting(QueueOrder::kFcfs)), (Numbers{1, 2, 4}));
  EXPECT_EQ(Ids(jobs.Waiting(QueueOrder::kPriority)), (Numbers{2, 4, 1}));
}

TEST(JobTable, NextAskingAtMostSkipsTheLargeOnes) {
  const JobTable jobs = {
      MakeView(1, JobState::kWaiting, 0, 0, 8), MakeView(2, JobState::kWaiting, 0, 0, 2),
      MakeView(3, JobState::kWaiting, 1, 0, 4), MakeView(4, JobState::kWaiting, 0, 0, 1)};
  const auto next = [&](int cores, QueueOrder order, const JobView* after = nullptr) {
    const JobView* job = jobs.NextAskingAtMost(cores, order, after);
    return job ? job->id.value : -1;
  };
  EXPECT_EQ(next(8, QueueOrder::kFcfs), 1);
  EXPECT_EQ(next(7, QueueOrder::kFcfs), 2);
  EXPECT_EQ(next(1, QueueOrder::kFcfs), 4);
  EXPECT_EQ(next(0, QueueOrder::kFcfs), -1);
  EXPECT_EQ(next(8, QueueOrder::kPriority), 3);
  EXPECT_EQ(next(8, QueueOrder::kFcfs, jobs.Find({2})), 3);
  EXPECT_EQ(next(8, QueueOrder::kPriority, jobs.Find({3})), 1);
  EXPECT_EQ(next(8, QueueOrder::kFcfs, jobs.Find({4})), -1);
}

TEST(JobTable, HeldCoresFollowRunningJobsAlsoWhereTheyOverlap) {
  JobTable jobs = {MakeView(1, JobState::kWaiting), MakeView(2, JobState::kWaiting)};
  const auto run = [&](int64_t id, CpuSet cores) {
    jobs.Update({id}, [&](JobView& job) {
      job.state = JobState::kRunning;
      job.started = TimePoint();
      job.cores = cores;
    });
  };
  run(1, {0, 1});
  run(2, {1, 2});
  EXPECT_EQ(jobs.Held(), CpuSet({0, 1, 2}));
  run(1, {3});
  EXPECT_EQ(jobs.Held(), CpuSet({1, 2, 3}));
  jobs.Remove({2});
  EXPECT_EQ(jobs.Held(), CpuSet({3}));
}

TEST(JobTable, CopiesAreDeep) {
  JobTable jobs = {MakeView(1, JobState::kWaiting), MakeView(2, JobState::kWaiting)};
  const JobTable copy = jobs;
  jobs.Remove({1});
  EXPECT_EQ(Ids(copy), (Numbers{1, 2}));
  EXPECT_EQ(Ids(copy.Waiting()), (Numbers{1, 2}));
  EXPECT_NE(copy.Find({2}), jobs.Find({2}));
}

// Against a plain vector that is filtered and sorted anew each time.
TEST(JobTable, AgreesWithAVectorAfterRandomChanges) {
  Random random(3);
  JobTable jobs;
  std::vector<JobView> plain;
  for (int64_t step = 0; step < 500; ++step) {
    const uint64_t kind = plain.empty() ? 0 : random.Below(4);
    const size_t at = plain.empty() ? 0 : random.Below(plain.size());
    if (kind <= 1) {
      plain.push_back(MakeView(step, JobState::kWaiting, static_cast<int>(random.Below(3))));
      jobs.Add(plain.back());
    } else if (kind == 2) {
      plain[at].state = static_cast<JobState>(random.Below(3));
      plain[at].started = TimePoint(Duration(random.Below(5)));
      jobs.Update(plain[at].id, [&](JobView& job) { job = plain[at]; });
    } else {
      jobs.Remove(plain[at].id);
      plain.erase(plain.begin() + static_cast<std::ptrdiff_t>(at));
    }
    std::vector<JobView> waiting, running;
    for (const JobView& job : plain) {
      if (job.state == JobState::kWaiting) waiting.push_back(job);
      if (job.state == JobState::kRunning) running.push_back(job);
    }
    std::ranges::stable_sort(waiting, std::greater(), &JobView::priority);
    std::ranges::stable_sort(running, std::less(), &JobView::started);
    ASSERT_EQ(Ids(jobs), Ids(plain));
    ASSERT_EQ(Ids(jobs.Waiting(QueueOrder::kPriority)), Ids(waiting));
    ASSERT_EQ(Ids(jobs.Running()), Ids(running));
  }
}

}  // namespace
}  // namespace cosched
