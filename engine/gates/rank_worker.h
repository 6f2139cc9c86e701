#pragma once
// What a rank other than 0 does: it makes calls of a pipeline's stages on cores of its own, as many
// side by side as its split has inter-op threads, and asks for another one when a lane is free.
// Cancelling, failing, resizing and pausing take effect inside a call, as on rank 0. A call that is
// under way while the rank is paused waits with it, whether or not others make it meanwhile.
//
// Called by `cosched pipeline run` and tenants of several ranks, in the processes of these ranks.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/gates/payload_codec.h"
#include "engine/gates/pipeline.h"
#include "engine/gates/rank_link.h"
#include "engine/gates/stage.h"
#include "engine/gates/stage_objects.h"

namespace cosched {

class RankWorker {
 public:
  // `stages` and `travels`: all of the pipeline's, in order; of those that don't travel it makes
  // nothing. Its pools have no cores yet. The link outlives it. REQUIRES: as many as each other.
  RankWorker(RankLink* link, std::vector<StageFactory> stages,
             std::vector<std::optional<StageTravel>> travels, const PipelineSettings& settings);
  // Ends its calls at their next piece.
  ~RankWorker();
  RankWorker(const RankWorker&) = delete;
  RankWorker& operator=(const RankWorker&) = delete;

  ThreadPools& Pools();
  // `home` is called in Run, after each resize that says where threads of this process are to be
  // that compute nothing. Null: none. REQUIRES: before Run.
  void OnHome(std::function<void(const CpuSet& cores)> home);
  // Makes calls until rank 0 has no more. Throws LinkError if a rank is gone, ThreadError, and what a
  // lane could not go on with. REQUIRES: once.
  void Run();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// In place of a worker, where there can be none. Rank 0 is told why, and ends. Returns when all do.
void RefuseToServe(RankLink* link, const StageFailure& why);

// What `make` gives; where it throws, that is told as RefuseToServe does, and nothing returned.
template <typename Make>
auto MakeOrRefuse(RankLink* link, const Make& make) -> std::optional<decltype(make())> {
  try {
    return make();
  } catch (...) {
    RefuseToServe(link, WhyStageThrew());
  }
  return std::nullopt;
}

}  // namespace cosched
