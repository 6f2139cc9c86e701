#include "traces/job_trace.h"

#include <algorithm>
#include <utility>

namespace cosched {
namespace {

// A file whose jobs have all something of their own costs no more than so many looks a job.
constexpr size_t kMostLooks = 64;

}  // namespace

JobTrace::JobTrace(const std::vector<JobArrival>& jobs) {
  Reserve(jobs.size());
  for (const JobArrival& job : jobs) Add(job);
}

void JobTrace::Reserve(size_t jobs) {
  times_.reserve(jobs);
  kind_of_.reserve(jobs);
}

void JobTrace::Add(const JobArrival& job) {
  kind_of_.push_back(KindOf(job));
  times_.push_back(job.time);
}

uint32_t JobTrace::KindOf(const JobArrival& job) {
  JobArrival kind = job;
  kind.time = Duration(0);
  const size_t end = kinds_.size();
  for (size_t i = end; i > end - std::min(end, kMostLooks); --i) {
    if (kinds_[i - 1] == kind) return static_cast<uint32_t>(i - 1);
  }
  kinds_.push_back(std::move(kind));
  return static_cast<uint32_t>(end);
}

}  // namespace cosched
