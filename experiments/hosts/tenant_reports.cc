#include "experiments/hosts/tenant_reports.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cosched {

void TenantReports::AddActuation(TimePoint now, const CpuSet& cores,
                                 const LaunchedTenant::Times& times) {
  actuations_.push_back({.job = job_,
                         .time = now,
                         .cores = cores,
                         .actuator = times.actuator,
                         .fast = times.fast,
                         .runtime = times.runtime});
}

void TenantReports::TakeResizes(TimePoint now, std::vector<ResizeSample>* resizes) {
  for (const ResizedMessage& resized : std::exchange(resizes_, {})) {
    const TimePoint finished(resized.finished - epoch_);
    resizes->push_back({.job = job_,
                        .time = std::clamp(finished, started_, now),
                        .cause = std::string(ToString(resized.cause)),
                        .before = resized.before,
                        .after = resized.after,
                        .cores = resized.cores,
                        .op = resized.op,
                        .taken = resized.time});
  }
}

void TenantReports::TakeActuations(std::vector<ActuationSample>* actuations) {
  actuations->insert(actuations->end(), actuations_.begin(), actuations_.end());
  actuations_.clear();
}

}  // namespace cosched
