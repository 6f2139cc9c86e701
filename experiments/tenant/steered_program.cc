#include "experiments/tenant/steered_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/signal_text.h"
#include "experiments/os/pinned_child.h"
#include "experiments/os/process_children.h"
#include "experiments/os/thread_affinity.h"

namespace cosched {
namespace {

// A program that starts processes all the while is asked so often at most; the next look goes on.
constexpr int kMostLooks = 10;

[[noreturn]] void ThrowErrno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

struct Pipe {
  UniqueFd out, in;
};

Pipe MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) ThrowErrno("pipe2");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// All that the child needs, ready before the fork: this process has other threads, so that after it
// no memory can be had.
struct ChildPlan {
  char* const* argv;
  char* const* environment;
  const char* folder;  // "": none.
  const int* inherited;
  size_t inherited_count;
  int input, outputs[2];  // -1: as this process's.
  int problem;            // Gets errno where it can't be executed.
  pid_t parent;
};

[[noreturn]] void RunChild(const ChildPlan& plan) {
  const auto refuse = [&plan](int which) {
    const int told[2] = {which, errno};
    [[maybe_unused]] const ssize_t written = write(plan.problem, told, sizeof told);
    _exit(127);
  };
  // It ends with its tenant, however that ends.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != plan.parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) signal(number, SIG_DFL);
  if (plan.input >= 0) dup2(plan.input, STDIN_FILENO);
  if (plan.outputs[0] >= 0) dup2(plan.outputs[0], STDOUT_FILENO);
  if (plan.outputs[1] >= 0) dup2(plan.outputs[1], STDERR_FILENO);
  for (size_t i = 0; i < plan.inherited_count; ++i) fcntl(plan.inherited[i], F_SETFD, 0);
  if (plan.folder[0] != '\0' && chdir(plan.folder) != 0) refuse(0);
  execvpe(plan.argv[0], plan.argv, plan.environment);
  refuse(1);
  _exit(127);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

SteeredProgram::End DescribeEnd(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED)
    return {info.si_status, "exited with status " + std::to_string(info.si_status)};
  return {128 + info.si_status, "was killed by " + SignalText(info.si_status)};
}

}  // namespace

SteeredProgram::SteeredProgram(const ProgramStart& start) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::vector<char*> argv = Pointers(start.arguments);
  const std::vector<char*> environment = Pointers(start.environment);
  UniqueFd input;
  if (!start.has_input) input = UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe problem = MakePipe();
  std::array<UniqueFd, 2> ends;
  if (start.reads_output) {
    for (size_t i = 0; i < ends.size(); ++i) {
      Pipe pipe = MakePipe();
      outputs_[i] = std::move(pipe.out);
      ends[i] = std::move(pipe.in);
      fcntl(outputs_[i].get(), F_SETFL, O_NONBLOCK);
    }
  }
  const ChildPlan plan{.argv = argv.data(),
                       .environment = environment.data(),
                       .folder = start.folder.c_str(),
                       .inherited = start.inherited.data(),
                       .inherited_count = start.inherited.size(),
                       .input = input.get(),
                       .outputs = {ends[0].get(), ends[1].get()},
                       .problem = problem.in.get(),
                       .parent = getpid()};
  pid_ = fork();
  if (pid_ == 0) RunChild(plan);
  if (pid_ < 0) ThrowErrno("starting " + start.arguments.front());
  problem.in.Reset();
  int told[2] = {0, 0};
  ssize_t length;
  do {
    length = read(problem.out.get(), told, sizeof told);
  } while (length < 0 && errno == EINTR);
  if (length == static_cast<ssize_t>(sizeof told)) {
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
    const bool folder = told[0] == 0;
    throw InputError({.key = folder ? "dir" : "command",
                      .problem = (folder ? start.folder : start.arguments.front()) + ": " +
                                 std::generic_category().message(told[1]),
                      .allowed = folder ? "a folder" : "a program, or one in PATH"});
  }
  pidfd_ = PinChild(pid_);
}

SteeredProgram::~SteeredProgram() {
  if (pid_ > 0) KillRest();
}

std::vector<pid_t> SteeredProgram::Processes() const { return DescendantsOf(getpid()); }

// Threads and processes that are born meanwhile inherit either mask: so until nothing is new.
bool SteeredProgram::ConfineTo(const CpuSet& cores, const Topology& topology) const {
  std::vector<pid_t> before;
  for (int look = 0; look < kMostLooks; ++look) {
    const std::vector<pid_t> processes = Processes();
    if (look > 0 && processes == before) return true;
    for (const pid_t process : processes) {
      if (ConfineThreads(process, cores, topology) == Confinement::kRefused) return false;
    }
    before = processes;
  }
  return true;
}

void SteeredProgram::Signal(int signal) const { SignalDescendantsOf(getpid(), signal); }

// It stays a zombie until KillRest, so that its number is nobody else's.
std::optional<SteeredProgram::End> SteeredProgram::Ended() {
  if (end_) return end_;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid == pid_)
    end_ = DescribeEnd(info);
  return end_;
}

void SteeredProgram::ReapOrphans() const {
  for (const pid_t child : ChildrenOf(getpid()))
    if (child != pid_) waitpid(child, nullptr, WNOHANG);
}

void SteeredProgram::KillRest() {
  KillDescendants();
  pid_ = -1;
}

}  // namespace cosched
