#pragma once
// Writes what happens in one cell (policy x elasticity x trial) as raw, typed rows into
// results/<experiment>/<run>/<policy>/<elasticity>/<trial>/. Metrics are derived later
// (experiments/analysis/metrics.h), never averaged here. Rows are flushed as they are written (but
// see `buffer`). Used by the harness on one thread.
//
//   jobs.csv       a row a job, when it ends; Batsim's column names. submission_time is when its
//                  trace has it arrive, and all its times count from then; lateness is how much
//                  later the harness handed it to the policy. alone_s is what it takes by itself on
//                  its preferred cores, by the profile's speed curve; empty without one
//   grants.csv     every change of who owns which core; kind: submitted (when the policy was told
//                  of the job), granted, settled or released. `cores` is the latest grant, `owned`
//                  also has the cores that the job has not left yet: what must not overlap
//   decisions.csv  every answer of the policy, once its grants settled
//                  (experiments/records/decision_log.h)
//   samples.csv    every tenant at every sampling instant; counters are since its start.
//                  throttled_us and pressure_us are of its cgroup: empty where it has none.
//                  spin_time_s is the part of run_time_s that compute threads spent looking for
//                  work; runnable_threads has no thread that does
//   steps.csv      every step of every tenant
//   resizes.csv    every resize of a tenant's pools, as the tenant reports it: who asked for it,
//                  its threads before and after, the op that ran when it was asked for, and the
//                  time from then until the last thread was in its place
//   actuations.csv how the host moved a tenant, a row a grant or pause: by what, and how long the
//                  write to the cgroup (fast_us) or the container runtime's own update (runtime_us)
//                  took; a pause has no cores, and its process is stopped ("stop": fast_us is the
//                  time from SIGSTOP until every thread was seen stopped)
//   requests.csv   only where the experiment has services: every request that was sent, when it is
//                  answered or dropped: when it was due (scheduled), taken up by the harness (sent:
//                  sent - scheduled is the harness's own lag), got by the service (received:
//                  taken from its socket; simulated, at once), begun (started) and answered
//                  (finished); how many were answered with it (batch).
//                  A dropped one has no answer, because its service failed, or the cell
//   timeline.json  all of it for Perfetto (experiments/records/timeline.h)
//   interference.csv  on request: how long compute threads of job `victim` waited for a core
//                  because of `culprit`: a job, self, or other (experiments/records/interference.h)
//
// Which of these are written is the experiment's choice ([records]): jobs.csv and cell.json always
// are; a file that is off is not there. A million simulated jobs would write gigabytes of the
// others (experiments/launch/records_size.h). With compress = "gzip" all but interference.csv and
// cell.json are compressed, and .gz is behind their names; every reader takes either.
//
// What a simulated run does not model is 0 or empty; experiments/hosts/simulation/simulated_host.h
// says what.
//
// While the cell runs its folder is named "<trial>.partial"; Finish() renames it, so that a folder
// without the suffix is whole. A cell that is run anew takes the old one's place only then. Throws
// OutputError when a row can't be written (full disk).

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/split.h"
#include "experiments/records/interference.h"
#include "experiments/records/records_config.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/arbiter.h"

namespace cosched {

struct CellKey {
  std::string policy;
  Elasticity elasticity = Elasticity::kMalleable;
  int trial = 1;  // 1-based.
  friend auto operator<=>(const CellKey&, const CellKey&) = default;
};
std::string ToString(const CellKey& key);  // "max-prop/malleable/1"
std::filesystem::path CellFolder(const std::filesystem::path& run,
                                 const CellKey& key);  // Of a whole cell.
std::filesystem::path PartialFolder(const std::filesystem::path& run,
                                    const CellKey& key);  // While it is being recorded.

// What became of a request.
struct RequestRecord {
  int64_t id = 0;
  JobId job;
  std::string_view service;
  TimePoint scheduled, sent;
  double work = 1;
  std::optional<Duration> slo;
  const RequestSample* answer = nullptr;  // Null = dropped.
};

class CellRecords final : public ArbiterObserver {
 public:
  // Makes the ".partial" folder anew (an older partial one is removed) and writes the headers.
  // buffer: bytes of a file that may wait in memory (OutputFile); for cells that can be made again.
  CellRecords(const std::filesystem::path& run, const CellKey& key, const CpuSet& machine_cores,
              const RecordsConfig& config = {}, size_t buffer = 0);
  ~CellRecords() override;  // Without Finish() the folder stays partial.

  void OnSubmitted(TimePoint time, const Job& job) override;
  bool WantsDecisions() const override;
  void OnDecision(TimePoint time, int64_t decision, const std::string& event,
                  const std::string& allocation, Duration decision_time) override;
  void OnStarted(TimePoint time, JobId job, const CpuSet& cores, Split split) override;
  void OnGrant(TimePoint time, JobId job, const CpuSet& cores, Split split) override;
  void OnSettled(TimePoint time, JobId job, const CpuSet& cores, int64_t decision,
                 Duration since) override;
  // Writes the job's row: hand over its last samples and steps (OnSample, OnStep, …) before
  // the arbiter learns of its end.
  void OnEnded(TimePoint time, JobId job, JobEnd end, const std::string& reason) override;
  void OnSample(const TenantSample& sample);
  void OnStep(const StepSample& step);
  void OnResize(const ResizeSample& resize);
  void OnActuation(const ActuationSample& actuation);
  void AddService(JobId job);  // It answers requests: cell.json names it.
  void OnRequest(const RequestRecord& request);
  void WriteInterference(const Interference::Matrix& matrix);
  // Something that a reader of the results must know, e.g. "the generator fell behind by 3.1 s".
  // Kept in cell.json.
  void Mark(const std::string& mark);

  // Completes timeline.json, writes cell.json ({policy, elasticity, trial, status, reason,
  // machine_cores, submitted, marks; where there are services also their jobs and the number of
  // requests}) and renames the folder. status: "done", or "failed" with the reason (e.g. the policy
  // broke its contract).
  void Finish(const std::string& status, const std::string& reason);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
