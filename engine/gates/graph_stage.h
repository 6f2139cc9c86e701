#pragma once
// A stage that runs a part of a network (engine/graph/partition.h) on the batches of its gate. Made
// by applications (workloads/pipelines), called by the lanes of a Pipeline, whose cores it computes
// on: pauses and resizes take effect inside an op, as in any session.
//
// Items are a Tensor of one or more rows, each of an image or of what earlier parts made of it. A
// run takes as many items of the batch as fit into the largest network of the part, in their order,
// and is padded to the smallest that holds them. So a row's network, which decides how its sums are
// rounded, follows from the gate alone, where that hands on by ordinal.

#include <memory>

#include "engine/gates/stage.h"
#include "engine/graph/partition.h"
#include "engine/session/session.h"

namespace cosched {

// What becomes an item: each of the items that it took (the gate's batch of several then needs a
// stage that emits many), or all rows of a run, which the next part takes as they are, without
// copies. A batch of no items gives none.
enum class GraphEmits { kItems, kRuns };

// The part's networks are of different batch sizes, in ascending order. `session` says all but the
// pools, which are the pipeline's. Each object keeps a session with packed weights of its own, made
// in its first call; the part is shared. Busy time is from begin to end of runs, pauses in them
// included.
//
// Throws InputError for a fetch that is no rows of images. What a call throws, and its request fails
// with: InputError for an item of another shape or type, or more rows, than the networks take.
// REQUIRES: a network at least; a stage that does not wait.
std::unique_ptr<Stage> MakeGraphStage(std::shared_ptr<const GraphPart> part,
                                      const SessionOptions& session, GraphEmits emits);

}  // namespace cosched
