#include "policies/machine_view.h"

namespace cosched {

const JobView* MachineView::Find(JobId id) const {
  for (const JobView& job : jobs) {
    if (job.id == id) return &job;
  }
  return nullptr;
}

CpuSet MachineView::FreeCores() const {
  CpuSet held = vacating;
  for (const JobView& job : jobs) {
    if (job.IsActive()) held = held | job.cores;
  }
  return cores - held;
}

}  // namespace cosched
