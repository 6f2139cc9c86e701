#include "experiments/hosts/process_launcher.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "engine/base/check.h"
#include "experiments/hosts/process_tree.h"
#include "experiments/hosts/ranked_tenant.h"
#include "experiments/hosts/tenant_in_group.h"
#include "experiments/os/owner.h"
#include "experiments/wire/control_socket.h"
#include "experiments/wire/shared_counters.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

std::pair<UniqueFd, UniqueFd> SocketPair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  UniqueFd first(ends[0]), second(ends[1]);
  return {AboveStdio(std::move(first)), AboveStdio(std::move(second))};
}

class ProcessTenant final : public TenantInGroup {
 public:
  ProcessTenant(const std::filesystem::path& binary, const TenantLaunch& launch,
                std::unique_ptr<Cgroup> group, const GroupSettings& groups, TenantGuard* guard,
                Reaper* reaper)
      : TenantInGroup(group.get(), groups) {
    auto [ours, theirs] = SocketPair();
    socket_ = std::move(ours);
    TenantProcess::Launch start{.binary = binary,
                                .arguments = launch.arguments,
                                .cores = group ? CpuSet() : launch.place.cores,
                                .doors = group ? group->Doors() : std::vector<int>(),
                                .inherited = {theirs.get(), launch.counters},
                                .log = launch.log};
    start.arguments.push_back("--host-fd=" + std::to_string(theirs.get()));
    start.arguments.push_back("--counters-fd=" + std::to_string(launch.counters));
    start.arguments.push_back("--host-pid=" + std::to_string(getpid()));
    process_.emplace(start, guard, reaper, std::move(group));
  }

  void Advance() override {}
  pid_t pid() const override { return process_->pid(); }
  int socket() const override { return socket_.get(); }
  std::filesystem::path Control() const override { return ControlName(process_->pid()); }
  std::vector<int> Descriptors() const override { return {process_->pidfd()}; }
  std::optional<TenantProcess::End> Ended() override { return process_->Ended(); }
  void Signal(int signal) override { process_->Signal(signal); }
  bool Kill() override { return process_->Kill(); }
  Duration UsedByOthersChildren() const override { return Duration(0); }

 private:
  UniqueFd socket_;
  std::optional<TenantProcess> process_;
};

// Several hosts of one process may run a job of the same number.
std::string UniqueName(JobId job) {
  return OwnerName() + "-" + std::to_string(job.value) + "-" +
         std::to_string(MonotonicNow().count());
}

fs::path NewRanksFolder() {
  return RanksFolders() /
         ("cosched-ranks-" + OwnerName() + "-" + std::to_string(MonotonicNow().count()));
}

}  // namespace

ProcessLauncher::ProcessLauncher(fs::path binary, GroupSettings groups)
    : binary_(std::move(binary)),
      groups_(groups),
      ranks_folder_(NewRanksFolder()),
      guard_([folder = ranks_folder_] {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
      }) {
  if (!groups_.cpuset) AdoptOrphans();  // Else a tenant's group holds all that it forks.
}

std::unique_ptr<LaunchedTenant> ProcessLauncher::Launch(const TenantLaunch& launch) {
  std::unique_ptr<Cgroup> group;
  if (groups_.cpuset && launch.has_group) {
    const std::string name = UniqueName(launch.job);
    const bool has_quota = groups_.quota_period.has_value();
    group = std::make_unique<Cgroup>(Cgroup::Create(name, launch.place.cores, has_quota));
    if (has_quota) group->SetLimit(groups_.LimitAt(launch.place));
  }
  if (launch.ranks > 1) {
    return LaunchRanks(binary_, launch, std::move(group), groups_,
                       ranks_folder_ / std::to_string(launch.job.value), &guard_, &reaper_);
  }
  return std::make_unique<ProcessTenant>(binary_, launch, std::move(group), groups_, &guard_,
                                         &reaper_);
}

}  // namespace cosched
