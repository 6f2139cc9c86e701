#include "experiments/cli/doctor_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "engine/base/topology.h"
#include "engine/base/unique_fd.h"
#include "experiments/analysis/table_text.h"
#include "experiments/config/option_refusal.h"
#include "experiments/hosts/process_tree.h"
#include "experiments/os/interrupt.h"
#include "experiments/os/proc_file.h"
#include "experiments/os/process_children.h"
#include "experiments/os/run_program.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;
using Steady = ProgramWatch::Clock;

constexpr milliseconds kPeriod{100};
constexpr milliseconds kTimeToEnd{2000};  // From SIGTERM to SIGKILL.

// The program that is looked at; its pidfd tells of its end.
struct Program {
  pid_t pid;
  UniqueFd pidfd;
};

Program WithPidfd(pid_t pid) {
  return {pid, UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)))};
}

Program Begin(const std::vector<std::string>& command) {
  const StartedProgram started = StartProgram(command);
  if (started.pid < 0)
    RefuseOption(
        command.front(),
        fmt::format("can't be started: {}", std::generic_category().message(started.error)),
        "a program and its arguments, as a shell starts it");
  return WithPidfd(started.pid);
}

Program Find(pid_t pid) {
  Program program = WithPidfd(pid);
  if (program.pidfd.get() < 0) {
    RefuseOption("--pid", fmt::format("there is no process {}", pid),
                 "the number of a process that runs, as `ps` shows it, not of one of its threads");
  }
  return program;
}

// The words with which it was started.
std::string CommandOf(pid_t pid) {
  std::string words = ProcFile::Read(fmt::format("/proc/{}/cmdline", pid)).text;
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return fmt::format("{}{}process {}", words, words.empty() ? "" : ", ", pid);
}

std::vector<pid_t> WithDescendants(pid_t pid) {
  std::vector<pid_t> processes = DescendantsOf(pid);
  processes.insert(std::lower_bound(processes.begin(), processes.end(), pid), pid);
  return processes;
}

// Whether it has ended; a signal to this process cuts the wait short.
bool HasEnded(const Program& program, Steady::duration within) {
  pollfd end{program.pidfd.get(), POLLIN, 0};
  const auto patience = std::chrono::ceil<milliseconds>(within).count();
  return poll(&end, 1, static_cast<int>(std::max<int64_t>(0, patience))) > 0;
}

// Gives it some time, and what it leaves behind, which this process has adopted, none.
void EndAll(const Program& program) {
  for (const pid_t process : DescendantsOf(getpid())) kill(process, SIGTERM);
  HasEnded(program, kTimeToEnd);
  KillDescendants();
}

std::string HowItEnded(int status) {
  if (WIFEXITED(status)) return fmt::format("it ended, with exit code {}", WEXITSTATUS(status));
  return fmt::format("it ended, by signal {}", WTERMSIG(status));
}

double UsableCores(const ProgramFacts& facts) {
  const double allowed = facts.allowed.Count();
  return facts.quota ? std::min(allowed, facts.quota->cores) : allowed;
}

int UsefulThreads(const ProgramFacts& facts) { return ThreadsInTime(UsableCores(facts)); }

std::string CoresText(double count) {
  return fmt::format("{:.3g} {}", count, count == 1 ? "core" : "cores");
}

std::string Setting(const ThreadRuntime& runtime, int threads) {
  return runtime.variables.empty() ? fmt::format("{} (N = {})", runtime.call, threads)
                                   : fmt::format("{}={}", runtime.variables.front(), threads);
}

