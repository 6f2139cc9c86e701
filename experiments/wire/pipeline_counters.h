#pragma once
// What is told of a pipeline, out of what it says of itself. Called by the tenant that has one and
// by the host that simulates one. Pure.

#include "engine/gates/pipeline.h"
#include "experiments/wire/stage_counters.h"

namespace cosched {

PipelineCounters CountersOf(const PipelineSample& sample);

}  // namespace cosched
