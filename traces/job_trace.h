#pragma once
// The jobs of an experiment's trace, in order of time. Made by generators and from the arrivals of
// a file, read by whoever turns arrivals into jobs. What jobs have in common is kept once, so that
// one of a few workloads takes 12 bytes: a trace may have ten million. Reading is thread-safe.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "traces/arrivals/job_arrival.h"

namespace cosched {

class JobTrace {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = JobArrival;
    using difference_type = std::ptrdiff_t;
    using pointer = const JobArrival*;
    using reference = JobArrival;

    Iterator() = default;
    Iterator(const JobTrace* trace, size_t at) : trace_(trace), at_(at) {}
    JobArrival operator*() const { return (*trace_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(trace_, at_++); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const JobTrace* trace_ = nullptr;
    size_t at_ = 0;
  };

  JobTrace() = default;
  explicit JobTrace(const std::vector<JobArrival>& jobs);

  void Reserve(size_t jobs);
  void Add(const JobArrival& job);  // REQUIRES: it comes no earlier than the last one.

  size_t size() const { return times_.size(); }
  bool empty() const { return times_.empty(); }
  Duration Time(size_t job) const { return times_[job]; }
  JobArrival operator[](size_t job) const {
    JobArrival arrival = kinds_[kind_of_[job]];
    arrival.time = times_[job];
    return arrival;
  }
  JobArrival back() const { return (*this)[size() - 1]; }  // REQUIRES: !empty().
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  uint32_t KindOf(const JobArrival& job);

  // By job.
  std::vector<Duration> times_;
  std::vector<uint32_t> kind_of_;
  std::vector<JobArrival> kinds_;  // All but the time, which is 0.
};

}  // namespace cosched
