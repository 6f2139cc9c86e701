#include "experiments/tenant/interactive_tenant.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>

#include "engine/base/thread_start.h"
#include "experiments/os/exit_code.h"
#include "experiments/tenant/control_thread.h"
#include "experiments/tenant/interactive_steering.h"
#include "experiments/tenant/pool_threads.h"
#include "experiments/tenant/step_meter.h"
#include "experiments/wire/resize_latencies.h"
#include "workloads/training_job.h"

namespace cosched {
namespace {

using SteadyClock = std::chrono::steady_clock;

volatile std::sig_atomic_t tenant_interrupted = 0;

// The first signal ends the run after the current step, the second one at once.
void StopAfterThisStep() {
  struct sigaction action = {};
  action.sa_handler = [](int) { tenant_interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

std::string Plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// A bar that is drawn over on a terminal; otherwise a line every tenth of the run, or every second
// of a run without end. Any thread.
class Progress {
 public:
  explicit Progress(int64_t steps) : steps_(steps), terminal_(isatty(STDERR_FILENO) == 1) {}

  void Show(int64_t done, const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!terminal_) {
      if (!Due(done)) return;
      fmt::print(stderr, "step {}  {}\n", Position(done), text);
      shown_ = SteadyClock::now();
      return;
    }
    constexpr int64_t kWidth = 30;
    const auto filled = static_cast<size_t>(steps_ > 0 ? kWidth * done / steps_ : 0);
    const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
    fmt::print(stderr, "\r\033[K{} {}  {}", steps_ > 0 ? "[" + bar + "]" : "step", Position(done),
               text);
    std::fflush(stderr);
  }
  // A line that stays.
  void Announce(const std::string& line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    fmt::print(stderr, "{}{}\n", terminal_ ? "\r\033[K" : "", line);
  }
  void End() {
    if (terminal_) fmt::print(stderr, "\n");
  }

 private:
  std::string Position(int64_t done) const {
    return steps_ > 0 ? fmt::format("{}/{}", done, steps_) : std::to_string(done);
  }
  bool Due(int64_t done) const {
    if (steps_ == 0) return SteadyClock::now() - shown_ >= std::chrono::seconds(1);
    return done % std::max<int64_t>(steps_ / 10, 1) == 0 || done == steps_;
  }

  const int64_t steps_;
  const bool terminal_;
  std::mutex mutex_;
  SteadyClock::time_point shown_;
};

// Steps between two resizes, and how long the undisturbed ones took.
struct ThreadsPhase {
  int threads = 0;
  std::vector<double> seconds;
};

std::string PlaceText(const std::string& threads, const CpuSet& cores) {
  return fmt::format("{} on core{} {}", threads, cores.Count() == 1 ? "" : "s", cores.ToString());
}

// "2 threads (1x2) on cores 0-1"
std::string PlaceText(Split split, const CpuSet& cores) {
  if (split == Split{0, 0}) return "paused";
  return PlaceText(
      fmt::format("{} ({}x{})", Plural(ThreadsOf(split), "thread"), split.inter, split.intra),
      cores);
}

// "2 threads (2x1 of 2x2 wanted) on cores 0-1": never more threads than cores.
std::string PlaceText(const ThreadPools& pools) {
  const Split split = pools.Current(), wanted = pools.Wanted().split;
  if (split == wanted || split == Split{0, 0}) return PlaceText(split, pools.Cores());
  return PlaceText(fmt::format("{} ({}x{} of {}x{} wanted)", Plural(ThreadsOf(split), "thread"),
                               split.inter, split.intra, wanted.inter, wanted.intra),
                   pools.Cores());
}

class InteractiveTenant {
 public:
  InteractiveTenant(const InteractiveTenantOptions& options, const Topology& topology)
      : options_(options),
        progress_(options.spec.steps),
        control_(ControlOptions(), UniqueFd(), nullptr, &meter_, topology),
        job_(SettingsOf(options, topology)),
        next_resize_(options.resizes.begin()) {
    control_.Attach(&threads_);
    job_.session().Pools().WaitSettled(Duration::max());
    for (const InteractiveTenantOptions::Resize& resize : options.resizes) {
      if (resize.node) job_.session().AtNode(resize.at, AtNodeRequest(resize));
    }
    BeginPhase();
  }
  ~InteractiveTenant() { control_.Detach(); }
  InteractiveTenant(const InteractiveTenant&) = delete;
  InteractiveTenant& operator=(const InteractiveTenant&) = delete;

  void Run() {
    const SteadyClock::time_point begin = SteadyClock::now();
    const auto over = [&] {
      const double seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
      return tenant_interrupted != 0 || stopped_ ||
             (options_.spec.steps > 0 && done_ == options_.spec.steps) ||
             (options_.seconds > 0 && seconds >= options_.seconds);
    };
    for (; !over(); ++done_) {
      control_.WaitToCompute();
      const bool resizes = next_resize_ != options_.resizes.end() && !next_resize_->node &&
                           next_resize_->at == done_;
      const int64_t before = resizes_;
      const SteadyClock::time_point start = SteadyClock::now();
      result_ = resizes ? StepWithResize() : job_.Step();
      const SteadyClock::time_point end = SteadyClock::now();
      meter_.Add(start, end, result_.images);
      correct_ += result_.correct;
      predictions_ += result_.predictions;
      seconds_ = std::chrono::duration<double>(end - start).count();
      if (resizes || resizes_ != before) {
        BeginPhase();
      } else {
        phases_.back().seconds.push_back(seconds_);
      }
      Show();
    }
    progress_.End();
  }

  void Save() {
    if (!options_.save_weights.empty()) job_.SaveWeights(options_.save_weights);
  }

  std::string Summary();

 private:
  static JobSettings SettingsOf(const InteractiveTenantOptions& options, const Topology& topology) {
    JobSettings settings{options.spec};
    settings.first_image = options.first_image;
    settings.images = options.images;
    settings.weights_file = options.load_weights;
    settings.session = SteeredSession(options.threads, options.follow, topology);
    return settings;
  }

  ControlThreadOptions ControlOptions() {
    ControlThreadOptions control =
        SteeredThrough(options_.control, options_.follow, options_.cores);
    control.program = ProgramName(options_.spec);
    control.steps = options_.spec.steps;
    control.threads = control.capacity = options_.threads;
    control.on_resized = [this](const ResizedMessage& resized) { Announce(resized); };
    control.on_stop = [this] { stopped_ = true; };
    control.interrupted = [] { return tenant_interrupted != 0; };
    if (!control.control.empty()) progress_.Announce(SteeringHint(options_.control));
    return control;
  }

  std::string Latencies();
  void BeginPhase() { phases_.push_back({job_.session().Pools().ActiveThreads(), {}}); }

  // The session does this one itself, on the thread that comes to the node.
  ResizeRequest AtNodeRequest(const InteractiveTenantOptions::Resize& resize) const {
    ResizeRequest request{.cores = FirstCores(options_.cores, resize.cores),
                          .cause = ToString(ResizeCause::kCounter)};
    if (resize.split) {
      request.inter = resize.split->inter;
      request.intra = resize.split->intra;
    }
    return request;
  }

  // On the control thread.
  void Announce(const ResizedMessage& resized) {
    ++resizes_;
    const int64_t longest = resized.time.count();
    longest_settle_ = std::max(longest_settle_.load(), longest);
    const int64_t asked = resized.cause == ResizeCause::kCounter ? asked_in_.exchange(-1) : -1;
    progress_.Announce(fmt::format("step {}: {} -> {}, by {}, settled in {} us{}",
                                   asked >= 0 ? asked : done_.load(), ThreadsOf(resized.before),
                                   PlaceText(resized.after, resized.cores), ToString(resized.cause),
                                   longest, resized.op.empty() ? "" : " (" + resized.op + ")"));
  }

  // Resizes from another thread about half-way through the step, where malleability has to prove
  // itself.
  StepResult StepWithResize() {
    const InteractiveTenantOptions::Resize resize = *next_resize_++;
    asked_in_ = done_.load();
    std::thread resizer = StartThread("the resizing thread", [&] {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds_ / 2));
      control_.ResizeTo(resize.cores, resize.split);
      job_.session().Pools().WaitSettled(Duration::max());
    });
    const auto join = [&resizer] { resizer.join(); };
    StepResult result;
    try {
      result = job_.Step();
    } catch (...) {
      join();
      throw;
    }
    join();
    return result;
  }

