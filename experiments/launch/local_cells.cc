#include "experiments/launch/local_cells.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "engine/base/thread_start.h"
#include "experiments/launch/progress.h"
#include "experiments/os/interrupt.h"
#include "experiments/os/this_binary.h"

namespace cosched {
namespace {

// Hands out cells to threads, in their order, and sums up what becomes of them.
class Workers {
 public:
  Workers(const Sweep& sweep, const std::vector<SweepCell>& cells, const LocalCellsOptions& options)
      : sweep_(sweep),
        cells_(cells),
        options_(options),
        progress_(Planned(sweep, options) - cells.size(), Planned(sweep, options)) {}

  HarnessResult Run(int threads) {
    if (threads <= 1) {
      Work();
    } else {
      std::vector<std::jthread> workers;
      try {
        while (static_cast<int>(workers.size()) < threads) workers.emplace_back([this] { Work(); });
      } catch (const std::system_error& error) {
        const std::string what = "only " + std::to_string(workers.size()) + " of the " +
                                 std::to_string(threads) + " simulating threads can be started";
        std::fprintf(stderr, "%s\n", ThreadError(what, error).what());
        if (workers.empty()) Work();
      }
    }
    if (failure_) std::rethrow_exception(failure_);
    return sum_;
  }

 private:
  static size_t Planned(const Sweep& sweep, const LocalCellsOptions& options) {
    return options.planned > 0 ? options.planned : sweep.cells.size();
  }
  bool Stopped() const { return stop_ || Interrupted(); }

  void Work() {
    while (next_ < cells_.size()) {
      if (Stopped()) {
        const std::lock_guard lock(mutex_);
        sum_.interrupted = true;
        return;
      }
      const size_t index = next_++;
      if (index >= cells_.size()) return;
      try {
        Add(RunOne(cells_[index]));
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        stop_ = true;
      }
    }
  }

  HarnessResult RunOne(const SweepCell& cell) {
    const SweepPoint& point = sweep_.points[cell.point];
    ProgressLine::Cell progress(&progress_, point.name);
    return RunCells(point.config, point.plan, {cell.key},
                    {.run = PointFolder(options_.run, point),
                     .topology = *point.config.topology,
                     .hosts = HostsOf(ThisBinary(), options_.topology, point.config,
                                      options_.run.filename().string()),
                     .interrupted = [this] { return Stopped(); },
                     .progress = &progress,
                     .make_policy = options_.make_policy,
                     .marks = options_.marks});
  }

  void Add(const HarnessResult& one) {
    const std::lock_guard lock(mutex_);
    sum_.done += one.done;
    sum_.failed += one.failed;
    sum_.with_failures += one.with_failures;
    sum_.interrupted = sum_.interrupted || one.interrupted;
  }

  const Sweep& sweep_;
  const std::vector<SweepCell>& cells_;
  const LocalCellsOptions& options_;
  ProgressLine progress_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;  // Guards those below.
  HarnessResult sum_;
  std::exception_ptr failure_;
};

}  // namespace

bool AllSimulated(const Sweep& sweep) {
  return std::all_of(sweep.points.begin(), sweep.points.end(), [](const SweepPoint& point) {
    return point.config.backend == Backend::kSimulated;
  });
}

HarnessResult RunLocally(const Sweep& sweep, const std::vector<SweepCell>& cells,
                         const LocalCellsOptions& options) {
  const int wanted = options.at_a_time > 0 ? options.at_a_time
                                           : static_cast<int>(std::thread::hardware_concurrency());
  const int threads = AllSimulated(sweep) ? std::min(wanted, static_cast<int>(cells.size())) : 1;
  return Workers(sweep, cells, options).Run(threads);
}

}  // namespace cosched
