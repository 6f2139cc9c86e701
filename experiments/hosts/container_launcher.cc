#include "experiments/hosts/container_launcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/signal_text.h"
#include "experiments/hosts/podman.h"
#include "experiments/hosts/tenant_listener.h"
#include "experiments/os/capture.h"
#include "experiments/os/owner.h"
#include "experiments/wire/tenant_protocol.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;
using Steady = std::chrono::steady_clock;

constexpr int kStartMilliseconds = 20'000;  // How long a Kill waits for a start under way …
constexpr int kContainerDeathMilliseconds = 10'000;  // … and for the kernel.

std::string ReadWord(const fs::path& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

std::string LastLine(const fs::path& file) {
  std::ifstream stream(file);
  std::string last;
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) last = line;
  return last;
}

bool Readable(int fd, int milliseconds) {
  pollfd descriptor{fd, POLLIN, 0};
  int ready;
  do {
    ready = poll(&descriptor, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// How a process that is not our child ended: Linux 6.15 and later tell it through the pidfd once
// its parent (the runtime's monitor) has reaped it. Debian 12's headers don't know this yet.
std::string EndOf(int pidfd) {
  struct Info {
    uint64_t mask, cgroup;
    uint32_t ids[11];
    int32_t exit_code;
  };
  constexpr uint64_t kExit = 1 << 3;
  constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, Info);
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    Info info{};
    info.mask = kExit;
    if (ioctl(pidfd, kGetInfo, &info) != 0) break;
    if ((info.mask & kExit) != 0) {
      const int status = info.exit_code;
      if (WIFEXITED(status)) return "exited with status " + std::to_string(WEXITSTATUS(status));
      return "was killed by " + SignalText(WTERMSIG(status));
    }
    poll(nullptr, 0, 1);
  }
  return "ended";
}

class ContainerTenant final : public LaunchedTenant {
 public:
  ContainerTenant(const ContainerLauncher::Options& options, ContainerPlan plan,
                  const TenantLaunch& launch, TenantGuard* guard, Reaper* reaper)
      : options_(options),
        plan_(std::move(plan)),
        counters_(launch.counters),
        log_(launch.log),
        guard_(guard),
        reaper_(reaper),
        listener_(ListenForTenant(plan_.control / "host")) {
    plan_.arguments = launch.arguments;
    plan_.arguments.push_back(std::string("--host-socket=") + kControlInside + "/host");
    plan_.arguments.push_back(std::string("--control=") + kControlInside + "/tenant");
    Run(RunCommand(plan_), &starter_);
  }
  ~ContainerTenant() override {
    if (!given_up_) Kill();
  }
  ContainerTenant(const ContainerTenant&) = delete;
  ContainerTenant& operator=(const ContainerTenant&) = delete;

  void Advance() override {
    FinishStart();
    if (pid_ < 0 || socket_) return;  // Whoever has connected waits until its container is known.
    TenantConnection connection = AcceptTenant(listener_.get());
    if (!connection.socket) return;
    if (connection.process != pid_ || CpusetPathOf(pid_) != path_) return;  // Refused.
    if (!SendPacket(connection.socket.get(), Encode(WelcomeMessage{}), counters_)) return;
    socket_ = AboveStdio(std::move(connection.socket));
    listener_.Reset();
  }

  pid_t pid() const override { return pid_; }
  int socket() const override { return socket_.get(); }
  std::filesystem::path Control() const override { return plan_.control / "tenant"; }
  std::vector<int> Descriptors() const override {
    return {starter_ ? starter_->pidfd() : -1, pid_ < 0 ? -1 : listener_.get(), pidfd_.get(),
            updater_ ? updater_->pidfd() : -1};
  }

  std::optional<TenantProcess::End> Ended() override {
    if (end_ || pid_ < 0 || !Readable(pidfd_.get(), 0)) return end_;
    const std::string how = EndOf(pidfd_.get());
    end_ = TenantProcess::End{how == "exited with status 0", how};
    if (!socket_) {  // The runtime's word counts: it may have failed to execute the binary.
      end_->how = "its container " + how;
      if (!log_.empty()) end_->said = LastLine(log_);
    }
    return end_;
  }
  void Signal(int signal) override {
    if (pid_ >= 0 && !end_) syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
  }
  bool Kill() override;

  bool HasGroup() const override { return true; }
  void Move(const Place& place) override;
  bool Done() override;
  Times LastTimes() const override { return times_; }
  int MemoryFile() const override { return group_ ? group_->MemoryFile() : -1; }
  Cgroup::Counters Counters() const override {
    Cgroup::Counters counters = group_ ? group_->Read() : Cgroup::Counters();
    used_ = std::max(used_, counters.used.value_or(Duration(0)));
    return counters;
  }
  Duration UsedByOthersChildren() const override { return used_; }

 private:
  // The runtime killed in the middle of its work would leave a container that nobody knows.
  void Run(const std::vector<std::string>& command, std::optional<TenantProcess>* process) {
    process->emplace(TenantProcess::Launch{.binary = command.front(),
                                           .arguments = {command.begin() + 1, command.end()},
                                           .cores = {},
                                           .doors = {},
                                           .inherited = {},
                                           .log = log_,
                                           .outlives = true},
                     guard_, reaper_);
  }
  void FinishStart();
  void Update(const Place& place);

  const ContainerLauncher::Options& options_;
  ContainerPlan plan_;
  const int counters_;
  const fs::path log_;
  TenantGuard* const guard_;
  Reaper* const reaper_;
  UniqueFd listener_, socket_;
  std::optional<TenantProcess> starter_;  // While the container starts.
  pid_t pid_ = -1;                        // The container's first process, as the host sees it.
  UniqueFd pidfd_;
  std::string path_;             // The cgroup's.
  std::optional<Cgroup> group_;  // None where this process may not write to it.
  std::optional<TenantProcess::End> end_;
  bool given_up_ = false;  // The tenant was killed and has not died in time.
  mutable Duration used_{0};

  std::optional<TenantProcess> updater_;  // While the runtime moves it …
  Steady::time_point update_began_;
  std::optional<Place> next_;  // … and where to next.
  Times times_;
};

// Takes up the container once the runtime has started it. Throws std::runtime_error if it has not.
void ContainerTenant::FinishStart() {
  if (!starter_) return;
  const std::optional<TenantProcess::End> end = starter_->Ended();
  if (!end) return;
  starter_.reset();
  if (!end->success) {
    const std::string said = log_.empty() ? "" : ": " + LastLine(log_);
    throw std::runtime_error("its container could not be started: podman " + end->how + said);
  }
  const std::string id = ReadWord(plan_.folder / "id");
  const pid_t pid = std::atoi(ReadWord(plan_.folder / "pid").c_str());
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  path_ = pidfd ? CpusetPathOf(pid) : "";
  if (id.empty() || path_.find(id) == std::string::npos) {
    throw std::runtime_error("its container ended as soon as it had started" +
                             (log_.empty() ? "" : ": " + LastLine(log_)));
  }
  pid_ = pid;
  pidfd_ = std::move(pidfd);
  guard_->Watch(pidfd_.get());
  try {
    group_.emplace(Cgroup::Of(pid_));
  } catch (const std::system_error&) {
    group_.reset();  // The runtime is asked instead.
  }
}

bool ContainerTenant::Kill() {
  if (starter_) {
    // A container that is half started can only be ended by its name.
    if (!Readable(starter_->pidfd(), kStartMilliseconds) && !starter_->Kill()) return false;
    try {
      FinishStart();
    } catch (const std::runtime_error&) {
      Capture(RemoveCommand(plan_.conf, {plan_.name}));
    }
  }
  if (pid_ < 0 || end_) return true;
  Signal(SIGKILL);
  given_up_ = !Readable(pidfd_.get(), kContainerDeathMilliseconds);
  if (given_up_) return false;
  end_ = TenantProcess::End{false, "was killed"};
  return true;
}

void ContainerTenant::Move(const Place& place) {
  if (group_ && options_.actuation == Actuation::kDirect) {
    times_ = {.actuator = std::string(options_.groups.Name()),
              .fast = MoveGroup(place, options_.groups, &*group_)};
    return;
  }
  if (updater_) {
    next_ = place;
  } else {
    Update(place);
  }
}

void ContainerTenant::Update(const Place& place) {
  update_began_ = Steady::now();
  Run(UpdateCommand(plan_.conf, plan_.name, place, options_.groups), &updater_);
}

bool ContainerTenant::Done() {
  if (!updater_) return true;
  const std::optional<TenantProcess::End> end = updater_->Ended();
  if (!end) return false;
  updater_.reset();
  times_ = {.actuator = "runtime", .runtime = Steady::now() - update_began_};
  if (!end->success && !Ended()) throw std::runtime_error("podman update " + end->how);
  if (!next_) return true;
  Update(*std::exchange(next_, std::nullopt));
  return false;
}

fs::path ConfIn(const fs::path& folder) { return folder / "containers.conf"; }

fs::path MakeLauncherFolder() {
  static int launchers = 0;
  const fs::path parent = ContainerFolders();
  fs::path folder = parent / (OwnerName() + "-" + std::to_string(++launchers));
  fs::create_directories(parent);
  // Others must not reach the sockets, whatever the umask is.
  if (mkdir(folder.c_str(), 0700) != 0) {
    throw std::system_error(errno, std::generic_category(), "making " + folder.string());
  }
  return folder;
}

}  // namespace

