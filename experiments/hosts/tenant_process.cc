#include "experiments/hosts/tenant_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

#include "engine/base/signal_text.h"
#include "engine/base/thread_start.h"
#include "experiments/os/pinned_child.h"

namespace cosched {
namespace {

[[noreturn]] void ThrowErrno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Everything the child needs, ready before the fork: after it, in a process that may have had other
// threads, only async-signal-safe calls are allowed, so no allocation.
struct ChildPlan {
  const char* binary;
  char* const* argv;
  char* const* environment;
  int gate;         // Says whether it is guarded and placed on its cores.
  int gates_other;  // The parent's end.
  const int* doors;
  size_t door_count;
  const int* inherited;
  size_t inherited_count;
  int input, output;  // Become 0, and 1 and 2.
  pid_t parent;
  bool outlives;
};

[[noreturn]] void RunChild(const ChildPlan& plan) {
  // The signal comes when the *thread* that forked ends. That is the harness's own: it makes the
  // host, calls Start and destroys the host, which kills all tenants first (process_host.h: one
  // thread uses it). So it ends before its tenants only when the whole process does.
  // The parent may have died before this took effect; then nobody would ever kill this child.
  if (!plan.outlives && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(TenantProcess::kOrphaned);
  if (getppid() != plan.parent) _exit(TenantProcess::kOrphaned);
  // An own group: Ctrl-C in the terminal is for the harness, which decides what becomes of its
  // tenants.
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) signal(number, SIG_DFL);
  for (size_t i = 0; i < plan.door_count; ++i) {
    if (write(plan.doors[i], "0", 1) != 1) _exit(TenantProcess::kNoCores);
  }
  close(plan.gates_other);
  char placed = 0;
  if (read(plan.gate, &placed, 1) != 1 || placed == 0) _exit(TenantProcess::kNoCores);
  if (dup2(plan.input, 0) < 0 || dup2(plan.output, 1) < 0 || dup2(plan.output, 2) < 0) {
    _exit(TenantProcess::kNoOutput);
  }
  syscall(SYS_close_range, 3u, UINT_MAX, CLOSE_RANGE_CLOEXEC);
  for (size_t i = 0; i < plan.inherited_count; ++i) fcntl(plan.inherited[i], F_SETFD, 0);
  execve(plan.binary, plan.argv, plan.environment);
  _exit(TenantProcess::kNoBinary);
}

constexpr std::chrono::milliseconds kDeathTimeout = std::chrono::seconds(10);

bool HasEnded(int pidfd, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd descriptor{pidfd, POLLIN, 0};
    const int ready = poll(&descriptor, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

struct FreeCpus {
  void operator()(cpu_set_t* cpus) const { CPU_FREE(cpus); }
};

TenantProcess::End Describe(const siginfo_t& info) {
  if (info.si_code != CLD_EXITED) return {false, "was killed by " + SignalText(info.si_status)};
  switch (info.si_status) {
    case 0: return {true, "exited with status 0"};
    case TenantProcess::kNoCores: return {false, "could not be placed on its cores"};
    case TenantProcess::kNoBinary: return {false, "could not be executed"};
    default: return {false, "exited with status " + std::to_string(info.si_status)};
  }
}

}  // namespace

UniqueFd AboveStdio(UniqueFd fd) {
  if (fd.get() > 2) return fd;
  UniqueFd moved(fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  if (!moved) ThrowErrno("moving a descriptor");
  return moved;
}

Reaper::Reaper() : thread_(StartThread("the reaper of tenants", [this] { Run(); })) {}

Reaper::~Reaper() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  news_.notify_one();
  thread_.join();
}

void Reaper::Take(UniqueFd pidfd, std::unique_ptr<Cgroup> group) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_.push_back({std::move(pidfd), std::move(group)});
  }
  news_.notify_one();
}

void Reaper::Know(pid_t child) {
  const std::lock_guard<std::mutex> lock(mutex_);
  known_.insert(child);
}

bool Reaper::Knows(pid_t child) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return known_.contains(child);
}

