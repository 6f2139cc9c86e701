#include "experiments/hosts/tenant_with_descendants.h"

#include <utility>

#include "experiments/os/process_children.h"

namespace cosched {
namespace {

class TenantWithDescendants final : public LaunchedTenant {
 public:
  explicit TenantWithDescendants(std::unique_ptr<LaunchedTenant> tenant)
      : tenant_(std::move(tenant)) {}

  void Advance() override { tenant_->Advance(); }
  pid_t pid() const override { return tenant_->pid(); }
  std::vector<pid_t> Others() const override {
    return pid() < 0 ? std::vector<pid_t>() : DescendantsOf(pid());
  }
  pid_t Starter() const override { return tenant_->Starter(); }
  int socket() const override { return tenant_->socket(); }
  std::filesystem::path Control() const override { return tenant_->Control(); }
  std::vector<int> Descriptors() const override { return tenant_->Descriptors(); }
  std::optional<TenantProcess::End> Ended() override { return tenant_->Ended(); }
  void Signal(int signal) override;
  bool Kill() override { return tenant_->Kill(); }
  bool HasGroup() const override { return tenant_->HasGroup(); }
  void Move(const Place& place) override { tenant_->Move(place); }
  bool Done() override { return tenant_->Done(); }
  Times LastTimes() const override { return tenant_->LastTimes(); }
  int MemoryFile() const override { return tenant_->MemoryFile(); }
  Cgroup::Counters Counters() const override { return tenant_->Counters(); }
  Duration UsedByOthersChildren() const override { return tenant_->UsedByOthersChildren(); }

 private:
  const std::unique_ptr<LaunchedTenant> tenant_;
};

// The tenant's own process first: it must not take the others' stopping for their end.
void TenantWithDescendants::Signal(int signal) {
  tenant_->Signal(signal);
  if (pid() >= 0) SignalDescendantsOf(pid(), signal);
}

}  // namespace

std::unique_ptr<LaunchedTenant> WithDescendants(std::unique_ptr<LaunchedTenant> tenant) {
  return std::make_unique<TenantWithDescendants>(std::move(tenant));
}

}  // namespace cosched
