#include "experiments/cli/doctor_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <system_error>
#include <thread>

#include "experiments/analysis/table_text.h"
#include "experiments/config/option_refusal.h"
#include "experiments/hosts/process_tree.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/interrupt.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using Steady = ProgramWatch::Clock;

constexpr milliseconds kPeriod{100};
constexpr milliseconds kTimeToEnd{2000};  // From SIGTERM to SIGKILL.

pid_t StartProgram(std::vector<std::string> command) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ);
  if (error != 0)
    RefuseOption(command.front(),
                 fmt::format("can't be started: {}", std::generic_category().message(error)),
                 "a program and its arguments, as a shell starts it");
  return pid;
}

// Takes all that have ended; the program's own status if it is among them.
std::optional<int> Reap(pid_t program) {
  std::optional<int> status;
  int of_this = 0;
  for (pid_t ended; (ended = waitpid(-1, &of_this, WNOHANG)) > 0;) {
    if (ended == program) status = of_this;
  }
  return status;
}

void EndAll() {
  const auto send = [](int signal) {
    const std::vector<pid_t> processes = ProcessesBelow(getpid());
    for (const pid_t process : processes) kill(process, signal);
    return !processes.empty();
  };
  send(SIGTERM);
  const Steady::time_point patience = Steady::now() + kTimeToEnd;
  while (!ProcessesBelow(getpid()).empty()) {
    if (Steady::now() > patience) send(SIGKILL);
    std::this_thread::sleep_for(milliseconds(10));
    Reap(-1);
  }
}

std::string HowItEnded(int status) {
  if (WIFEXITED(status)) return fmt::format("it ended, with exit code {}", WEXITSTATUS(status));
  return fmt::format("it ended, by signal {}", WTERMSIG(status));
}

double UsableCores(const ProgramFacts& facts) {
  const double allowed = facts.allowed.Count();
  return facts.quota ? std::min(allowed, facts.quota->cores) : allowed;
}

// As many threads as can be of use: a part of a core is worth a thread.
int UsefulThreads(const ProgramFacts& facts) {
  constexpr double kRoundingError = 1e-9;
  return std::max(1, static_cast<int>(std::ceil(UsableCores(facts) - kRoundingError)));
}

std::string CoresText(double count) {
  return fmt::format("{:.3g} {}", count, count == 1 ? "core" : "cores");
}

// What to set so that the program has so many threads: each runtime's first variable, or its call.
std::string HowToHave(int threads, const ProgramFacts& facts) {
  std::vector<std::string> ways;
  for (const ThreadRuntime* runtime : facts.runtimes) {
    std::string way = runtime->variables.empty()
                          ? fmt::format("{} (N = {})", runtime->call, threads)
                          : fmt::format("{}={}", runtime->variables.front(), threads);
    if (std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(std::move(way));
  }
  if (ways.empty())
    return fmt::format("the program's own option for {} (no runtime known here makes its threads)",
                       Counted(threads, "thread"));
  return fmt::format("{}", fmt::join(ways, ", "));
}

Finding CoresFound(const ProgramFacts& facts) {
  const int count = facts.allowed.Count();
  return {.what = "cores",
          .found = fmt::format("{} may be used ({}){}", CoresText(count), facts.allowed.ToString(),
                               facts.quota ? ", CPU time for " + Describe(*facts.quota) : "")};
}

Finding ThreadsFound(const ProgramFacts& facts) {
  const int useful = UsefulThreads(facts);
  Finding finding = {
      .what = "threads",
      .found = fmt::format("{} in {} {}; {} at most wanted a core at once, {:.1f} on average",
                           facts.threads, facts.processes,
                           facts.processes == 1 ? "process" : "processes", facts.most_wanting,
                           facts.wanting)};
  // Helpers that run now and then are no reason to change anything, nor is somebody else's for a
  // moment.
  constexpr double kSlack = 0.25, kMuchWaiting = 0.1;
  if (facts.wanting > useful + kSlack && facts.most_wanting > useful) {
    finding.severity = Severity::kLesser;
    finding.consequence = fmt::format(
        "they take turns on {}: {:.0f} % of the time in which they could run they waited",
        CoresText(UsableCores(facts)), 100 * facts.waiting_share);
    finding.remedy = HowToHave(useful, facts);
  } else if (facts.wanting > kSlack && facts.waiting_share > kMuchWaiting && facts.stops.empty()) {
    finding.severity = Severity::kLesser;
    finding.consequence = fmt::format(
        "{:.0f} % of the time in which they could run they waited for cores on which "
        "other programs ran",
        100 * facts.waiting_share);
    finding.remedy = "cores of its own (a cpuset), or less beside it";
  }
  return finding;
}

Finding UseFound(const ProgramFacts& facts) {
  return {.what = "used",
          .found = fmt::format("{:.2f} of {}", facts.used_cores, CoresText(UsableCores(facts)))};
}

Finding StopsFound(const QuotaStops& stops, const ProgramFacts& facts) {
  return {
      .severity = Severity::kLesser,
      .what = "throttled",
      .found = fmt::format("in {} of {} periods, for {:.2f} s in all (cgroup {})", stops.times,
                           stops.periods, ToSeconds(stops.time), stops.group.string()),
      .consequence = "whoever waits for a thread that is stopped waits for the next period, too",
      .remedy = fmt::format("{}, or cores of its own (a cpuset) in place of a quota",
                            HowToHave(UsefulThreads(facts), facts))};
}

Finding BeliefFound(const ThreadRuntime& runtime, const ProgramFacts& facts, int machine) {
  const int useful = UsefulThreads(facts);
  const ThreadBelief belief =
      BeliefOf(runtime, facts.environment, facts.allowed.Count(), useful, machine);
  Finding finding = {
      .what = "runtime",
      .found = fmt::format("{}: {}, by {}; it does not follow a later change", runtime.name,
                           Counted(belief.threads, "thread"), belief.from)};
  if (belief.threads != useful) {
    finding.severity = Severity::kLesser;
    finding.consequence =
        belief.threads > useful
            ? fmt::format("more than the {} can run", CoresText(UsableCores(facts)))
            : fmt::format(
                  "of {} the others are idle, unless the program itself "
                  "asks for more",
                  CoresText(UsableCores(facts)));
    finding.remedy = runtime.variables.empty()
                         ? fmt::format("{} (N = {})", runtime.call, useful)
                         : fmt::format("{}={}, or {} in the program", runtime.variables.front(),
                                       useful, runtime.call);
  }
  return finding;
}

}  // namespace

