#pragma once
// An application that is a pipeline: its stages, and what each request brings. Made by one function
// an application (increment.h, align_sort.h) from settings of its own; run by a Pipeline, for a
// tenant with mode = "pipeline" or for `cosched pipeline run`.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/gates/payload_codec.h"
#include "engine/gates/pipeline_spec.h"
#include "engine/gates/stage.h"

namespace cosched {

inline constexpr int kMostOpenRequests = 1000;  // That a person may ask for.

// How many requests may be open, which each application sets in its specification.
struct OpenRequests {
  CreditLink link = CreditLink::kLinear;
  int open = 1;
  int open_max = 1;
};

struct PipelineProgram {
  PipelineSpec spec;
  std::vector<StageFactory> stages;                 // In the specification's order.
  std::vector<std::optional<StageTravel>> travels;  // The same; those without stay on rank 0.
  // The items of the request with this number, which is so many times as large as one of work 1;
  // from any thread. What is wrong with a request is told by a stage, which fails it.
  std::function<std::vector<Payload>(int64_t number, double work)> items;
};

}  // namespace cosched
