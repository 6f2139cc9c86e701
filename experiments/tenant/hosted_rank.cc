#include "experiments/tenant/hosted_rank.h"

#include <unistd.h>

#include <chrono>
#include <optional>

#include "engine/gates/rank_worker.h"
#include "experiments/os/thread_affinity.h"
#include "experiments/tenant/hosted_pipeline.h"
#include "experiments/tenant/placed_threads.h"
#include "workloads/pipelines/pipeline_choice.h"

namespace cosched {
namespace {

// A worker that leaves ends its task where it is, which is short; it may be moved before, too.
constexpr auto kForLeavingWorkers = std::chrono::milliseconds(10);

}  // namespace

int ServeHostedRank(RankLink* link, const TenantSpec& spec, const SessionOptions& session,
                    const Topology& topology) {
  const std::optional<PipelineProgram> program = MakeOrRefuse(link, [&] {
    return MakePipelineProgram(spec.pipeline, session.inter_op_parallelism_threads, session);
  });
  if (!program) return 1;
  RankWorker worker(link, program->stages, program->travels, PipelineSettingsOf(session));
  worker.OnHome([&](const CpuSet& home) {
    worker.Pools().WaitSettled(kForLeavingWorkers);
    ConfineThreads(getpid(), home, topology, PlacedThreadsOf(&worker.Pools()));
  });
  try {
    worker.Run();
  } catch (const RankGone&) {
    return 1;  // Rank 0 tells who is gone, or is it, which its host sees.
  }
  return 0;
}

}  // namespace cosched
