#pragma once
// The tables of a cell's folder (experiments/records/cell_records.h): a struct a table, which is a
// row of it, with its columns listed once. A new column is a member and a line of the list here,
// and what CellRecords puts there. Plain data, shared by whoever writes and reads them.
//
// Members are the columns' names. What is optional may be an empty cell. Texts belong to whoever
// made the row; those of a row that was read are valid until the next one is.

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "engine/base/cpu_set.h"
#include "experiments/records/column.h"

namespace cosched {

// A row a job, when it ends; Batsim's column names. submission_time is when its trace has it
// arrive, and all its times count from then.
struct JobRow {
  int64_t job_id = 0;
  std::string_view workload;
  std::string_view elasticity;
  int priority = 0;
  int requested_min = 0, requested_preferred = 0, requested_max = 0;
  RecordedTime submission_time;
  std::optional<RecordedTime> starting_time =
      {};  // Absent if it never was started; so are the others.
  RecordedTime finish_time;
  std::optional<RecordedTime> waiting_time = {}, execution_time = {};
  RecordedTime turnaround_time;
  std::optional<double> stretch = {};
  CpuSet allocated_resources;  // The last cores it had.
  int threads = 0;
  int resizes = 0;
  std::string_view state;  // "finished", "failed", "rejected", "cancelled" or "declined",
  std::string_view reason;
  int64_t steps = 0;
  std::optional<int64_t> images = {};  // Only samples tell.
  // By itself on its preferred cores, by the profile's speed curve; absent without one.
  std::optional<double> alone_s = {};
  RecordedTime lateness;  // How much later the harness handed it to the policy.

  static constexpr std::string_view kFile = "jobs.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"job_id", &JobRow::job_id},
                      TableColumn{"workload", &JobRow::workload},
                      TableColumn{"class", &JobRow::elasticity},
                      TableColumn{"priority", &JobRow::priority},
                      TableColumn{"requested_min", &JobRow::requested_min},
                      TableColumn{"requested_preferred", &JobRow::requested_preferred},
                      TableColumn{"requested_max", &JobRow::requested_max},
                      TableColumn{"submission_time", &JobRow::submission_time},
                      TableColumn{"starting_time", &JobRow::starting_time},
                      TableColumn{"finish_time", &JobRow::finish_time},
                      TableColumn{"waiting_time", &JobRow::waiting_time},
                      TableColumn{"execution_time", &JobRow::execution_time},
                      TableColumn{"turnaround_time", &JobRow::turnaround_time},
                      TableColumn{"stretch", &JobRow::stretch, Decimals{6}},
                      TableColumn{"allocated_resources", &JobRow::allocated_resources},
                      TableColumn{"threads", &JobRow::threads},
                      TableColumn{"resizes", &JobRow::resizes},
                      TableColumn{"state", &JobRow::state},
                      TableColumn{"reason", &JobRow::reason},
                      TableColumn{"steps", &JobRow::steps},
                      TableColumn{"images", &JobRow::images},
                      TableColumn{"alone_s", &JobRow::alone_s, Decimals{6}},
                      TableColumn{"lateness", &JobRow::lateness}};
  }
};

// Every change of who owns which core.
struct GrantRow {
  RecordedTime time;
  int64_t job_id = 0;
  // "submitted" (when the policy was told of the job), "granted", "settled" or "released".
  std::string_view kind;
  CpuSet cores;  // By the latest grant.
  CpuSet owned;  // Also those that the job has not left yet: what must not overlap.
  int threads = 0;
  // CPU time that goes with `cores`, and with `owned`, in cores: all of them, or a share of a node,
  // whose other sharers have the same cores there. The node's shares must not be more than it has.
  double amount = 0, owned_amount = 0;

  static constexpr std::string_view kFile = "grants.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"time", &GrantRow::time},
                      TableColumn{"job_id", &GrantRow::job_id},
                      TableColumn{"kind", &GrantRow::kind},
                      TableColumn{"cores", &GrantRow::cores},
                      TableColumn{"owned", &GrantRow::owned},
                      TableColumn{"threads", &GrantRow::threads},
                      TableColumn{"amount", &GrantRow::amount, Decimals{3}},
                      TableColumn{"owned_amount", &GrantRow::owned_amount, Decimals{3}}};
  }
};

