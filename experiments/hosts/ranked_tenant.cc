#include "experiments/hosts/ranked_tenant.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "experiments/hosts/process_tree.h"
#include "experiments/hosts/tenant_in_group.h"
#include "experiments/hosts/tenant_listener.h"
#include "experiments/os/mpirun.h"
#include "experiments/os/process_children.h"
#include "experiments/os/process_sampler.h"
#include "experiments/wire/control_socket.h"
#include "experiments/wire/tenant_protocol.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

bool RankHasEnded(int pidfd) {
  pollfd descriptor{pidfd, POLLIN, 0};
  return poll(&descriptor, 1, 0) == 1;
}

class RankedTenant final : public TenantInGroup {
 public:
  RankedTenant(const fs::path& binary, const TenantLaunch& launch, std::unique_ptr<Cgroup> group,
               const GroupSettings& groups, const fs::path& folder, TenantGuard* guard,
               Reaper* reaper)
      : TenantInGroup(group.get(), groups),
        folder_(folder),
        ranks_(launch.ranks),
        counters_(launch.counters) {
    listener_ = ListenForTenant(folder_.path / "host");
    std::vector<std::string> program = {binary.string()};
    program.insert(program.end(), launch.arguments.begin(), launch.arguments.end());
    program.push_back("--host-socket=" + (folder_.path / "host").string());
    std::vector<std::string> command = MpirunCommand(ranks_, program, folder_.path);
    if (command.empty())
      throw std::runtime_error("its ranks can't be started: there is no mpirun here");
    process_.emplace(TenantProcess::Launch{.binary = command.front(),
                                           .arguments = {command.begin() + 1, command.end()},
                                           .cores = group ? CpuSet() : launch.place.cores,
                                           .doors = group ? group->Doors() : std::vector<int>(),
                                           .inherited = {},
                                           .log = launch.log},
                     guard, reaper, std::move(group));
  }

  void Advance() override;
  pid_t pid() const override { return rank_0_; }
  std::vector<pid_t> Others() const override { return others_; }
  pid_t Starter() const override { return process_->pid(); }
  int socket() const override { return socket_.get(); }
  fs::path Control() const override { return ControlName(rank_0_); }
  std::vector<int> Descriptors() const override;
  std::optional<TenantProcess::End> Ended() override;
  void Signal(int signal) override {
    for (const UniqueFd& rank : pidfds_)
      syscall(SYS_pidfd_send_signal, rank.get(), signal, nullptr, 0);
  }
  bool Kill() override;
  Duration UsedByOthersChildren() const override { return used_by_orphans_; }

 private:
  // Goes when everything in it has ended.
  struct Folder {
    explicit Folder(fs::path to_make) : path(std::move(to_make)) {
      fs::create_directories(path.parent_path());
      // Others must not reach the socket, whatever the umask is.
      if (mkdir(path.c_str(), 0700) != 0)
        throw std::system_error(errno, std::generic_category(), "making " + path.string());
    }
    ~Folder() {
      std::error_code ignored;
      fs::remove_all(path, ignored);
      fs::remove(path.parent_path(), ignored);  // Once the last of them is gone.
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const fs::path path;
  };

  const Folder folder_;
  const int ranks_;
  const int counters_;
  UniqueFd listener_, socket_;
  pid_t rank_0_ = -1;
  std::vector<pid_t> others_;
  std::vector<UniqueFd> pidfds_;  // Of rank 0, then of the others in the order of their processes.
  std::optional<TenantProcess> process_;  // mpirun. Ends before the folder goes.
  std::string first_end_;                 // A rank that was gone before mpirun.
  Duration used_by_orphans_{0};           // CPU time of ranks that mpirun did not live to reap.
};

// Takes up rank 0, which connects when all others are there.
void RankedTenant::Advance() {
  if (socket_) return;
  TenantConnection connection = AcceptTenant(listener_.get());
  if (!connection.socket) return;
  const std::vector<pid_t> ranks = ChildrenOf(process_->pid());
  if (!std::ranges::binary_search(ranks, connection.process)) return;  // Refused.
  if (std::ssize(ranks) != ranks_)
    throw std::runtime_error("has " + std::to_string(ranks.size()) + " ranks in place of " +
                             std::to_string(ranks_));
  for (const pid_t rank : ranks) {
    UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, rank, 0)));
    if (!pidfd) throw std::runtime_error("a rank of it ended as soon as it had started");
    const bool is_rank_0 = rank == connection.process;
    pidfds_.insert(is_rank_0 ? pidfds_.begin() : pidfds_.end(), std::move(pidfd));
    if (!is_rank_0) others_.push_back(rank);
  }
  if (!SendPacket(connection.socket.get(), Encode(WelcomeMessage{}), counters_)) return;
  rank_0_ = connection.process;
  socket_ = AboveStdio(std::move(connection.socket));
  listener_.Reset();
}

bool RankedTenant::Kill() {
  const bool is_reaped_here = !HasGroup() && AdoptsOrphans();
  if (!is_reaped_here && used_by_orphans_ == Duration(0) && rank_0_ != -1) {
    used_by_orphans_ = CpuTimeOf(rank_0_).value_or(Duration(0));
    for (const pid_t rank : others_) used_by_orphans_ += CpuTimeOf(rank).value_or(Duration(0));
  }
  return process_->Kill();
}

std::vector<int> RankedTenant::Descriptors() const {
  std::vector<int> descriptors = {process_->pidfd()};
  if (listener_) descriptors.push_back(listener_.get());
  if (!first_end_.empty()) return descriptors;  // What follows is mpirun's affair.
  for (const UniqueFd& rank : pidfds_) descriptors.push_back(rank.get());
  return descriptors;
}

std::optional<TenantProcess::End> RankedTenant::Ended() {
  for (size_t i = 0; first_end_.empty() && i < pidfds_.size(); ++i) {
    if (RankHasEnded(pidfds_[i].get()))
      first_end_ = i == 0 ? "rank 0" : "the rank that was started as number " + std::to_string(i);
  }
  std::optional<TenantProcess::End> end = process_->Ended();
  if (end && !end->success && !first_end_.empty())
    end->how = first_end_ + " ended before the others, and mpirun " + end->how;
  return end;
}

}  // namespace

fs::path RanksFolders() {
  const fs::path memory = "/dev/shm";
  if (access(memory.c_str(), W_OK | X_OK) == 0) return memory;
  std::error_code none;
  const fs::path temporary = fs::temp_directory_path(none);
  return none ? fs::path("/tmp") : temporary;
}

std::unique_ptr<LaunchedTenant> LaunchRanks(const fs::path& binary, const TenantLaunch& launch,
                                            std::unique_ptr<Cgroup> group,
                                            const GroupSettings& groups, const fs::path& folder,
                                            TenantGuard* guard, Reaper* reaper) {
  return std::make_unique<RankedTenant>(binary, launch, std::move(group), groups, folder, guard,
                                        reaper);
}

}  // namespace cosched
