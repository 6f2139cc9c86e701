#pragma once
// Where long ops are cut, so that a thread can leave, or an op be paused, about every 2 ms. Kernels
// ask when they are created. The cut is worked out from shapes, threads and the session's rates
// (engine/kernels/kernel_rates.h), never from a step's times: it decides in which
// order sums are taken, so results would change with it.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/kernels/kernel_rates.h"

namespace cosched {

inline constexpr std::chrono::microseconds kPieceTime{2000};

// What a part of an op has to do.
struct Work {
  double flops = 0, bytes = 0;

  // On one thread. Where an op is slower than the rates, its pieces last longer by that factor.
  double Seconds(const KernelRates& rates) const {
    return std::max(flops / rates.window_flops, bytes / rates.memory_bytes);
  }
};

// Less than this is not worth a second task: a thread takes longer to come than to do it. Further
// ones, of which each costs something and makes oneDNN's blocks smaller, are worth about the
// 100,000 cycles that Eigen's cost model, and so TensorFlow's, asks for each thread.
inline constexpr double kLeastTaskSeconds = 10e-6, kFurtherTaskSeconds = 40e-6;

// Into how many tasks an op is divided which takes one thread so many seconds, for at most
// `capacity` threads. By its work as well as by the capacity: each task costs something, also where
// one worker does them all: at a capacity of 64 ResNet-20 lost half its speed to tasks without
// bounds, and Inception v3 a seventh to those of 10 us.
inline int TasksOf(double seconds, int capacity) {
  if (seconds < kLeastTaskSeconds) return 1;
  const double worthwhile = std::max(std::ceil(seconds / kFurtherTaskSeconds), 2.0);
  return static_cast<int>(std::min<double>(worthwhile, std::max(capacity, 1)));
}

// The same of a filter's gradient. Each task has a sum of its own, or transposes images for itself,
// so further ones are worth four times as much: in 64 tasks instead of 16 ResNet-50's take one
// thread a tenth longer.
inline int TasksOfGradient(double seconds, int capacity) {
  return std::min(TasksOf(seconds, capacity), std::max(TasksOf(seconds / 4, capacity), 2));
}

// How long one thread may take for a piece; 0 microseconds: no cuts. Each of the `tasks` that a
// piece is divided into lasts a quarter of the piece time or more, as beginning and ending a loop
// on many workers costs some of it.
inline double PieceSeconds(std::chrono::microseconds piece_time, int tasks) {
  if (piece_time.count() <= 0) return std::numeric_limits<double>::infinity();
  return std::chrono::duration<double>(piece_time).count() * std::max(1.0, tasks / 4.0);
}

// `count` items in `parts` whose sizes differ by one at most, so that a primitive for each of two
// sizes is enough. The longer ones come first.
struct Division {
  int64_t count = 0, parts = 1;

  // As many items to a part as fit into `seconds`; at least `least` of them.
  static Division Of(int64_t count, double seconds_each, double seconds, int64_t least = 1) {
    const double fitting = std::floor(seconds / seconds_each);
    if (fitting >= static_cast<double>(count)) return {count, 1};
    const int64_t size = std::max(static_cast<int64_t>(fitting), least);
    return {count, std::max<int64_t>(least > 1 ? count / size : (count + size - 1) / size, 1)};
  }
  int64_t Begin(int64_t part) const {
    return part * (count / parts) + std::min(part, count % parts);
  }
  int64_t Size(int64_t part) const { return Begin(part + 1) - Begin(part); }
};

}  // namespace cosched