std::vector<Finding> FindingsOf(const ProgramFacts& facts, int machine) {
  std::vector<Finding> findings = {CoresFound(facts), ThreadsFound(facts), UseFound(facts)};
  for (const QuotaStops& stops : facts.stops) findings.push_back(StopsFound(stops, facts));
  for (const ThreadRuntime* runtime : facts.runtimes)
    findings.push_back(BeliefFound(*runtime, facts, machine));
  return findings;
}

void AddProgramLook(CLI::App* doctor, ProgramLook* look) {
  doctor->add_option("command", look->command,
                     "Instead: look at this program, which is started here, and tell what it makes "
                     "of the cores that it may use; -- CMD [ARGUMENT ...]");
  doctor
      ->add_option("--seconds", look->seconds,
                   "For so long a program is looked at, then it is ended")
      ->capture_default_str()
      ->check(CLI::Range(0.2, 86400.0));
}

int LookAtProgram(const ProgramLook& look) {
  AdoptOrphans();  // What a daemon starts is of the program, too.
  const SignalScope signals;
  const pid_t program = StartProgram(look.command);
  ProgramWatch watch(Topology::ThisMachine());
  const Steady::time_point start = Steady::now();
  const auto until = start + std::chrono::duration_cast<Steady::duration>(
                                 std::chrono::duration<double>(look.seconds));
  std::optional<int> status;
  while (!status && Steady::now() < until && !Interrupted()) {
    watch.Look(ProcessesBelow(getpid()), Steady::now());
    std::this_thread::sleep_for(std::min<Steady::duration>(kPeriod, until - Steady::now()));
    status = Reap(program);
  }
  if (!status) watch.Look(ProcessesBelow(getpid()), Steady::now());
  EndAll();
  std::fflush(stdout);
  const ProgramFacts facts = watch.Facts();
  fmt::print("{}: looked at for {:.1f} s; {}\n", fmt::join(look.command, " "),
             ToSeconds(facts.watched), status ? HowItEnded(*status) : "then it was ended");
  if (facts.allowed.Empty() || facts.watched == Duration(0)) {
    fmt::print("It ended too soon to be looked at.\n");
    return kFailed;
  }
  const std::vector<Finding> findings =
      FindingsOf(facts, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  Print(findings);
  const bool good = std::all_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.severity == Severity::kGood;
  });
  return good ? 0 : kFailed;
}

}  // namespace cosched
