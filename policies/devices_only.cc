// Devices answer everything: an instance of a service that a device serves too is refused when it
// arrives, so no request ever gets to cores. All other jobs share their node evenly, as with
// static-shares; so do instances of a service that no device serves, for nobody else would answer.
// The baseline of what cores add to devices (ROMA: Baresi, Quattrocchi, Rasi, ICSOC 2021).

#include <algorithm>
#include <vector>

#include "policies/node_jobs.h"
#include "policies/registry.h"

namespace cosched {
namespace {

constexpr CpuShare kLeastOfOthers{100};  // Below it a job hardly runs.

bool IsServedByDevice(const MachineView& view, const JobView& job) {
  const ServiceView* service = job.service ? view.FindService(*job.service) : nullptr;
  return service != nullptr &&
         std::any_of(service->servers.begin(), service->servers.end(), [](const auto& server) {
           return std::holds_alternative<DeviceId>(server.first);
         });
}

class DevicesOnly final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event&) override {
    Allocation allocation;
    const NodeJobs jobs(view);
    std::vector<const JobView*> kept;
    for (size_t node = 0; node < jobs.Nodes(); ++node) {
      kept.clear();
      for (const auto& [job, rank] : jobs.Of(node)) {
        // One that runs already was there before the device.
        const bool refused = job->state == JobState::kWaiting && IsServedByDevice(view, *job);
        if (refused) {
          allocation.jobs[job->id] = Reject{"a device answers for it"};
        } else {
          kept.push_back(job);
        }
      }
      ShareEvenly(view, node, kept, &allocation);
    }
    return allocation;
  }

 private:
  static void ShareEvenly(const MachineView& view, size_t node,
                          const std::vector<const JobView*>& jobs, Allocation* allocation) {
    CpuShare left = CpuShare::OfCores(view.nodes[node].Count());
    const auto count = std::max<int64_t>(1, static_cast<int64_t>(jobs.size()));
    const CpuShare each = std::max(CpuShare{left.milli / count}, kLeastOfOthers);
    for (const JobView* job : jobs) {
      const CpuShare amount = std::min(each, CpuShare::OfCores(job->request.max));
      if (amount > left) continue;  // It waits.
      left -= amount;
      if (job->IsActive() && job->amount == amount) continue;
      allocation->jobs[job->id] =
          Run{.cores = Share{.amount = amount, .node = static_cast<int>(node)}, .split = {}};
    }
  }
};

}  // namespace

PolicyInfo DevicesOnlyPolicy() {
  return {.name = "devices-only",
          .summary = "refuses instances of services that a device serves; the others share evenly",
          .source = "baseline of ROMA, Baresi et al., ICSOC 2021",
          .shares = true,
          .on_settled = false,
          .make = [](const PolicyParameters&) -> std::unique_ptr<Policy> {
            return std::make_unique<DevicesOnly>();
          }};
}

}  // namespace cosched
