#include "experiments/calibration/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/numa.h"
#include "experiments/analysis/metrics.h"
#include "experiments/os/process_memory.h"
#include "experiments/records/rows.h"
#include "experiments/records/table.h"

namespace cosched {
namespace {

using MeasurementKind = Measurement::Kind;

// A tenant is moved this often: more than the longest resize, and often enough for many.
constexpr double kMoveEvery = 0.06;
constexpr double kFirstMove = 0.5;  // After its start; kernels are made meanwhile.
constexpr int kMoves = 400;         // More than a tenant lives to see.

constexpr double kChangeNodeEvery = 0.25;  // Time for some hundred MB to be moved.
constexpr int kNodeChanges = 100;

constexpr Duration kRevocationDeadline = std::chrono::seconds(5);

// All, one, all, none, …: a shrink, a grow, a pause and a resume each time around.
std::string MovingTimetable(int cores) {
  std::string timetable = "0:all";
  for (int i = 0; i < kMoves; ++i) {
    const bool away = i % 2 == 0;
    const int to = !away ? cores : i % 4 == 0 && cores > 1 ? 1 : 0;
    timetable += fmt::format(" {:.2f}:{}", kFirstMove + i * kMoveEvery, to);
  }
  return timetable;
}

// A core of the first NUMA node, and one of another. REQUIRES: there are several.
std::pair<int, int> CoresOfTwoNodes(const Topology& topology) {
  const NumaMap map = NumaMap::Of(topology);
  const int first = topology.Cpus().First();
  for (const int cpu : topology.Cpus())
    if (map.NodeOf(cpu) != map.NodeOf(first)) return {first, cpu};
  return {first, first};
}

std::string NodesTimetable(const Topology& topology) {
  const auto [here, there] = CoresOfTwoNodes(topology);
  std::string timetable = fmt::format("0:[{}]", here);
  for (int i = 0; i < kNodeChanges; ++i) {
    timetable +=
        fmt::format(" {:.2f}:[{}]", kFirstMove + i * kChangeNodeEvery, i % 2 == 0 ? there : here);
  }
  return timetable;
}

std::string Timetable(const Measurement& measurement, const Topology& topology) {
  if (measurement.kind == MeasurementKind::kMoves) return NodesTimetable(topology);
  if (measurement.kind == MeasurementKind::kResize) return MovingTimetable(measurement.cores);
  return fmt::format("0:{}:{}x{}", measurement.cores, measurement.threads.inter,
                     measurement.threads.intra);
}

// The first `count` of the machine, all hardware threads of a core before those of the next.
CpuSet FirstCores(const Topology& topology, int count) {
  CpuSet cores;
  for (const int first : topology.OneThreadPerCore()) {
    CpuSet threads = topology.SiblingsOf({first});
    threads.Add(first);
    cores |= threads.Lowest(std::min(threads.Count(), count - cores.Count()));
  }
  return cores;
}

// Those that tenants are to share; all where they don't.
CpuSet CoresOf(const Measurement& measurement, const Topology& topology) {
  if (measurement.kind == MeasurementKind::kSiblings)
    return FirstCores(topology, static_cast<int>(measurement.programs.size()));
  if (measurement.kind == MeasurementKind::kFar) return {CoresOfTwoNodes(topology).first};
  return measurement.IsOnSharedCores() ? FirstCores(topology, measurement.shared_cores)
                                       : topology.Cpus();
}

WorkloadConfig Workload(const Measurement& measurement, const TenantSpec& program, size_t index,
                        int64_t steps, int machine) {
  WorkloadConfig workload;
  workload.name = fmt::format("tenant-{}", index);
  workload.spec = program;
  workload.spec.steps = steps;
  workload.cores = {.min = 1, .preferred = measurement.CoresOf(index), .max = machine};
  workload.inter = measurement.ThreadsOfTenant(index).inter;
  workload.threads = measurement.ThreadsOfTenant(index).intra;
  return workload;
}

ExperimentConfig Experiment(const Measurement& measurement, const std::vector<TenantSpec>& programs,
                            const std::vector<int64_t>& steps, const Topology& topology) {
  ExperimentConfig config;
  config.name = "calibrate";
  config.trials = 1;
  config.policies = {measurement.IsOnSharedCores() ? "no-control" : "scripted"};
  config.elasticities = {measurement.IsRigid() ? Elasticity::kRigid : Elasticity::kMalleable};
  config.cores = CoresOf(measurement, topology);
  config.actuator = topology.IsThisSystem() ? BestActuator() : Actuator::kAffinity;
  // Nothing else disturbs what is measured.
  config.memory =
      measurement.kind == MeasurementKind::kMoves ? MemoryMode::kFollow : MemoryMode::kStay;
  // Here delays are measured, not punished.
  config.timeouts.revocation = kRevocationDeadline;
  if (!measurement.IsOnSharedCores())
    config.policy_parameters["scripted"]["timetable"] = Timetable(measurement, topology);
  config.trace.replay.emplace();
  for (size_t i = 0; i < measurement.programs.size(); ++i) {
    config.workloads.push_back(Workload(measurement, programs[measurement.programs[i]], i, steps[i],
                                        config.cores.Count()));
    JobArrival arrival;
    arrival.workload = config.workloads[i].name;
    config.trace.replay->Add(arrival);
  }
  config.trace.jobs = static_cast<int>(config.trace.replay->size());
  return config;
}

struct Step {
  double begin = 0;
  double end = 0;
};

std::map<int64_t, std::vector<Step>> ReadSteps(const std::filesystem::path& cell) {
  RowReader<StepRow> reader(cell, &StepRow::job_id, &StepRow::time, &StepRow::duration_ms);
  std::map<int64_t, std::vector<Step>> steps;
  while (const StepRow* step = reader.Next())
    steps[step->job_id].push_back({step->time - step->duration_ms * 1e-3, step->time});
  return steps;
}

// Throws if a job did not finish.
void ReadJobs(const std::filesystem::path& cell, const std::map<int64_t, std::vector<Step>>& steps,
              std::vector<MeasuredTenant>* tenants) {
  RowReader<JobRow> reader(cell, &JobRow::job_id, &JobRow::starting_time, &JobRow::finish_time,
                           &JobRow::state, &JobRow::reason);
  while (const JobRow* job = reader.Next()) {
    const auto of_job = steps.find(job->job_id);
    if (job->state != "finished")
      throw MeasurementFailed(fmt::format("a tenant {}: {}", job->state, job->reason));
    if (of_job == steps.end())
      throw MeasurementFailed("a tenant finished, and none of its steps was counted",
                              /*hopeless=*/true);
    MeasuredTenant& tenant = tenants->at(static_cast<size_t>(of_job->first));
    tenant.start_s = of_job->second.front().begin - reader.Needed(&JobRow::starting_time);
    tenant.stop_s = job->finish_time - of_job->second.back().end;
  }
}

// Steps done at that time, the part that is done of one under way included: were only whole ones
// counted, those that are short would be counted more often than those that are long. REQUIRES: the
// steps begin before and end after.
double StepsUntil(const std::vector<Step>& steps, double time) {
  const auto next = std::find_if(steps.begin(), steps.end(),
                                 [time](const Step& step) { return step.end >= time; });
  const double begin = next == steps.begin() ? next->begin : std::prev(next)->end;
  return static_cast<double>(next - steps.begin()) +
         std::clamp((time - begin) / std::max(1e-9, next->end - begin), 0.0, 1.0);
}

// The time that counts of each tenant; see Measured.
void ReadStepTimes(const std::map<int64_t, std::vector<Step>>& steps,
                   std::vector<MeasuredTenant>* tenants) {
  double from = 0, to = std::numeric_limits<double>::infinity();
  for (const auto& [job, of_job] : steps) {
    if (of_job.size() <= kWarmUpSteps)
      throw MeasurementFailed(fmt::format("a tenant did only {} steps", of_job.size()));
    from = std::max(from, of_job[kWarmUpSteps].begin);
    to = std::min(to, of_job.back().end);
  }
  if (from >= to) throw MeasurementFailed("the tenants did not run side by side for a step");
  for (const auto& [job, of_job] : steps) {
    MeasuredTenant& tenant = tenants->at(static_cast<size_t>(job));
    tenant.steps = static_cast<int64_t>(of_job.size());
    tenant.step_s = (to - from) / (StepsUntil(of_job, to) - StepsUntil(of_job, from));
    tenant.warm_up_s = of_job[kWarmUpSteps].begin - of_job.front().begin;
  }
}

// As the last sample of each tenant has them.
void ReadStages(const std::filesystem::path& cell, std::vector<MeasuredTenant>* tenants) {
  if (!HasTable<StageRow>(cell)) return;
  RowReader<StageRow> reader(cell, &StageRow::job_id, &StageRow::stage, &StageRow::calls,
                             &StageRow::taken, &StageRow::busy_s, &StageRow::lasted_s);
  while (const StageRow* row = reader.Next()) {
    std::vector<MeasuredTenant::Stage>& stages =
        tenants->at(static_cast<size_t>(row->job_id)).stages;
    auto stage = std::ranges::find(stages, row->stage, &MeasuredTenant::Stage::stage);
    if (stage == stages.end()) stage = stages.insert(stage, {.stage = std::string(row->stage)});
    stage->calls = row->calls;
    stage->taken = row->taken;
    stage->busy_s = row->busy_s;
    stage->lasted_s = row->lasted_s;
  }
}

ResizeDelays ReadResizes(const std::filesystem::path& cell) {
  RowReader<ResizeRow> reader(cell, &ResizeRow::inter_before, &ResizeRow::intra_before,
                              &ResizeRow::inter_after, &ResizeRow::intra_after,
                              &ResizeRow::taken_us);
  ResizeDelays delays;
  while (const ResizeRow* resize = reader.Next()) {
    const int before = ThreadsOf(Split{resize->inter_before, resize->intra_before});
    const int after = ThreadsOf(Split{resize->inter_after, resize->intra_after});
    if (before == after) continue;
    DelayQuantiles& of_kind = after == 0       ? delays.pause
                              : before == 0    ? delays.resume
                              : after > before ? delays.grow
                                               : delays.shrink;
    of_kind.push_back(resize->taken_us * 1e-6);
  }
  return delays;
}

std::vector<Measured::MemoryMove> ReadMemoryMoves(const std::filesystem::path& cell) {
  std::vector<Measured::MemoryMove> moves;
  if (!HasTable<MemoryRow>(cell)) return moves;
  RowReader<MemoryRow> reader(cell, &MemoryRow::outcome, &MemoryRow::bytes, &MemoryRow::taken_us);
  while (const MemoryRow* move = reader.Next()) {
    if (move->outcome == kMemoryMoved && move->bytes > 0)
      moves.push_back({static_cast<double>(move->bytes), move->taken_us * 1e-6});
  }
  return moves;
}

// From a job's arrival to its cores being told, of jobs that started at once.
std::vector<double> ReadDecisions(const std::filesystem::path& cell) {
  RowReader<GrantRow> reader(cell, &GrantRow::job_id, &GrantRow::time, &GrantRow::kind);
  std::map<int64_t, double> arrived;
  std::vector<double> delays;
  while (const GrantRow* grant = reader.Next()) {
    const int64_t id = grant->job_id;
    if (grant->kind == "submitted") arrived[id] = grant->time;
    if (grant->kind != "granted" || !arrived.contains(id)) continue;
    delays.push_back(grant->time - arrived[id]);
    arrived.erase(id);
  }
  return delays;
}

Measured ReadRecords(const std::filesystem::path& run, const CellKey& key, size_t tenants) {
  const std::filesystem::path cell = CellFolder(run, key);
  Measured measured;
  measured.tenants.resize(tenants);
  const auto steps = ReadSteps(cell);
  ReadJobs(cell, steps, &measured.tenants);
  ReadStepTimes(steps, &measured.tenants);
  ReadStages(cell, &measured.tenants);
  measured.resizes = ReadResizes(cell);
  measured.memory_moves = ReadMemoryMoves(cell);
  measured.decision = ReadDecisions(cell);
  measured.disturbed = !Summarize(run, key).marks.empty();
  return measured;
}

}  // namespace

std::string WhyNoFarMemory(const Topology& topology) {
  const NumaMap map = NumaMap::Of(topology);
  if (!map.ThisSystem() || map.Count() == 1) return "this machine has one NUMA node";
  const auto [here, there] = CoresOfTwoNodes(topology);
  if (here == there) return "the cores are of one NUMA node";
  const int error = MemoryOn(map.NodesOf({there})).error();
  if (error == 0) return "";
  return fmt::format("the kernel lets nobody keep memory on NUMA node {} ({})", map.NodeOf(there),
                     std::generic_category().message(error));
}

Measured Measure(const Measurement& measurement, const std::vector<TenantSpec>& programs,
                 const std::vector<int64_t>& steps, const MeasureOptions& options) {
  const ExperimentConfig config = Experiment(measurement, programs, steps, options.topology);
  const Plan plan = MakePlan(config);
  // Tenants start with what this thread has.
  std::optional<MemoryOn> far;
  if (measurement.kind == MeasurementKind::kFar) {
    const NumaMap map = NumaMap::Of(options.topology);
    far.emplace(map.NodesOf({CoresOfTwoNodes(options.topology).second}));
  }
  using Steady = std::chrono::steady_clock;
  const Steady::time_point begin = Steady::now();
  const auto takes_too_long = [&] { return Steady::now() - begin > options.longest; };
  const HarnessResult result =
      RunCells(config, plan, plan.cells,
               {.run = options.folder,
                .topology = options.topology,
                .hosts = options.hosts_of(config),
                .interrupted = [&] { return options.interrupted() || takes_too_long(); },
                .marks = options.marks});
  Measured measured;
  measured.interrupted = result.interrupted;
  if (result.interrupted && !options.interrupted()) {
    throw MeasurementFailed(
        fmt::format("{} had not ended after {:.3g} s: shorter steps can be measured, or "
                    "calibrate longer (--minutes)",
                    measurement.programs.size() == 1 ? "it" : "they", options.longest.count()),
        /*hopeless=*/true);
  }
  if (result.interrupted) return measured;
  measured = ReadRecords(options.folder, plan.cells.front(), measurement.programs.size());
  std::error_code ignored;
  std::filesystem::remove_all(options.folder / config.policies.front(), ignored);
  return measured;
}

}  // namespace cosched