void Reaper::Run() {
  const sched_param ordinary{.sched_priority = 0};
  sched_setscheduler(0, SCHED_OTHER, &ordinary);
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    news_.wait(lock, [this] { return stopping_ || !ended_.empty(); });
    if (ended_.empty()) return;
    Ended ended = std::move(ended_.back());
    ended_.pop_back();
    lock.unlock();
    if (!HasEnded(ended.pidfd.get(), kDeathTimeout)) {
      // The tenant becomes nobody's child with this process; its group has to stay.
      std::fprintf(stderr, "a killed tenant has not died within %d s; it is left to the kernel\n",
                   static_cast<int>(kDeathTimeout / std::chrono::seconds(1)));
    }
    siginfo_t info{};
    while (waitid(P_PIDFD, static_cast<id_t>(ended.pidfd.get()), &info, WEXITED | WNOHANG) != 0 &&
           errno == EINTR) {
    }
    ended.group = nullptr;
    lock.lock();
    known_.erase(info.si_pid);
  }
}

TenantProcess::TenantProcess(const Launch& launch, TenantGuard* guard, Reaper* reaper,
                             std::unique_ptr<Cgroup> group)
    : reaper_(reaper),
      death_timeout_(launch.death_timeout),
      group_(std::move(group)),
      mark_(NewTenantMark()) {
  std::vector<char*> argv{const_cast<char*>(launch.binary.c_str())};
  for (const std::string& argument : launch.arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  std::vector<char*> environment{mark_.data()};
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  environment.push_back(nullptr);

  constexpr int kCpus = CpuSet::kMaxCpu + 1;
  const std::unique_ptr<cpu_set_t, FreeCpus> cores(CPU_ALLOC(kCpus));
  const size_t cores_size = CPU_ALLOC_SIZE(kCpus);
  CPU_ZERO_S(cores_size, cores.get());
  for (const int cpu : launch.cores) CPU_SET_S(cpu, cores_size, cores.get());

  const UniqueFd input = AboveStdio(UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)));
  UniqueFd output(launch.log.empty()
                      ? fcntl(2, F_DUPFD_CLOEXEC, 3)
                      : open(launch.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!output) ThrowErrno("opening the tenant's log " + launch.log.string());
  output = AboveStdio(std::move(output));

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) ThrowErrno("pipe2");
  UniqueFd reader(ends[0]), writer(ends[1]);
  const std::pair<UniqueFd, UniqueFd> gate(AboveStdio(std::move(reader)),
                                           AboveStdio(std::move(writer)));
  const ChildPlan plan{.binary = launch.binary.c_str(),
                       .argv = argv.data(),
                       .environment = environment.data(),
                       .gate = gate.first.get(),
                       .gates_other = gate.second.get(),
                       .doors = launch.doors.data(),
                       .door_count = launch.doors.size(),
                       .inherited = launch.inherited.data(),
                       .inherited_count = launch.inherited.size(),
                       .input = input.get(),
                       .output = output.get(),
                       .parent = getpid(),
                       .outlives = launch.outlives};
  // By this process and not by the child itself: a host may move the child elsewhere at once, and a
  // child that only then gets its turn must not undo that.
  pid_ = fork();
  if (pid_ == 0) RunChild(plan);
  if (pid_ < 0) ThrowErrno("starting a tenant");
  reaper_->Know(pid_);
  pidfd_ = PinChild(pid_);
  launch.outlives ? guard->Await(pidfd_.get()) : guard->Watch(pidfd_.get());
  const char placed = launch.cores.Empty() || sched_setaffinity(pid_, cores_size, cores.get()) == 0;
  [[maybe_unused]] const ssize_t told = write(gate.second.get(), &placed, 1);
}

TenantProcess::~TenantProcess() {
  if (!end_ && !given_up_) Kill();
  reaper_->Take(std::move(pidfd_), std::move(group_));
}

void TenantProcess::Signal(int signal) {
  if (!end_) syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
}

std::optional<TenantProcess::End> TenantProcess::Wait(int flags) {
  if (end_) return end_;
  siginfo_t info{};
  int result;
  do {
    result = waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOWAIT | flags);
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    end_ = End{false, "was reaped by someone else"};  // SIGCHLD is ignored in this process.
  } else if (info.si_pid != 0) {
    end_ = Describe(info);
  }
  if (!end_) return end_;
  end_->all_gone = group_ ? group_->Kill(death_timeout_) : KillLeftBehind(pid_, mark_, reaper_);
  return end_;
}

std::optional<TenantProcess::End> TenantProcess::Ended() { return Wait(WNOHANG); }

bool TenantProcess::Kill() {
  Signal(SIGKILL);
  given_up_ = !HasEnded(pidfd_.get(), death_timeout_);
  if (given_up_ && group_) group_->Kill(std::chrono::milliseconds(0));  // What it has forked.
  return !given_up_ && Wait(WNOHANG) && end_->all_gone;
}

}  // namespace cosched
