#include "workloads/pipelines/auto_pipeline.h"

#include <algorithm>

namespace cosched {

AutoPipeline::AutoPipeline(Pipeline* pipeline, int most_open)
    : pipeline_(*pipeline),
      // Any two calls may run side by side, so as many inter-op threads as there are can be of use.
      chooser_(pipeline->Pools().Capacity().inter, pipeline->Pools().Capacity(), most_open) {}

void AutoPipeline::Answered(const PipelineResult& result, int open_requests) {
  Split split;
  int open = 0;
  {
    const std::lock_guard lock(mutex_);
    const WantedThreads wanted = pipeline_.Pools().Wanted();
    if (wanted.paused || wanted.cores.Empty()) {
      begun_.reset();
      return;
    }
    if (!MustChange(wanted, open_requests)) {
      Count(result);
      // What it counted may have ended a visit.
      if (!MustChange(wanted, open_requests)) return;
    }
    split = split_;
    open = open_;
  }
  // Without the lock: whoever opens requests may answer some.
  pipeline_.Pools().Resize({.inter = split.inter, .intra = split.intra, .cause = "auto"});
  pipeline_.SetOpenRequests(open);
}

bool AutoPipeline::MustChange(const WantedThreads& wanted, int open_requests) {
  const Split split = chooser_.Next(wanted.cores.Count());
  const int open = chooser_.Open();
  const bool as_it_should =
      wanted.split == split && open_requests == open && wanted.cores == cores_;
  const bool measured = split == split_ && open == open_ && wanted.cores == cores_;
  if (!measured || !as_it_should) {
    split_ = split;
    open_ = open;
    cores_ = wanted.cores;
    since_ = Clock::now();
    begun_.reset();
  }
  return !as_it_should;
}

void AutoPipeline::Count(const PipelineResult& result) {
  if (result.admitted < since_) return;
  // What failed was not inside for as long as its stages take.
  if (result.answer.status != PipelineAnswer::Status::kDone) {
    begun_.reset();
    return;
  }
  if (!begun_) {
    begun_ = result.ended;
    answers_ = 0;
    inside_ = {};
    return;
  }
  ++answers_;
  inside_ += result.ended - result.admitted;
  if (answers_ <= open_) return;
  const Clock::duration apart = result.ended - *begun_;
  const std::chrono::duration<double> answer = std::min(inside_, apart) / answers_;
  chooser_.Note(answer.count());
  begun_.reset();
}

}  // namespace cosched