ContainerLauncher::ContainerLauncher(Options options)
    : options_(std::move(options)),
      folder_(MakeLauncherFolder()),
      guard_([folder = folder_, owner = OwnerName()] {
        RemoveContainersOf(ConfIn(folder), owner);
        std::error_code ignored;
        fs::remove_all(folder, ignored);
      }) {
  CHECK(options_.groups.cpuset) << "a container is moved by its cgroup";
  WriteContainersConf(ConfIn(folder_));
}

ContainerLauncher::~ContainerLauncher() {
  if (!names_.empty()) Capture(RemoveCommand(ConfIn(folder_), names_));
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::unique_ptr<LaunchedTenant> ContainerLauncher::Launch(const TenantLaunch& launch) {
  const std::string job = std::to_string(launch.job.value);
  ContainerPlan plan{.conf = ConfIn(folder_),
                     .folder = folder_ / job,
                     .name = "cosched-" + folder_.filename().string() + "-" + job,
                     .owner = OwnerName(),
                     .place = launch.place,
                     .groups = options_.groups,
                     .binary = fs::canonical(options_.binary),
                     .control = folder_ / job / "control",
                     .folders = launch.folders,
                     .arguments = {}};
  fs::create_directories(plan.control);
  names_.push_back(plan.name);
  return std::make_unique<ContainerTenant>(options_, std::move(plan), launch, &guard_, &reaper_);
}

}  // namespace cosched
