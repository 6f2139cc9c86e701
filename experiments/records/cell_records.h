#pragma once
// Writes what happens in one cell (policy x elasticity x trial) as raw, typed rows into
// results/<experiment>/<run>/<policy>/<elasticity>/<trial>/. Metrics are derived later
// (experiments/analysis/metrics.h), never averaged here. Rows are flushed as they are written (but
// see `buffer`). Used by the harness on one thread.
//
//   jobs.csv       a row a job, when it ends
//   grants.csv     every change of who owns which core
//   decisions.csv  every answer of the policy, once its grants settled
//   samples.csv    every tenant at every sampling instant
//   steps.csv      every step of every tenant
//   resizes.csv    every resize of a tenant's pools, as the tenant reports it
//   actuations.csv how the host moved a tenant, a row a grant or pause
//   memory.csv     only where a tenant has moved to other NUMA nodes: what became of its memory
//   stages.csv     only where it has pipelines: every stage of each at every sampling instant
//   requests.csv   only where the experiment has services: every request, answered or dropped
//   devices.csv    only where the experiment has devices: every hold of a slot
//   objectives.csv only where a service has one: the mean response wanted of it, and since when
//   timeline.json  all of it for Perfetto (experiments/records/timeline.h)
//   interference.csv  on request: who made whose threads wait
//   cell.json      what became of the cell (experiments/records/cell_file.h)
//   submitted.csv, queues.csv  only while it runs (experiments/records/live_records.h)
//
// experiments/records/rows.h has the columns of each table.
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
#include <tuple>
#include <vector>

#include "engine/base/split.h"
#include "experiments/records/column.h"
#include "experiments/records/interference.h"
#include "experiments/records/records_config.h"
#include "experiments/wire/device_spec.h"
#include "experiments/wire/memory_move.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/arbiter.h"

namespace cosched {

struct CellKey {
  std::string policy;
  Elasticity elasticity = Elasticity::kMalleable;
  int trial = 1;  // 1-based.
  friend auto operator<=>(const CellKey&, const CellKey&) = default;

  // In front of every row of summary.csv and services.csv.
  static constexpr auto Columns() {
    return std::tuple{
        TableColumn{"policy", &CellKey::policy},
        TableColumn{"elasticity", [](const CellKey& key) { return ToString(key.elasticity); }},
        TableColumn{"trial", &CellKey::trial}};
  }
};
std::string ToString(const CellKey& key);  // "max-prop/malleable/1"
std::filesystem::path CellFolder(const std::filesystem::path& run,
                                 const CellKey& key);  // A whole cell's folder.
std::filesystem::path PartialFolder(const std::filesystem::path& run,
                                    const CellKey& key);  // While it is being recorded.

// What became of a request.
struct RequestRecord {
  int64_t id = 0;
  std::optional<JobId> job;  // An instance that was to answer it; none = a device was.
  std::string_view device;   // Its name; "" = none.
  std::string_view service;
  TimePoint scheduled, sent;
  std::optional<TimePoint> dispatched;  // To a server; none = it never was.
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
  void OnStarted(TimePoint time, JobId job, const Place& place) override;
  void OnGrant(TimePoint time, JobId job, const Place& place) override;
  void OnSettled(TimePoint time, JobId job, const Place& place, int64_t decision,
                 Duration since) override;
  // Writes the job's row: hand over its last samples and steps (OnSample, OnStep, …) before
  // the arbiter learns of its end.
  void OnEnded(TimePoint time, JobId job, JobEnd end, const std::string& reason) override;
  void OnSample(const TenantSample& sample);
  void OnStep(const StepSample& step);
  void OnResize(const ResizeSample& resize);
  void OnActuation(const ActuationSample& actuation);
  void OnMemoryMove(const MemoryMove& move);
  void AddService(JobId job);  // The job answers requests: cell.json names it.
  void AddPipeline(JobId job, std::vector<std::string> stages);  // The job has these stages.
  void OnRequest(const RequestRecord& request);
  // A slot of the device of that name was held for the service.
  void OnHold(const HoldSample& hold, std::string_view device, std::string_view service);
  // From then on that service is to have that mean response in a window.
  void OnObjective(TimePoint time, std::string_view service, Duration objective, Duration window);
  // So many requests of the service wait in front, and are at its servers, for who watches the cell.
  void OnQueue(TimePoint time, std::string_view service, int64_t queued, int64_t in_flight);
  void WriteInterference(const Interference::Matrix& matrix);
  // Something that a reader of the results must know, e.g. "the generator fell behind by 3.1 s".
  // Kept in cell.json.
  void Mark(const std::string& mark);

  // Completes timeline.json, writes cell.json and renames the folder. status: "done", or "failed"
  // with the reason (e.g. the policy broke its contract).
  void Finish(const std::string& status, const std::string& reason);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