// Every answer of the policy, once its grants settled (experiments/records/decision_log.h).
struct DecisionRow {
  int64_t decision = 0;
  RecordedTime time;
  std::string_view event, allocation;  // As the arbiter tells them.
  double decision_us = 0;
  std::optional<double> settle_us = {};

  static constexpr std::string_view kFile = "decisions.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"decision", &DecisionRow::decision},
                      TableColumn{"time", &DecisionRow::time},
                      TableColumn{"event", &DecisionRow::event},
                      TableColumn{"allocation", &DecisionRow::allocation},
                      TableColumn{"decision_us", &DecisionRow::decision_us, Decimals{1}},
                      TableColumn{"settle_us", &DecisionRow::settle_us, Decimals{1}}};
  }
};

// Every tenant at every sampling instant. Counters are since its start: always written, but a
// reader takes a row that lacks one.
struct SampleRow {
  RecordedTime time;
  int64_t job_id = 0;
  CpuSet granted_cores;
  int granted = 0;           // Threads that can use its CPU time.
  int runnable_threads = 0;  // But for those that look for work.
  int compute_threads = 0;
  bool settling = false;
  std::optional<RecordedTime> run_time_s = {}, run_queue_wait_s = {};
  std::optional<int64_t> involuntary_switches = {};
  int64_t steps = 0;
  int64_t images = 0;
  std::optional<int64_t> migrations = {};
  std::optional<int64_t> throttled_us = {}, pressure_us = {};  // The cgroup's; absent without one.
  std::optional<RecordedTime> spin_time_s = {};  // Part of run_time_s: spent looking for work.
  double amount = 0;                             // CPU time that goes with granted_cores, in cores.

  static constexpr std::string_view kFile = "samples.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"time", &SampleRow::time},
                      TableColumn{"job_id", &SampleRow::job_id},
                      TableColumn{"granted_cores", &SampleRow::granted_cores},
                      TableColumn{"granted", &SampleRow::granted},
                      TableColumn{"runnable_threads", &SampleRow::runnable_threads},
                      TableColumn{"compute_threads", &SampleRow::compute_threads},
                      TableColumn{"settling", &SampleRow::settling},
                      TableColumn{"run_time_s", &SampleRow::run_time_s},
                      TableColumn{"run_queue_wait_s", &SampleRow::run_queue_wait_s},
                      TableColumn{"involuntary_switches", &SampleRow::involuntary_switches},
                      TableColumn{"steps", &SampleRow::steps},
                      TableColumn{"images", &SampleRow::images},
                      TableColumn{"migrations", &SampleRow::migrations},
                      TableColumn{"throttled_us", &SampleRow::throttled_us},
                      TableColumn{"pressure_us", &SampleRow::pressure_us},
                      TableColumn{"spin_time_s", &SampleRow::spin_time_s},
                      TableColumn{"amount", &SampleRow::amount, Decimals{3}}};
  }
};

// Every step of every tenant.
struct StepRow {
  int64_t job_id = 0;
  int64_t step = 0;   // 0-based.
  RecordedTime time;  // When it ended.
  double duration_ms = 0;
  int threads = 0;
  std::optional<double> loss = {};  // Absent where it is no finite number.

  static constexpr std::string_view kFile = "steps.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"job_id", &StepRow::job_id},
                      TableColumn{"step", &StepRow::step},
                      TableColumn{"time", &StepRow::time},
                      TableColumn{"duration_ms", &StepRow::duration_ms, Decimals{4}},
                      TableColumn{"threads", &StepRow::threads},
                      TableColumn{"loss", &StepRow::loss, SignificantDigits{6}}};
  }
};

// Every resize of a tenant's pools, as the tenant reports it.
struct ResizeRow {
  RecordedTime time;
  int64_t job_id = 0;
  std::string_view cause;  // Who asked for it.
  int inter_before = 0, intra_before = 0, inter_after = 0, intra_after = 0;
  CpuSet cores;
  std::string_view op;  // That ran when it was asked for.
  double taken_us = 0;  // From then until the last thread was in its place.

