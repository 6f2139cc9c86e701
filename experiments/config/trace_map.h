#pragma once
// [trace.map] of an experiment file: how the arrivals of a trace become jobs and requests of the
// experiment's workloads. Called by trace_sources.cc.
//
//   workload = "by-weight"            # drawn by the workloads' weights, services alike among
//                                     # themselves; requests go to services where there are any
//            | "by-hash"              # the same, but always the same for one tenant
//            | "NAME"                 # all to this one
//            | { column = "application", cifar10 = "resnet20", default = "reject" | "NAME" }
//   steps = { column = "duration", per_step_s = 0.25, min = 1, max = 500 }   # of jobs; or per_unit
//   work = { column = "GeneratedTokens", per_unit = 0.01, min = 0, max = 100 }   # of requests
//   cores = "workload" | "trace"      # who says how many cores a job asks for; at most all
//   elasticity = { column = "type", rigid = "rigid", evolving = "moldable" }
//
// steps is value / per_step_s, or value x per_unit. A column is one of the file's, or else
// "tenant", "size" or "duration" (seconds).

#include <string>

#include "experiments/config/section.h"
#include "experiments/config/toml_table.h"
#include "traces/trace_mapping.h"

namespace cosched {

struct ExperimentConfig;

const Section<MappingRules>& TraceMapSection();
const Section<MappingRules::Quantity>& QuantitySection();  // steps and work of a map.

// Throws InputError.
MappingRules ReadTraceMap(const TomlTable& map, const ExperimentConfig& config);
// For a trace in the cosched format that is taken as it is: its column "workload" holds names.
MappingRules CoschedMap(const ExperimentConfig& config, bool has_steps);

}  // namespace cosched