// What to set so that the program has so many threads.
std::string HowToHave(int threads, const ProgramFacts& facts) {
  std::vector<std::string> ways;
  for (const ThreadRuntime* runtime : facts.runtimes) {
    std::string way = Setting(*runtime, threads);
    if (std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(std::move(way));
  }
  if (ways.empty()) {
    return fmt::format("the program's own option for {} ({})", Counted(threads, "thread"),
                       facts.hidden ? "by which runtime they are made is hidden from this user"
                                    : "no runtime known here makes its threads");
  }
  return fmt::format("{}", fmt::join(ways, ", "));
}

Finding CoresFound(const ProgramFacts& facts) {
  const int count = facts.allowed.Count();
  return {.what = "cores",
          .found = fmt::format("{} may be used ({}){}", CoresText(count), facts.allowed.ToString(),
                               facts.quota ? ", CPU time for " + Describe(*facts.quota) : "")};
}

// Helpers that run now and then are no reason to change anything, nor is somebody else's for a moment.
constexpr double kSlack = 0.25;

bool WantsMoreThan(int threads, const ProgramFacts& facts) {
  return facts.wanting > threads + kSlack && facts.most_wanting > threads;
}

Finding ThreadsFound(const ProgramFacts& facts) {
  const int useful = UsefulThreads(facts);
  Finding finding = {
      .what = "threads",
      .found = fmt::format("{} in {} {}; {} at most wanted a core at once, {:.1f} on average",
                           facts.threads, facts.processes,
                           facts.processes == 1 ? "process" : "processes", facts.most_wanting,
                           facts.wanting)};
  constexpr double kMuchWaiting = 0.1;
  if (WantsMoreThan(useful, facts)) {
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

// Not only those that this process may use.
int CoresOfTheMachine() {
  const auto cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return std::max(1, cpus / Topology::ThisMachine().ThreadsPerCore());
}

Finding BeliefFound(const ThreadRuntime& runtime, const ProgramFacts& facts, int machine) {
  const int useful = UsefulThreads(facts);
  const ThreadBelief belief =
      BeliefOf(runtime, facts.environment, facts.allowed.Count(), useful, machine);
  Finding finding = {
      .what = "runtime",
      .found = fmt::format("{}: {}, by {}; it does not follow a later change", runtime.name,
                           Counted(belief.threads, "thread"), belief.from)};
  if (facts.was_running && !WantsMoreThan(useful, facts)) {
    finding.found = fmt::format("{}: began with {}, by {}", runtime.name,
                                Counted(belief.threads, "thread"), belief.from);
  } else if (belief.threads != useful) {
    finding.severity = Severity::kLesser;
    finding.consequence =
        belief.threads > useful
            ? fmt::format("more than the {} can run", CoresText(UsableCores(facts)))
            : fmt::format(
                  "of {} the others are idle, unless the program itself "
                  "asks for more",
                  CoresText(UsableCores(facts)));
    finding.remedy = Setting(runtime, useful);
    if (!runtime.variables.empty())
      finding.remedy += fmt::format(", or {} in the program", runtime.call);
  }
  return finding;
}

struct Looked {
  ProgramFacts facts;
  bool ended;  // By itself.
};

// processes: of which the program consists now, ascending.
Looked WatchProgram(const Program& program, double seconds,
                    const std::function<std::vector<pid_t>()>& processes) {
  ProgramWatch watch(Topology::ThisMachine());
  const auto until = Steady::now() + std::chrono::duration_cast<Steady::duration>(
                                         std::chrono::duration<double>(seconds));
  bool ended = false;
  while (!ended && Steady::now() < until && !Interrupted()) {
    watch.Look(processes());
    ended = HasEnded(program, std::min<Steady::duration>(kPeriod, until - Steady::now()));
  }
  watch.Look(processes());
  return {watch.Facts(), ended};
}

LookedAtProgram Told(std::string program, const ProgramFacts& facts, std::string end) {
  LookedAtProgram looked{.program = std::move(program), .end = std::move(end), .facts = facts};
  if (!looked.TooSoon()) looked.findings = FindingsOf(facts, CoresOfTheMachine());
  return looked;
}

Json FactsJson(const ProgramFacts& facts) {
  Json runtimes = Json::array();
  for (const ThreadRuntime* runtime : facts.runtimes) runtimes.push_back(runtime->name);
  return {{"processes", facts.processes},
          {"threads", facts.threads},
          {"most_wanting", facts.most_wanting},
          {"wanting", facts.wanting},
          {"used_cores", facts.used_cores},
          {"waiting_share", facts.waiting_share},
          {"allowed_cpus", facts.allowed.ToString()},
          {"quota_cores", facts.quota ? Json(facts.quota->cores) : Json()},
          {"runtimes", std::move(runtimes)},
          {"runtimes_hidden", facts.hidden}};
}

}  // namespace

std::vector<Finding> FindingsOf(const ProgramFacts& facts, int machine) {
  std::vector<Finding> findings = {CoresFound(facts), ThreadsFound(facts), UseFound(facts)};
  for (const QuotaStops& stops : facts.stops) findings.push_back(StopsFound(stops, facts));
  for (const ThreadRuntime* runtime : facts.runtimes)
    findings.push_back(BeliefFound(*runtime, facts, machine));
  if (facts.hidden) {
    findings.push_back(
        {.what = "runtime",
         .found = "of another user: only that one, or root, is told by which runtimes its threads "
                  "are made and what these believe"});
  }
  return findings;
}

void AddProgramLook(CLI::App* doctor, ProgramLook* look) {
  doctor->positionals_at_end();  // What follows the program is the program's, also without "--".
  CLI::Option* command = doctor->add_option(
      "command", look->command,
      "Instead: look at this program, which is started here, and tell what it makes of the cores "
      "that it may use; -- CMD [ARGUMENT ...]");
  CLI::Option* pid =
      doctor
          ->add_option("--pid", look->pid,
                       "Instead: look at this process, which runs already, and at all that it has "
                       "started; it goes on")
          ->check(CLI::Range(1, std::numeric_limits<int>::max()))
          ->excludes(command);
  for (const char* other : {"--clean", "--measure"}) {
    command->excludes(doctor->get_option(other));
    pid->excludes(doctor->get_option(other));
  }
  doctor
      ->add_option("--seconds", look->seconds,
                   "For so long a program is looked at; one that was started here is ended then")
      ->capture_default_str()
      ->check(CLI::Range(0.2, 86400.0));
}

LookedAtProgram LookAtProgram(const ProgramLook& look) {
  const SignalScope signals;
  if (look.pid) {
    const Program program = Find(*look.pid);
    const std::string name = CommandOf(program.pid);
    Looked looked =
        WatchProgram(program, look.seconds, [&] { return WithDescendants(program.pid); });
    looked.facts.was_running = true;
    return Told(name, looked.facts, looked.ended ? "it ended" : "it goes on");
  }
  AdoptOrphans();  // What a daemon starts is of the program, too.
  const Program program = Begin(look.command);
  const Looked looked = WatchProgram(program, look.seconds, [] { return DescendantsOf(getpid()); });
  int status = 0;
  if (looked.ended) waitpid(program.pid, &status, 0);
  EndAll(program);
  return Told(fmt::format("{}", fmt::join(look.command, " ")), looked.facts,
              looked.ended ? HowItEnded(status) : "then it was ended");
}

bool LookedAtProgram::TooSoon() const {
  return facts.allowed.Empty() || facts.watched == Duration(0);
}

bool LookedAtProgram::IsGood() const {
  return !TooSoon() && std::ranges::all_of(findings, [](const Finding& finding) {
    return finding.severity == Severity::kGood;
  });
}

std::string LookedAtText(const LookedAtProgram& looked) {
  return fmt::format(
      "{}: looked at for {:.1f} s; {}\n{}", looked.program, ToSeconds(looked.facts.watched),
      looked.end,
      looked.TooSoon() ? "It ended too soon to be looked at.\n" : FindingsText(looked.findings));
}

Json LookedAtJson(const LookedAtProgram& looked) {
  return {{"name", looked.program},
          {"watched_s", ToSeconds(looked.facts.watched)},
          {"end", looked.end},
          {"facts", looked.TooSoon() ? Json() : FactsJson(looked.facts)}};
}

}  // namespace cosched
