#pragma once
// Arranges a pipeline as PipelineChooser finds fastest (split = "auto"). Results do not change with
// its split nor with its open requests. Called by the tenant at each answer; thread-safe. Others may
// resize the pipeline at any time, but the split and the open requests that they ask for do not last.

#include <mutex>

#include "engine/gates/pipeline.h"
#include "workloads/pipelines/pipeline_chooser.h"

namespace cosched {

class AutoPipeline {
 public:
  // The pipeline outlives it. most_open: of its specification.
  AutoPipeline(Pipeline* pipeline, int most_open);

  // Of each answer; open_requests: what the pipeline allows now.
  void Answered(const PipelineResult& result, int open_requests);

 private:
  std::optional<PipelineChooser::Arrangement> Next(const PipelineResult& result, int open_requests);

  Pipeline& pipeline_;
  std::mutex mutex_;
  PipelineChooser chooser_;  // Guarded by it.
};

}  // namespace cosched
