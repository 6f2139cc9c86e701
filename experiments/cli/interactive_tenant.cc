#include "experiments/cli/interactive_tenant.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include "engine/base/error.h"
#include "experiments/hosts/thread_affinity.h"
#include "workloads/training_job.h"

namespace cosched {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kInterrupted = 130;

volatile std::sig_atomic_t interrupted = 0;

// The first signal ends the run after the current step, the second one at once.
void StopAfterThisStep() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

std::string Plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

CpuSet FirstCores(const CpuSet& cores, int count) {
  CpuSet first;
  for (const int cpu : cores.ToVector()) {
    if (first.Count() < count) first.Add(cpu);
  }
  return first;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// A bar that is drawn over on a terminal; a line every tenth of the run otherwise.
class Progress {
 public:
  explicit Progress(int64_t steps) : steps_(steps), terminal_(isatty(STDERR_FILENO) == 1) {}

  void Show(int64_t done, const std::string& text) {
    if (!terminal_) {
      const int64_t every = std::max<int64_t>(steps_ / 10, 1);
      if (done % every == 0 || done == steps_)
        fmt::print(stderr, "step {}/{}  {}\n", done, steps_, text);
      return;
    }
    constexpr int64_t kWidth = 30;
    const auto filled = static_cast<size_t>(kWidth * done / steps_);
    const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
    fmt::print(stderr, "\r\033[K[{}] {}/{}  {}", bar, done, steps_, text);
    std::fflush(stderr);
  }
  // A line that stays.
  void Announce(const std::string& line) {
    fmt::print(stderr, "{}{}\n", terminal_ ? "\r\033[K" : "", line);
  }
  void End() {
    if (terminal_) fmt::print(stderr, "\n");
  }

 private:
  const int64_t steps_;
  const bool terminal_;
};

// Steps between two resizes, and how long the undisturbed ones took.
struct Phase {
  int threads = 0;
  std::vector<double> seconds;
};

class InteractiveTenant {
 public:
  InteractiveTenant(const InteractiveTenantOptions& options, const Topology& topology)
      : options_(options),
        progress_(options.spec.steps),
        job_(SettingsOf(options, topology)),
        next_resize_(options.resizes.begin()) {
    job_.session().Resize(options.cores, options.threads);
    job_.session().Pools().WaitSettled(Duration::max());
    BeginPhase();
  }

  void Run() {
    for (done_ = 0; done_ < options_.spec.steps && interrupted == 0; ++done_) {
      const bool resizes = next_resize_ != options_.resizes.end() && next_resize_->step == done_;
      const SteadyClock::time_point start = SteadyClock::now();
      result_ = resizes ? StepWithResize() : job_.Step();
      seconds_ = std::chrono::duration<double>(SteadyClock::now() - start).count();
      if (resizes) {
        BeginPhase();
      } else {
        phases_.back().seconds.push_back(seconds_);
      }
      Show();
    }
    progress_.End();
  }

  std::string Summary() const;

 private:
  static JobSettings SettingsOf(const InteractiveTenantOptions& options, const Topology& topology) {
    JobSettings settings;
    settings.model = options.spec.model;
    settings.mode = options.spec.mode;
    settings.dataset = options.spec.dataset;
    settings.data_directory = options.spec.data_directory;
    settings.batch = options.spec.batch;
    settings.seed = options.spec.seed;
    settings.session.inter_op_parallelism_threads = options.threads.inter;
    settings.session.intra_op_parallelism_threads = options.threads.intra;
    settings.session.binding = ThreadPools::Binding::kEachToItsCore;
    settings.session.topology = &topology;
    return settings;
  }

  void BeginPhase() { phases_.push_back({job_.session().Pools().ActiveThreads(), {}}); }

  // Resizes from another thread about half-way through the step, where malleability has to prove
  // itself.
  StepResult StepWithResize() {
    const InteractiveTenantOptions::Resize resize = *next_resize_++;
    Session& session = job_.session();
    const int before = session.Pools().ActiveThreads();
    SteadyClock::duration settle{};
    std::thread resizer([&] {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds_ / 2));
      const SteadyClock::time_point start = SteadyClock::now();
      session.Resize(FirstCores(options_.cores, resize.cores),
                     {options_.threads.inter, options_.threads.intra});
      session.Pools().WaitSettled(Duration::max());
      settle = SteadyClock::now() - start;
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
    const double microseconds = std::chrono::duration<double, std::micro>(settle).count();
    longest_settle_ = std::max(longest_settle_, microseconds);
    ++resizes_;
    progress_.Announce(fmt::format("step {}: {} -> {} threads, settled in {:.0f} us", resize.step,
                                   before, session.Pools().ActiveThreads(), microseconds));
    return result;
  }

  void Show() {
    const std::string loss =
        options_.spec.mode == Mode::kTrain ? fmt::format("loss {:.4f}  ", result_.loss) : "";
    progress_.Show(done_ + 1,
                   fmt::format("{}{:.1f} images/s  {}", loss, result_.images / seconds_,
                               Plural(job_.session().Pools().ActiveThreads(), "thread")));
  }

  const InteractiveTenantOptions& options_;
  Progress progress_;
  TrainingJob job_;
  std::vector<InteractiveTenantOptions::Resize>::const_iterator next_resize_;
  std::vector<Phase> phases_;
  StepResult result_;
  int64_t done_ = 0;
  double seconds_ = 0;  // Of the last step.
  int64_t resizes_ = 0;
  double longest_settle_ = 0;  // us
};

std::string InteractiveTenant::Summary() const {
  const TenantSpec& spec = options_.spec;
  std::vector<double> all;
  std::string phases;
  for (const Phase& phase : phases_) {
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
  line += fmt::format(", {}", Plural(resizes_, "resize"));
  if (resizes_ > 0) line += fmt::format(" (longest settle {:.0f} us)", longest_settle_);
  if (!phases.empty()) line += "; median step: " + phases;
  return line;
}

}  // namespace

int RunInteractiveTenant(const InteractiveTenantOptions& options, const Topology& topology) {
  if (ConfineThreads(getpid(), options.cores, Which::kAll, topology) != Confinement::kDone) {
    throw InputError({"command line", 0, "--cores",
                      "the kernel does not allow cores " + options.cores.ToString(),
                      "cores within " + topology.Cpus().ToString()});
  }
  StopAfterThisStep();
  InteractiveTenant tenant(options, topology);
  tenant.Run();
  fmt::print("{}\n", tenant.Summary());
  return interrupted != 0 ? kInterrupted : 0;
}

}  // namespace cosched
