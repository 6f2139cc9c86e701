#pragma once
// Rank 0's side of a pipeline of several ranks: a remote lane is a lane whose call travels. Ranks
// pull: each says how many calls it would make, and gets them as they come up, so a fast one makes
// more. What cannot travel is left to the lanes of the pipeline, which take from the same state.
//
// Called by whoever has the pipeline. Thread-safe.

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/gates/payload_codec.h"
#include "engine/gates/pipeline.h"
#include "engine/gates/rank_link.h"

namespace cosched {

class RemoteLanes {
 public:
  // Both outlive it. `travels`, by stage: those that have none stay here. A rank that is gone breaks
  // the pipeline, which then throws LinkError. Throws ThreadError.
  RemoteLanes(Pipeline* pipeline, RankLink* link, std::vector<std::optional<StageTravel>> travels);
  ~RemoteLanes();  // Tells all ranks that there are no more calls.
  RemoteLanes(const RemoteLanes&) = delete;
  RemoteLanes& operator=(const RemoteLanes&) = delete;

  // The rank computes on these cores from now on, and on none it pauses.
  void Resize(int rank, const CpuSet& cores);

 private:
  struct Wants {
    std::vector<int> stages;
    int calls = 0;
  };
  struct Away {
    int rank = 0;
    RemoteCall call;
    bool told = false;  // That it is cancelled.
  };

  void Serve();
  void Handle(int from, const CallsWanted& message);
  void Handle(int from, CallFinished message);
  void Handle(int from, CallFailed message);
  template <typename Other>
  void Handle(int from, const Other& message);
  Away TakeBack(int from, int64_t call);
  void HandOut();
  bool HandOne(int rank, const Wants& wants);
  void TellCancelled();

  Pipeline& pipeline_;
  RankLink& link_;
  const std::vector<std::optional<StageTravel>> travels_;
  // Of its thread alone:
  std::vector<Wants> wants_;  // By rank.
  std::map<int64_t, Away> away_;
  // Asked by whoever has news:
  std::atomic<bool> wanted_{false}, cancelled_{false}, closing_{false};
  std::thread thread_;
};

}  // namespace cosched
