#pragma once
// Which pipeline a tenant runs, with all that an experiment says of it. Plain data, from the
// experiment file to the tenant's process.

#include <string>
#include <vector>

#include "workloads/pipelines/increment.h"

namespace cosched {

struct PipelineChoice {
  std::string application = {};  // Of PipelineNames(); "": none.
  OpenRequests open = {};
  IncrementSettings increment = {};  // Of that application only; its `open` is the one above.
};

std::string PipelineNames();  // "increment, align-sort"
bool IsPipelineName(const std::string& name);

// What it computes, without how many requests are open, on which the work does not depend:
// "increment pipeline, 3 stages of 1 ms, 8 items".
std::string PipelineProgramName(const PipelineChoice& choice);

// Both as cheap as reading the choice. Throws InputError as MakePipelineProgram does for what can be
// told without reading files.
PipelineSpec PipelineSpecOf(const PipelineChoice& choice);
std::vector<std::string> PipelineStages(const PipelineChoice& choice);  // Their names.

// Throws InputError for what the application refuses.
PipelineProgram MakePipelineProgram(const PipelineChoice& choice);

}  // namespace cosched
