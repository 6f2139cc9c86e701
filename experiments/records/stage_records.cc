#include "experiments/records/stage_records.h"

#include <algorithm>
#include <utility>

namespace cosched {

void StageRecords::Add(JobId job, std::vector<std::string> stages) {
  stages_.emplace(job, std::move(stages));
}

void StageRecords::Write(const TenantSample& sample) {
  const auto names = stages_.find(sample.job);
  if (names == stages_.end()) return;
  const PipelineCounters& pipeline = sample.pipeline;
  // One that has not said anything yet has no stages.
  const size_t count = std::min(names->second.size(), pipeline.stages.size());
  for (size_t i = 0; i < count; ++i) {
    const StageCounters& stage = pipeline.stages[i];
    file_.Write({.time = sample.time,
                 .job_id = sample.job.value,
                 .stage = names->second[i],
                 .ready = stage.ready,
                 .running = stage.running,
                 .parked = stage.parked,
                 .items = stage.items,
                 .bytes = stage.bytes,
                 .calls = stage.calls,
                 .taken = stage.taken,
                 .busy_s = stage.busy,
                 .lasted_s = stage.lasted,
                 .dropped = stage.dropped,
                 .open = pipeline.open,
                 .open_requests = pipeline.open_requests});
  }
}

}  // namespace cosched
