#pragma once
// A stage that counts what it refuses as bad input, by which a command chooses its exit code: a
// request that fails tells a text, and no kind. Called by the applications when they make stages.

#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/gates/stage.h"

namespace cosched {

// A native stage of these pieces; each InputError that one of them throws adds one.
StageFactory MakeCountedStage(RunPiece run_piece, std::shared_ptr<std::atomic<int64_t>> refused);

}  // namespace cosched