  void Show() {
    const std::string loss =
        options_.spec.mode == Mode::kTrain ? fmt::format("loss {:.4f}  ", result_.loss) : "";
    progress_.Show(done_ + 1, fmt::format("{}{:.1f} images/s  {}", loss,
                                          meter_.Read(SteadyClock::now()).images_per_second,
                                          PlaceText(job_.session().Pools())));
  }

  const InteractiveTenantOptions& options_;
  Progress progress_;
  StepMeter meter_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int64_t> done_ = 0;  // Steps.
  // The step for which StepWithResize asks: the thread that asks may wake up, and the answer come,
  // when that step is over. -1 once it has been told.
  std::atomic<int64_t> asked_in_ = -1;
  std::atomic<int64_t> resizes_ = 0, longest_settle_ = 0;  // us
  ControlThread control_;                                  // After what its callbacks use.
  TrainingJob job_;
  PoolThreads threads_{&job_.session().Pools()};
  std::vector<InteractiveTenantOptions::Resize>::const_iterator next_resize_;
  std::vector<ThreadsPhase> phases_;
  StepResult result_;
  double seconds_ = 0;  // Duration of the last step.
  int64_t correct_ = 0, predictions_ = 0;
};

std::string InteractiveTenant::Summary() {
  const TenantSpec& spec = options_.spec;
  std::vector<double> all;
  std::string phases;
  for (const ThreadsPhase& phase : phases_) {
    all.insert(all.end(), phase.seconds.begin(), phase.seconds.end());
    if (phase.seconds.empty()) continue;
    phases += fmt::format("{}{} {:.2f} ms ({})", phases.empty() ? "" : " -> ",
                          Plural(phase.threads, "thread"), Median(phase.seconds) * 1e3,
                          Plural(static_cast<int64_t>(phase.seconds.size()), "step"));
  }
  const double median = Median(all);
  std::string line = fmt::format("{} {} batch {}: {}", spec.model, ToString(spec.mode), spec.batch,
                                 Plural(done_, "step"));
  if (median > 0) {
    line +=
        fmt::format(", {:.1f} images/s (median step {:.2f} ms)", spec.batch / median, median * 1e3);
  }
  if (spec.mode == Mode::kTrain && done_ > 0)
    line += fmt::format(", final loss {:.4f}", result_.loss);
  if (predictions_ > 0) {
    line += fmt::format(", {:.2f} % of {} predictions right",
                        1e2 * static_cast<double>(correct_) / static_cast<double>(predictions_),
                        predictions_);
  }
  line += fmt::format(", {}", Plural(resizes_, "resize"));
  if (resizes_ > 0) line += fmt::format(" (longest settle {} us)", longest_settle_.load());
  if (!phases.empty()) line += "; median step: " + phases;
  return line + "\n" + Latencies();
}

// From the request to the last thread in its place, then the same by the op that was running.
std::string InteractiveTenant::Latencies() {
  DurationHistogram grow, shrink;
  std::string by_op;
  for (const auto& [op, latencies] : control_.LatenciesByOp()) {
    const std::string during = op.empty() ? "between ops" : "in " + op;
    grow.Merge(latencies.grow);
    shrink.Merge(latencies.shrink);
    by_op += LatencyLine("  grow " + during, LatenciesOf(latencies.grow)) +
             LatencyLine("  shrink " + during, LatenciesOf(latencies.shrink));
  }
  return LatencyLine("grow", LatenciesOf(grow)) + LatencyLine("shrink", LatenciesOf(shrink)) +
         by_op;
}

}  // namespace

int RunInteractiveTenant(const InteractiveTenantOptions& options, const Topology& topology) {
  ConfineToCores(options.cores, topology);
  StopAfterThisStep();
  InteractiveTenant tenant(options, topology);
  tenant.Run();
  tenant.Save();
  fmt::print("{}", tenant.Summary());
  return tenant_interrupted != 0 ? kInterrupted : 0;
}

}  // namespace cosched