  static constexpr std::string_view kFile = "resizes.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"time", &ResizeRow::time},
                      TableColumn{"job_id", &ResizeRow::job_id},
                      TableColumn{"cause", &ResizeRow::cause},
                      TableColumn{"inter_before", &ResizeRow::inter_before},
                      TableColumn{"intra_before", &ResizeRow::intra_before},
                      TableColumn{"inter_after", &ResizeRow::inter_after},
                      TableColumn{"intra_after", &ResizeRow::intra_after},
                      TableColumn{"cores", &ResizeRow::cores},
                      TableColumn{"op", &ResizeRow::op},
                      TableColumn{"taken_us", &ResizeRow::taken_us, Decimals{0}}};
  }
};

// How the host moved a tenant, a row a grant or pause.
struct ActuationRow {
  RecordedTime time;
  int64_t job_id = 0;
  CpuSet cores;               // None: a pause.
  std::string_view actuator;  // By what; "stop": its process is stopped.
  // How long the write to the cgroup took (of a stop: from SIGSTOP until every thread was seen
  // stopped), and the container runtime's own update.
  std::optional<double> fast_us = {}, runtime_us = {};

  static constexpr std::string_view kFile = "actuations.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"time", &ActuationRow::time},
                      TableColumn{"job_id", &ActuationRow::job_id},
                      TableColumn{"cores", &ActuationRow::cores},
                      TableColumn{"actuator", &ActuationRow::actuator},
                      TableColumn{"fast_us", &ActuationRow::fast_us, Decimals{1}},
                      TableColumn{"runtime_us", &ActuationRow::runtime_us, Decimals{1}}};
  }
};

// Every grant that took a tenant away from NUMA nodes where it had memory.
struct MemoryRow {
  RecordedTime time;  // When its memory was there, or that was given up.
  int64_t job_id = 0;
  CpuSet from, to;           // Nodes: those that it left, and those of its cores.
  std::string_view outcome;  // "moved", "stayed" or "refused" (experiments/wire/memory_move.h).
  int64_t bytes = 0;         // That were moved,
  int64_t left_bytes = 0;    // and that are still where it left.
  double taken_us = 0;       // From when it was begun.

  static constexpr std::string_view kFile = "memory.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"time", &MemoryRow::time},
                      TableColumn{"job_id", &MemoryRow::job_id},
                      TableColumn{"from", &MemoryRow::from},
                      TableColumn{"to", &MemoryRow::to},
                      TableColumn{"outcome", &MemoryRow::outcome},
                      TableColumn{"bytes", &MemoryRow::bytes},
                      TableColumn{"left_bytes", &MemoryRow::left_bytes},
                      TableColumn{"taken_us", &MemoryRow::taken_us, Decimals{1}}};
  }
};

// Every stage of every pipeline at every sampling instant. Counters are since its start.
struct StageRow {
  RecordedTime time;
  int64_t job_id = 0;
  std::string_view stage;
  int64_t ready = 0;                    // Batches that lack nothing but credits, room or a lane.
  int64_t running = 0, parked = 0;      // Calls: at work, and waiting for room below.
  int64_t items = 0, bytes = 0;         // At its gate.
  int64_t calls = 0, taken = 0;         // Calls that ended, and the items that they took.
  RecordedTime busy_s;                  // In which pieces of ended calls ran …
  RecordedTime lasted_s;                // … and which those calls lasted, parked ones included.
  int64_t dropped = 0;                  // Items, of requests that failed or were cancelled.
  int64_t open = 0, open_requests = 0;  // Of the pipeline: requests, and how many credits allow.

  static constexpr std::string_view kFile = "stages.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"time", &StageRow::time},
                      TableColumn{"job_id", &StageRow::job_id},
                      TableColumn{"stage", &StageRow::stage},
                      TableColumn{"ready", &StageRow::ready},
                      TableColumn{"running", &StageRow::running},
                      TableColumn{"parked", &StageRow::parked},
                      TableColumn{"items", &StageRow::items},
                      TableColumn{"bytes", &StageRow::bytes},
                      TableColumn{"calls", &StageRow::calls},
                      TableColumn{"taken", &StageRow::taken},
                      TableColumn{"busy_s", &StageRow::busy_s},
                      TableColumn{"lasted_s", &StageRow::lasted_s},
                      TableColumn{"dropped", &StageRow::dropped},
                      TableColumn{"open", &StageRow::open},
                      TableColumn{"open_requests", &StageRow::open_requests}};
  }
};

