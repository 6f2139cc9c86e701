#pragma once
// The smallest pipeline: each stage adds one to each item, which it may take time for, on a core or
// waiting, and a last one may add up the items of each request. What a pipeline costs, and what
// overlapping waits gain, is seen by it and nothing else.

#include <cstdint>

#include "engine/base/clock.h"
#include "workloads/pipelines/pipeline_program.h"

namespace cosched {

inline constexpr const char* kIncrementName = "increment";
inline constexpr int64_t kMostIncrementItems = 1'000'000;

struct IncrementSettings {
  OpenRequests open = {};
  int stages = 3;
  int64_t items = 8;  // Of each request.
  Duration work{0};   // CPU time that a stage takes for an item,
  // or how long it waits for one, on no core. With both every other stage waits; the first one does.
  Duration wait{0};
  int parallel = 1;  // Items that a stage waits for at once.
  // How long a last stage, "merge", takes for the items of a request, which it waits for where the
  // one above it waits; 0: there is none.
  Duration merge{0};
  int merges = 1;  // Requests that it merges at once.
};

int64_t IncrementItems(const IncrementSettings& settings, double work);

// The items of request n are int64_t from n x items on, items x work of them; an answer's are larger
// by the stages, or one that is their sum. Throws InputError for values that make no sense.
PipelineProgram MakeIncrement(const IncrementSettings& settings);

}  // namespace cosched
