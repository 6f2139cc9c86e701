#pragma once
// The instances of services that run, each with the window that is over, for policies that go by
// what these did (bottleneck-first, credit-knee). Pure.

#include <variant>

#include "policies/machine_view.h"

namespace cosched {

// visit(const JobView&, const ServiceView&, const ServerWindow&), service by service. Services that
// are younger than the window, and devices, are left out.
template <typename Visit>
void ForEachRunningInstance(const MachineView& view, Visit visit) {
  for (const ServiceView& service : view.services) {
    if (service.length <= Duration::zero()) continue;
    for (const auto& [server, window] : service.servers) {
      const JobId* id = std::get_if<JobId>(&server);
      const JobView* job = id != nullptr ? view.Find(*id) : nullptr;
      if (job != nullptr && job->IsActive()) visit(*job, service, window);
    }
  }
}

}  // namespace cosched