// Every request that was sent, when it is answered or dropped: its service failed, or the cell.
struct RequestRow {
  int64_t request_id = 0;
  std::optional<int64_t> job_id = {};  // The instance that was to answer it; absent = a device was.
  std::string_view service;
  RecordedTime scheduled;  // When it was due.
  RecordedTime sent;       // Taken up by the harness: sent - scheduled is the harness's own lag.
  std::optional<RecordedTime> dispatched = {};  // From the front queue to a server, the job.
  // Got by the service (taken from its socket; simulated, at once), begun and answered.
  std::optional<RecordedTime> received = {}, started = {}, finished = {};
  double work = 0;
  std::optional<int64_t> batch = {};  // How many were answered with it.
  std::optional<double> slo_ms = {};
  // "served"; "dropped", which has no answer; or "failed": a stage of a pipeline refused it.
  std::string_view state;
  std::string_view device;  // The modelled device that was to answer it; "" = none.

  static constexpr std::string_view kFile = "requests.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"request_id", &RequestRow::request_id},
                      TableColumn{"job_id", &RequestRow::job_id},
                      TableColumn{"service", &RequestRow::service},
                      TableColumn{"scheduled", &RequestRow::scheduled},
                      TableColumn{"sent", &RequestRow::sent},
                      TableColumn{"dispatched", &RequestRow::dispatched},
                      TableColumn{"received", &RequestRow::received},
                      TableColumn{"started", &RequestRow::started},
                      TableColumn{"finished", &RequestRow::finished},
                      TableColumn{"work", &RequestRow::work, SignificantDigits{9}},
                      TableColumn{"batch", &RequestRow::batch},
                      TableColumn{"slo_ms", &RequestRow::slo_ms, Decimals{3}},
                      TableColumn{"state", &RequestRow::state},
                      TableColumn{"device", &RequestRow::device}};
  }
};

// Every time that a slot of a modelled device was held for a batch of requests.
struct HoldRow {
  std::string_view device;
  int slot = 0;  // 0-based.
  std::string_view service;
  int batch = 0;
  RecordedTime begin, end;
  RecordedTime planned_end;  // By the device's profile; what `end` is later is the host's doing.

  static constexpr std::string_view kFile = "devices.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"device", &HoldRow::device},
                      TableColumn{"slot", &HoldRow::slot},
                      TableColumn{"service", &HoldRow::service},
                      TableColumn{"batch", &HoldRow::batch},
                      TableColumn{"begin", &HoldRow::begin},
                      TableColumn{"end", &HoldRow::end},
                      TableColumn{"planned_end", &HoldRow::planned_end}};
  }
};

// What is wanted of a service from then on.
struct ObjectiveRow {
  RecordedTime time;
  std::string_view service;
  double sla_ms = 0;    // Of the mean response in a window ...
  double window_s = 0;  // ... of that length.

  static constexpr std::string_view kFile = "objectives.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"time", &ObjectiveRow::time},
                      TableColumn{"service", &ObjectiveRow::service},
                      TableColumn{"sla_ms", &ObjectiveRow::sla_ms, Decimals{3}},
                      TableColumn{"window_s", &ObjectiveRow::window_s, Decimals{6}}};
  }
};

// How long compute threads of job `victim` waited for a core because of `culprit`.
struct InterferenceRow {
  int64_t victim = 0;
  std::string_view culprit;  // A job, "self" or "other" (experiments/records/interference.h).
  double waited_s = 0;

  static constexpr std::string_view kFile = "interference.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"victim", &InterferenceRow::victim},
                      TableColumn{"culprit", &InterferenceRow::culprit},
                      TableColumn{"waited_s", &InterferenceRow::waited_s, Decimals{6}}};
  }
};

// All of them, for whoever goes through the tables.
using RecordTables =
    std::tuple<JobRow, GrantRow, DecisionRow, SampleRow, StepRow, ResizeRow, ActuationRow,
               MemoryRow, StageRow, RequestRow, HoldRow, ObjectiveRow, InterferenceRow>;

}  // namespace cosched
