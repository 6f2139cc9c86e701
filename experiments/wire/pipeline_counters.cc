#include "experiments/wire/pipeline_counters.h"

namespace cosched {

PipelineCounters CountersOf(const PipelineSample& sample) {
  PipelineCounters counters{.open = sample.open, .open_requests = sample.open_requests};
  for (const PipelineSample::Stage& stage : sample.stages) {
    counters.stages.push_back({.ready = stage.batches,
                               .running = stage.running,
                               .parked = stage.parked,
                               .items = stage.items,
                               .bytes = stage.bytes,
                               .calls = stage.calls,
                               .taken = stage.taken,
                               .dropped = stage.dropped,
                               .busy = stage.busy,
                               .lasted = stage.lasted,
                               .waits = stage.waits});
  }
  return counters;
}

}  // namespace cosched
