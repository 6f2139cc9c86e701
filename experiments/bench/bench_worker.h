#pragma once
// `cosched bench engine --interactive`: one cell in a process that lives as long as whoever
// compares it with other systems' (experiments/peers/workers.py, where the line protocol is
// described). Called by bench.cc.

#include "engine/base/topology.h"
#include "workloads/engine_run.h"

namespace cosched {

// Until standard input ends. The exit code; throws InputError as EngineRun does, and if a line is
// none of the protocol.
int RunBenchWorker(const EngineCell& cell, const Topology& topology);

}  // namespace cosched
