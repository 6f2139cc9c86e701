// Every job has a fixed share of its node's cores, beside the others there: as static container
// limits divide a machine. With "equal" the jobs of a node share it evenly; with a number, each has
// that much, and those that do not fit wait, first come first served. The baseline of controllers
// that change shares (ROMA: Baresi, Quattrocchi, Rasi, ICSOC 2021).

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "policies/node_jobs.h"
#include "policies/registry.h"

namespace cosched {
namespace {

constexpr CpuShare kLeastShare{100};  // Below it a container hardly runs.

class StaticShares final : public Policy {
 public:
  explicit StaticShares(std::optional<CpuShare> amount) : amount_(amount) {}

  Allocation Decide(const MachineView& view, const Event&) override {
    Allocation allocation;
    const NodeJobs jobs(view);
    for (size_t node = 0; node < jobs.Nodes(); ++node) {
      CpuShare left = CpuShare::OfCores(view.nodes[node].Count());
      const CpuShare each = Each(left, jobs.Of(node).size());
      for (const auto& [job, rank] : jobs.Of(node)) {
        const CpuShare amount = std::min(each, CpuShare::OfCores(job->request.max));
        if (amount > left) continue;  // It waits.
        left -= amount;
        const bool has_it = job->IsActive() && job->amount == amount;
        if (!has_it)
          allocation.jobs[job->id] =
              Run{.cores = Share{.amount = amount, .node = static_cast<int>(node)}, .split = {}};
      }
    }
    return allocation;
  }

 private:
  CpuShare Each(CpuShare node, size_t jobs) const {
    if (amount_) return *amount_;
    const CpuShare even{node.milli / std::max<int64_t>(1, static_cast<int64_t>(jobs))};
    return std::max(even, kLeastShare);
  }

  const std::optional<CpuShare> amount_;
};

constexpr std::array<PolicyParameter, 1> kStaticSharesParameters{{
    {"amount", "equal", "equal | number >= 0.1 and <= 4096",
     "cores of each job; equal: its node's, divided by the jobs there"},
}};

}  // namespace

PolicyInfo StaticSharesPolicy() {
  return {.name = "static-shares",
          .summary = "each job has a fixed share of its node's cores, beside the others",
          .source = "baseline of ROMA, Baresi et al., ICSOC 2021",
          .parameters = kStaticSharesParameters,
          .shares = true,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            const std::string& amount = parameters.at("amount");
            if (amount == "equal") return std::make_unique<StaticShares>(std::nullopt);
            return std::make_unique<StaticShares>(ShareOf(parameters, "amount"));
          }};
}

}  // namespace cosched
