#include "workloads/pipelines/counted_stage.h"

#include <utility>

#include "engine/base/error.h"

namespace cosched {

StageFactory MakeCountedStage(RunPiece run_piece, std::shared_ptr<std::atomic<int64_t>> refused) {
  return [run_piece = std::move(run_piece), refused = std::move(refused)] {
    return MakeNativeStage([run_piece, refused](StageCall& call, int piece) {
      try {
        return run_piece(call, piece);
      } catch (const InputError&) {
        ++*refused;
        throw;
      }
    });
  };
}

}  // namespace cosched
