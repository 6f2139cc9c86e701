#include "experiments/tenant/step_meter.h"

#include <algorithm>

namespace cosched {
namespace {

constexpr std::chrono::seconds kWindow{1};

double Seconds(StepMeter::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void StepMeter::Add(Clock::time_point start, Clock::time_point end, int images) {
  const std::lock_guard<std::mutex> lock(mutex_);
  steps_.push_back({start, end, images});
  while (steps_.front().end <= end - kWindow) steps_.pop_front();
  ++count_;
  images_ += images;
}

StepMeter::Reading StepMeter::Read(Clock::time_point now) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  Reading reading{count_, images_, 0};
  if (steps_.empty()) return reading;
  const Clock::time_point end = steps_.back().end;
  if (now - end > kWindow + (end - steps_.back().start)) return reading;
  // A young tenant has not run for a whole second yet.
  const Clock::time_point begin = std::max(end - kWindow, steps_.front().start);
  for (const Step& step : steps_) {
    const double inside = Seconds(step.end - std::max(step.start, begin));
    const double length = Seconds(step.end - step.start);
    reading.images_per_second += step.images * (length > 0 ? inside / length : 1);
  }
  const double window = Seconds(end - begin);
  reading.images_per_second = window > 0 ? reading.images_per_second / window : 0;
  return reading;
}

}  // namespace cosched
