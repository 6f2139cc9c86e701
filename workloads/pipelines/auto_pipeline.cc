#include "workloads/pipelines/auto_pipeline.h"

namespace cosched {
namespace {

TimePoint TimeOf(std::chrono::steady_clock::time_point time) {
  return TimePoint(time.time_since_epoch());
}

}  // namespace

AutoPipeline::AutoPipeline(Pipeline* pipeline, int most_open)
    : pipeline_(*pipeline), chooser_(pipeline->Pools().Capacity(), most_open) {
  // All splits will be tried; here is somebody to tell that threads can't be had.
  pipeline->Pools().inter().Prepare(pipeline->Pools().inter().Capacity());
  pipeline->Pools().intra().Prepare(pipeline->Pools().intra().Capacity());
}

void AutoPipeline::Answered(const PipelineResult& result, int open_requests) {
  const std::optional<PipelineChooser::Arrangement> next = Next(result, open_requests);
  if (!next) return;
  // Without the lock: whoever opens requests may answer some.
  pipeline_.Pools().Resize(
      {.inter = next->split.inter, .intra = next->split.intra, .cause = "auto"});
  pipeline_.SetOpenRequests(next->open);
}

std::optional<PipelineChooser::Arrangement> AutoPipeline::Next(const PipelineResult& result,
                                                               int open_requests) {
  const std::lock_guard lock(mutex_);
  const WantedThreads wanted = pipeline_.Pools().Wanted();
  if (wanted.paused || wanted.cores.Empty()) {
    chooser_.Paused();
    return std::nullopt;
  }
  return chooser_.Answered({.admitted = TimeOf(result.admitted),
                            .ended = TimeOf(result.ended),
                            .failed = result.answer.status != PipelineAnswer::Status::kDone},
                           wanted.cores, {wanted.split, open_requests},
                           TimeOf(std::chrono::steady_clock::now()));
}

}  // namespace cosched
