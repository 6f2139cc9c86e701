#pragma once
// Rank 0's side of a pipeline of several ranks: a remote lane is a lane whose call travels. Ranks
// pull: each says how many calls it would make, and gets them as they come up, so a fast one makes
// more. What cannot travel is left to the lanes of the pipeline, which take from the same state.
//
// A rank that has fewer lanes than before ends the calls that it has, and gets no more than its lanes
// can make. One that pauses holds nobody up if it `gives_back`: what it had, begun or not, others
// make from its beginning, and what it makes of it itself, once it goes on, is thrown away.
//
// Called by whoever has the pipeline. Thread-safe.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "engine/gates/payload_codec.h"
#include "engine/gates/pipeline.h"
#include "engine/gates/rank_link.h"

namespace cosched {

// What a rank has of its tenant's cores.
struct RankPlace {
  CpuSet cores = {};        // That it computes on; none: it pauses.
  Split split = {1, 1};     // Its threads there, as far as it can have them.
  CpuSet home = {};         // Where its other threads are; none: where they were.
  bool gives_back = false;  // The calls that it has, while it pauses; else they wait with it.
};

class RemoteLanes {
 public:
  // Both outlive it. `travels`, by stage: those that have none stay here. A rank that is gone, or
  // can't serve, breaks the pipeline, which then throws LinkError, or InputError where that is because
  // of what a person gave it. Throws ThreadError.
  RemoteLanes(Pipeline* pipeline, RankLink* link, std::vector<std::optional<StageTravel>> travels);
  ~RemoteLanes();  // Tells all ranks that there are no more calls.
  RemoteLanes(const RemoteLanes&) = delete;
  RemoteLanes& operator=(const RemoteLanes&) = delete;

  void Resize(int rank, const RankPlace& place);
  // Until each of the ranks has begun to serve. Throws as the pipeline does, if one can't.
  void WaitForRanks();

 private:
  struct Wants {
    std::vector<int> stages;
    int calls = 0;
  };
  struct Away {
    int rank = 0;
    RemoteCall call;
    bool told = false;       // That it is cancelled.
    bool withdrawn = false;  // Others make it; what comes of it is nothing to anybody.
  };
  struct Limit {
    int lanes = std::numeric_limits<int>::max();
    bool gives_back = false;
  };

  void Serve();
  void Handle(int from, const CallsWanted& message);
  void Handle(int from, CallFinished message);
  void Handle(int from, CallFailed message);
  void Handle(int from, const RankFailed& message);
  template <typename Other>
  void Handle(int from, const Other& message);
  Away TakeBack(int from, int64_t call);
  bool HasLane(int rank);
  void HandOut();
  bool HandOne(int rank, const Wants& wants);
  void TellCancelled();
  void Withdraw();

  Pipeline& pipeline_;
  RankLink& link_;
  const std::vector<std::optional<StageTravel>> travels_;
  // Of its thread alone:
  std::vector<Wants> wants_;      // By rank.
  std::map<int64_t, Away> away_;  // By what their rank knows them by: a call may be sent again.
  int64_t next_sent_ = 0;

  std::mutex mutex_;  // Guards these:
  std::condition_variable news_;
  std::vector<Limit> limits_;  // By rank.
  std::vector<bool> serves_;   // The same: whether it has begun to.
  std::exception_ptr error_;   // What ended the thread.
  // Asked by whoever has news:
  std::atomic<bool> wanted_{false}, cancelled_{false}, closing_{false};
  std::thread thread_;
};

}  // namespace cosched
