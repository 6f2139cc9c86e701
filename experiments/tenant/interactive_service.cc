#include "experiments/tenant/interactive_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/random.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/interrupt.h"
#include "experiments/os/realtime.h"
#include "experiments/tenant/control_thread.h"
#include "experiments/tenant/interactive_steering.h"
#include "experiments/tenant/pool_threads.h"
#include "experiments/tenant/step_meter.h"
#include "traces/arrivals/request_arrival.h"
#include "workloads/inference_service.h"

namespace cosched {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLook{50};  // Between looks whether somebody wants an end.

double Milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

class InteractiveService {
 public:
  InteractiveService(const InteractiveServiceOptions& options, const Topology& topology)
      : options_(options),
        random_(Random(options.spec.seed).Derive("requests")),
        control_(ControlOptions(), UniqueFd(), nullptr, &meter_, topology),
        service_(SettingsOf(options, topology), [this](const ServedBatch& batch) { Note(batch); }) {
    control_.Attach(&threads_);
    service_.Pools().WaitSettled(Duration::max());
  }
  ~InteractiveService() { control_.Detach(); }
  InteractiveService(const InteractiveService&) = delete;
  InteractiveService& operator=(const InteractiveService&) = delete;

  void Run() {
    service_.Begin();
    begin_ = told_ = SteadyClock::now();
    SteadyClock::time_point due = begin_;
    while (asked_ < options_.requests) {
      due += std::chrono::duration_cast<SteadyClock::duration>(
          std::chrono::duration<double>(random_.Exponential(1 / options_.rate)));
      const std::chrono::duration<double> after = due - begin_;
      if (options_.seconds > 0 && after.count() > options_.seconds) break;
      if (!SleepUntil(due)) break;
      Ask(due);
    }
    service_.Drain();
    service_.WaitUntilOver();
  }

  std::string Summary();

 private:
  static ServiceSettings SettingsOf(const InteractiveServiceOptions& options,
                                    const Topology& topology) {
    ServiceSettings settings{options.spec};
    settings.max_delay = options.spec.max_delay;
    settings.weights_file = options.load_weights;
    settings.session = SteeredSession(options.threads, options.follow, topology);
    return settings;
  }

  ControlThreadOptions ControlOptions() {
    ControlThreadOptions control =
        SteeredThrough(options_.control, options_.follow, options_.cores);
    control.program = ServiceName(options_.spec);
    control.threads = control.capacity = options_.threads;
    control.on_resized = [](const ResizedMessage& resized) {
      fmt::print(stderr, "{} -> {} threads on cores {}, by {}, settled in {} us\n",
                 ToText(resized.before), ToText(resized.after), resized.cores.ToString(),
                 ToString(resized.cause), resized.time.count());
    };
    control.on_stop = [this] { stopped_ = true; };
    control.interrupted = [] { return Interrupted(); };
    if (!control.control.empty()) fmt::print(stderr, "{}\n", SteeringHint(options_.control));
    return control;
  }

  static std::string ToText(Split split) { return fmt::format("{}x{}", split.inter, split.intra); }
  bool Ends() const { return Interrupted() || stopped_; }

  // False if somebody wants an end before.
  bool SleepUntil(SteadyClock::time_point due) {
    while (true) {
      if (Ends()) return false;
      Tell();
      const SteadyClock::time_point now = SteadyClock::now();
      if (now >= due) return true;
      std::this_thread::sleep_until(std::min(due, now + kLook));
    }
  }

  void Ask(SteadyClock::time_point due) {
    const SteadyClock::time_point now = SteadyClock::now();
    longest_lag_ = std::max(longest_lag_, now - due);
    const ServiceQuery query{.number = static_cast<uint64_t>(asked_++), .received = now};
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      due_.push_back(due);
    }
    service_.Submit({&query, 1});
  }

  // On a lane's thread.
  void Note(const ServedBatch& batch) {
    const auto size = static_cast<int>(batch.queries.size());
    meter_.Add(batch.started, batch.finished, size);
    const std::lock_guard<std::mutex> lock(mutex_);
    last_answer_ = std::max(last_answer_, batch.finished);
    ++batches_;
    for (const ServiceQuery& query : batch.queries)
      latencies_.push_back(batch.finished - due_[query.number]);
  }

  // Once a second.
  void Tell() {
    const SteadyClock::time_point now = SteadyClock::now();
    if (now - told_ < std::chrono::seconds(1)) return;
    told_ = now;
    const StepMeter::Reading reading = meter_.Read(now);
    fmt::print(stderr, "{} of {} answered, {} wait, {:.0f} answered/s\n", reading.images, asked_,
               service_.Waiting(), reading.images_per_second);
  }

  const InteractiveServiceOptions& options_;
  StepMeter meter_;
  std::atomic<bool> stopped_ = false;
  Random random_;
  int64_t asked_ = 0;
  SteadyClock::time_point begin_, told_;
  SteadyClock::duration longest_lag_{0};
  std::mutex mutex_;                          // Guards these:
  std::vector<SteadyClock::time_point> due_;  // By number.
  std::vector<SteadyClock::duration> latencies_;
  int64_t batches_ = 0;
  SteadyClock::time_point last_answer_;
  ControlThread control_;  // After what its callbacks use.
  InferenceService service_;
  PoolThreads threads_{&service_.Pools()};
};

std::string InteractiveService::Summary() {
  std::string text =
      fmt::format("{}: {} requests answered", ServiceName(options_.spec), latencies_.size());
  if (latencies_.empty()) return text + "\n";
  std::sort(latencies_.begin(), latencies_.end());
  const auto percentile = [this](size_t percent) {  // Nearest rank.
    return Milliseconds(latencies_[(latencies_.size() * percent + 99) / 100 - 1]);
  };
  const auto count = static_cast<double>(latencies_.size());
  const double seconds = std::chrono::duration<double>(last_answer_ - begin_).count();
  text += fmt::format(
      ", {:.1f}/s, {:.2f} a batch\nlatency from when it was due: p50 {:.2f} ms, p95 {:.2f} ms, "
      "p99 {:.2f} ms, max {:.2f} ms\nrequests were made at most {:.2f} ms late\n",
      count / seconds, count / static_cast<double>(batches_), percentile(50), percentile(95),
      percentile(99), Milliseconds(latencies_.back()), Milliseconds(longest_lag_));
  if (longest_lag_ > kLateRequest) {
    text += fmt::format("warning: the generator fell behind, by more than {:.0f} ms\n",
                        Milliseconds(kLateRequest));
  }
  return text;
}

}  // namespace

int RunInteractiveService(const InteractiveServiceOptions& options, const Topology& topology) {
  ConfineToCores(options.cores, topology);
  const SignalScope signals;
  const RealtimeScope realtime;  // For the generator alone, so that it keeps its times.
  InteractiveService service(options, topology);
  service.Run();
  fmt::print("{}", service.Summary());
  return Interrupted() ? kInterrupted : 0;
}

}  // namespace cosched
