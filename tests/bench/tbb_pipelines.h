#pragma once
// cosched's stages, object by object, in oneTBB's two forms of a pipeline: parallel_pipeline, and the
// flow graph with a limiter_node for tokens and, where order matters, a sequencer_node. What a
// Pipeline is compared with by bench_pipelines_peers.cc. On the threads of the calling arena.

#include <cstdint>
#include <functional>

#include "workloads/pipelines/pipeline_program.h"

namespace cosched {

// One request of align-sort; the file is the same as a Pipeline's.
void AlignSortByTbbPipeline(const PipelineProgram& program, int64_t request, size_t tokens);
void AlignSortByTbbFlowGraph(const PipelineProgram& program, int64_t request, size_t tokens);

// One request through so many stages that each add one to an item, in any order. Returns the sum of
// the items that leave.
int64_t AddByTbbPipeline(int stages, std::vector<Payload> items, size_t tokens);
int64_t AddByTbbFlowGraph(int stages, std::vector<Payload> items, size_t tokens);

// Requests from 0 on, on so many threads and so many at once: a pipeline around theirs.
void RequestsByTbb(size_t threads, size_t open, int64_t requests,
                   const std::function<void(int64_t)>& run);

}  // namespace cosched
