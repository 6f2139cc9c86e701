#pragma once
// Counters, also of a pipeline's stages, a ring of finished steps and a record of each compute thread's waiting, shared by a
// host and one tenant without a message: a sealed memfd that the host creates and the tenant
// inherits. The tenant writes, the host reads; all fields are lock-free atomics. The host trusts
// nothing in it: the size is sealed (a tenant can't shrink it under the host's feet), the host
// keeps its own read index, and an impossible write index is an error. One writing thread for
// steps, one for each record, any for the counters; one reading thread.

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/unique_fd.h"
#include "engine/pool/work_record.h"
#include "experiments/wire/stage_counters.h"

namespace cosched {

// CLOCK_MONOTONIC, which all processes of a machine share.
std::chrono::nanoseconds MonotonicNow();

class SharedCounters {
 public:
  struct Counters {
    int64_t steps = 0;
    int64_t images = 0;
    int active_threads = 0;        // Compute threads awake, in both pools.
    int64_t settled_sequence = 0;  // The grant that the threads follow, ready or not.
    int64_t grows = 0, shrinks = 0;
    std::chrono::nanoseconds last_grow{0}, last_shrink{0};
    int64_t heartbeats = 0;                 // Changes while the tenant is alive.
    std::chrono::nanoseconds heartbeat{0};  // MonotonicNow() of the last one.
    int64_t steps_dropped = 0;              // Steps that found the ring full.
    int64_t requests_answered = 0;          // By a service, so far.
  };
  struct Step {
    int64_t step = 0;                      // 0-based.
    std::chrono::nanoseconds finished{0};  // MonotonicNow().
    std::chrono::nanoseconds duration{0};
    int threads = 0;
    double loss = 0;
  };
  static constexpr size_t kMostStages = 32;   // Of a pipeline.
  static constexpr uint64_t kRingSize = 512;  // Steps between two TakeSteps that are surely kept.
  // The most threads of one pool.
  static constexpr size_t kRecords = static_cast<size_t>(CpuSet::kMaxCpu) + 1;

  // The host's side. Throws std::system_error if the kernel refuses.
  static SharedCounters Create();
  // The tenant's side: takes over the descriptor. Throws std::runtime_error unless it is such a
  // page of this version.
  static SharedCounters Map(UniqueFd fd);
  ~SharedCounters();
  SharedCounters(SharedCounters&& other) noexcept;
  SharedCounters& operator=(SharedCounters&&) = delete;

  int fd() const { return fd_.get(); }

  // The tenant's calls. None blocks or allocates.
  void Beat();
  void SetThreads(int active);
  void SetSettled(int64_t sequence);
  void SetResizes(int64_t grows, std::chrono::nanoseconds last_grow, int64_t shrinks,
                  std::chrono::nanoseconds last_shrink);
  void AddAnswers(int64_t requests);
  // REQUIRES: one caller at a time, as many stages each time, kMostStages at most.
  void SetPipeline(const PipelineCounters& pipeline);
  void AddStep(const Step& step, int images);  // Dropped, and counted as such, if the ring is full.

  // Where the threads of its pools tell of their waiting, for as long as this lives.
  std::span<WorkRecord> InterRecords();
  std::span<WorkRecord> IntraRecords();

  // The host's calls.
  Counters Read() const;
  // What it said last; between two of its changes, some of either.
  PipelineCounters ReadPipeline() const;
  // The same records; what is in them is the tenant's word.
  std::span<const WorkRecord> InterRecords() const;
  std::span<const WorkRecord> IntraRecords() const;
  // Appends the steps since the last call. False, for good, if the tenant has written nonsense.
  bool TakeSteps(std::vector<Step>* steps);

 private:
  struct Page;
  static const size_t kSize;  // In bytes, records included.
  SharedCounters(UniqueFd fd, Page* page);

  UniqueFd fd_;
  Page* page_;
  uint64_t taken_ = 0;  // The host's read index; the tenant sees a copy.
  bool corrupt_ = false;
};

}  // namespace cosched
