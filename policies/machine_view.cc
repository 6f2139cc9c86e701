#include "policies/machine_view.h"

namespace cosched {

CpuSet MachineView::FreeCores() const { return cores - (vacating | jobs.Held()); }

double MachineView::Progress(const JobView& job) const {
  return job.started && progress_of ? progress_of(job.id) : 0;
}

double MachineView::StepsLeft(const JobView& job) const {
  return static_cast<double>(job.steps) * (1 - Progress(job));
}

const ServiceView* MachineView::FindService(ServiceId id) const {
  const auto at = static_cast<size_t>(id.value);
  return at < services.size() ? &services[at] : nullptr;
}

}  // namespace cosched
