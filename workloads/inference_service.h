#pragma once
// A model that is kept loaded and answers requests in dynamic batches (batch_queue.h). Called by
// the tenant with mode = "serve", hosted (experiments/tenant/hosted_service.h) or by hand.
//
// One graph holds the network once for each batch size (batch_sizes.h), with the same variables. A
// batch in flight occupies a lane: a session of its own, whose Run is one at a time, on pools that
// all lanes share. As many lanes take batches as the split has inter-op threads, so with {inter,
// intra} up to `inter` batches compute side by side, each taken when its lane is free; intra-op
// helpers join whichever of them has work. Resizing the pools is all it takes to resize the
// service: with fewer inter-op threads the surplus lanes end their batch and take no more, with
// none at all (paused) batches stop in the middle of an op and requests keep waiting.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/session/session.h"
#include "workloads/batch_queue.h"
#include "workloads/program.h"

namespace cosched {

struct ServiceSettings : ProgramSpec {
  std::chrono::nanoseconds max_delay{0};  // How long fewer requests than `batch` wait for more.
  std::string weights_file = {};          // See workloads/weights_file.h; "": none.
  // The sizes are those of the pools that the lanes share; the program's part is taken from it.
  SessionOptions session = {};
};

// Requests that were answered together.
struct ServedBatch {
  std::chrono::steady_clock::time_point started, finished;
  std::vector<ServiceQuery> queries;
  // The answers: the class of each one's image (of its first pixel, if a model tells of each).
  std::vector<int> classes;
};

class InferenceService {
 public:
  // Loads the model. Its pools have no cores yet: whoever grants it some resizes them. `answered`
  // is told of every batch when it is through, on the lane's thread, several at a time. Throws
  // InputError for an unknown model, a data set or weights that do not fit it, a precision that
  // this CPU does not have, or batch < 1.
  InferenceService(const ServiceSettings& settings,
                   std::function<void(const ServedBatch&)> answered);
  ~InferenceService();  // Drops what waits. REQUIRES: not paused, if it has begun.
  InferenceService(const InferenceService&) = delete;
  InferenceService& operator=(const InferenceService&) = delete;

  // Runs each batch size once on the cores of the moment, so that the first requests don't wait for
  // kernels to be made, and takes up requests from then on. REQUIRES: once.
  void Begin();

  // From any thread.
  ThreadPools& Pools();
  void Submit(std::span<const ServiceQuery> queries);  // REQUIRES: not drained.
  void Drain();                                        // No more will be submitted.
  int64_t Waiting() const;                             // Not begun.
  // Blocks until it is drained and has answered all. Throws what ended it, if it could not go on.
  void WaitUntilOver();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
