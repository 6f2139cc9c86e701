#pragma once
// Which pipeline a tenant runs, with all that an experiment says of it. Plain data, from the
// experiment file to the tenant's process.

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/pipelines/align_sort.h"
#include "workloads/pipelines/classify.h"
#include "workloads/pipelines/increment.h"

namespace cosched {

struct PipelineChoice {
  std::string application = {};  // Of PipelineNames(); "": none.
  OpenRequests open = {};
  int ranks = 1;  // Processes that share its calls.
  // Each of that application only, and its `open` is the one above.
  IncrementSettings increment = {};
  AlignSortSettings align_sort = {};
  ClassifySettings classify = {};
};

std::string PipelineNames();  // "increment, align-sort, classify"
bool IsPipelineName(const std::string& name);
// The library that this build of cosched lacked for it; "" = none.
std::string PipelineLacks(const std::string& application);

// What it computes, without how many requests are open, on which the work does not depend:
// "increment pipeline, 3 stages of 1 ms, 8 items".
std::string PipelineProgramName(const PipelineChoice& choice);

// Neither reads files, which MakePipelineProgram does; throws InputError as it does for the rest.
PipelineSpec PipelineSpecOf(const PipelineChoice& choice, int threads = 1);
// Whether other ranks could make calls of it: none can where no stage's items travel.
bool PipelineTravels(const PipelineChoice& choice);
// How many items a request of that work has.
int64_t PipelineItems(const PipelineChoice& choice, double work);
std::vector<std::string> PipelineStages(const PipelineChoice& choice);  // Their names.

// For so many calls side by side at most; networks run as `session` says (program_spec.h's SessionOf).
// Throws InputError for what the application refuses.
PipelineProgram MakePipelineProgram(const PipelineChoice& choice, int threads,
                                    const SessionOptions& session = {});

}  // namespace cosched
