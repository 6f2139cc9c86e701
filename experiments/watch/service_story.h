#pragma once
// What is recorded of one service of a cell: part of CellStory. One thread.

#include <optional>
#include <string>
#include <vector>

#include "experiments/records/live_records.h"
#include "experiments/records/rows.h"
#include "experiments/watch/cell_moment.h"

namespace cosched {

// Rates and means are of that many seconds.
inline constexpr double kSpeedWindow_s = 2;

// How many of these, which ascend, have come by then.
size_t CountUntil(const std::vector<double>& times, double until);
// Rows come nearly by time.
void InsertByTime(double time, std::vector<double>* times);

class ServiceStory {
 public:
  // Returns when the request was over; of a dropped one that is about when.
  double Add(const RequestRow& row);
  void Add(const QueueRow& row);
  // whole: no row of a request is missing.
  ServiceMoment At(double time, bool whole) const;

 private:
  struct QueueSample {
    double time = 0;
    int64_t queued = 0, in_flight = 0;
  };
  struct Answer {
    double time = 0, response_s = 0;
  };

  std::vector<double> sent_, left_queue_, given_, taken_back_;  // By servers: given and taken back.
  std::vector<Answer> answers_;
  std::vector<double> drops_;
  std::vector<QueueSample> queues_;
  double latest_ = 0;  // That a request was over.
};

}  // namespace cosched
