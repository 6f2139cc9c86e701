// One of several processes under mpirun, for mpi_link_test.cc: a pipeline of two stages that add one,
// over requests of large items. Rank 0 prints what came of it.
//
//   rank_program REQUESTS ITEM_BYTES [RANK_TO_DIE]

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#include "engine/gates/rank_worker.h"
#include "engine/gates/remote_lanes.h"
#include "engine/mpi/mpi_link.h"

namespace cosched {
namespace {

// The first byte of a text counts who was there.
StageTravel TextsTravel() {
  const PayloadCodec codec{
      .encode = [](const Payload& payload) { return payload.As<std::string>(); },
      .decode =
          [](std::string_view bytes, const Payload*) {
            return Payload::Of(std::string(bytes), static_cast<int64_t>(bytes.size()));
          }};
  return {codec, codec};
}

StageFactory AddsOne(int rank, int dies) {
  return [=] {
    return MakeNativeStage([=](StageCall& call, int) {
      if (rank == dies) std::raise(SIGKILL);
      Payload payload = std::move(call.Batch().items.front().payload);
      ++payload.As<std::string>().front();
      ++payload.As<std::string>().back();
      call.Emit(std::move(payload));
      return false;
    });
  };
}

int RunRank0(MpiLink* link, const std::vector<StageFactory>& stages,
             const std::vector<std::optional<StageTravel>>& travels, int requests, size_t bytes) {
  std::mutex mutex;
  int right = 0;
  const PipelineSpec spec{.stages = {{.name = "a"}, {.name = "b"}}, .open = 3, .open_max = 3};
  Pipeline pipeline(spec, stages, {}, [&](const PipelineResult& result) {
    const std::lock_guard lock(mutex);
    bool same = result.answer.status == PipelineAnswer::Status::kDone;
    for (const Payload& payload : result.answer.payloads) {
      const std::string& text = payload.As<std::string>();
      same = same && text.size() == bytes && text.front() == 'c' && text.back() == 'c' &&
             text.find_first_not_of('a', 1) == text.size() - 1;
    }
    right += same && result.answer.payloads.size() == 3 ? 1 : 0;
  });
  RemoteLanes remote(&pipeline, link, travels);
  pipeline.Begin();
  for (int i = 0; i < requests; ++i) {
    std::vector<Payload> items;
    for (int item = 0; item < 3; ++item)
      items.push_back(Payload::Of(std::string(bytes, 'a'), static_cast<int64_t>(bytes)));
    pipeline.Submit({i, std::move(items)});
  }
  pipeline.Drain();
  // Rank 0 has no core while the others make its calls.
  while (pipeline.Sample().open + pipeline.Sample().waiting > 0 && !pipeline.Broken()) usleep(1000);
  pipeline.Pools().Resize(CpuSet{0}, {1, 1});
  try {
    pipeline.WaitUntilOver();
  } catch (const LinkError& error) {
    std::printf("ended: %s\n", error.what());
    std::fflush(stdout);
    return 3;
  }
  std::printf("%d of %d right, %d ranks, %d here\n", right, requests, link->Size(),
              link->Local().count);
  return 0;
}

int RunProgram(int argc, char** argv) {
  MpiLink link;
  const int dies = argc > 3 ? std::atoi(argv[3]) : -1;
  // What the launcher sends to the others of one that died would hide what they find out.
  if (dies >= 0) std::signal(SIGTERM, SIG_IGN);
  const std::vector<StageFactory> stages(2, AddsOne(link.Rank(), dies));
  const std::vector<std::optional<StageTravel>> travels(2, TextsTravel());
  if (link.Rank() == 0)
    return RunRank0(&link, stages, travels, std::atoi(argv[1]),
                    static_cast<size_t>(std::atoll(argv[2])));
  RankWorker worker(&link, stages, travels, {});
  worker.Pools().Resize(CpuSet{0}, {1, 1});
  try {
    worker.Run();
  } catch (const LinkError&) {
    return 3;
  }
  return 0;
}

}  // namespace
}  // namespace cosched

int main(int argc, char** argv) { return cosched::RunProgram(argc, argv); }
