#include "experiments/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "experiments/csv.h"
#include "experiments/decision_log.h"
#include "experiments/output_file.h"
#include "experiments/timeline.h"

namespace cosched {
namespace {

// Microseconds are exact enough: a system call takes one.
std::string Seconds(TimePoint time) { return fmt::format("{:.6f}", ToSeconds(time)); }
std::string Seconds(Duration duration) { return fmt::format("{:.6f}", ToSeconds(duration)); }

// Empty = not available here.
std::string Microseconds(const std::optional<Duration>& duration) {
  return duration ? std::to_string(*duration / std::chrono::microseconds(1)) : "";
}

std::filesystem::path PartialFolder(const std::filesystem::path& run, const CellKey& key) {
  std::filesystem::path folder = CellFolder(run, key);
  folder += ".partial";
  return folder;
}

std::filesystem::path MakeEmptyFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (!error) std::filesystem::create_directories(folder, error);
  if (error)
    throw OutputError(fmt::format("{}: can't make it: {}", folder.string(), error.message()));
  return folder;
}

// What the records know of a job that has not ended.
struct JobTrack {
  Job job;
  TimePoint submitted;
  std::optional<TimePoint> started;
  CpuSet granted;     // By the latest grant.
  CpuSet owned;       // And the cores that it has not left yet.
  CpuSet last_cores;  // The last grant that was not empty.
  Split split;
  int resizes = 0;
  int64_t steps = 0;
  int64_t sampled_steps = 0;
  int64_t sampled_images = 0;
  int runnable_threads = 0;
  TimePoint slice_begin;

  int Threads() const { return split.inter * split.intra; }
  // Batches are of one size, so the steps after the last sample are worth as many images each as
  // those before.
  int64_t Images() const {
    if (sampled_steps == 0 || steps <= sampled_steps) return sampled_images;
    return sampled_images / sampled_steps * steps;
  }
};

std::string SliceName(const JobTrack& track) {
  if (!track.started) return "waiting";
  if (track.granted.Empty()) return "paused";
  const int count = track.granted.Count();
  return fmt::format("{} core{}", count, count == 1 ? "" : "s");
}

}  // namespace

std::string ToString(const CellKey& key) {
  return fmt::format("{}/{}/{}", key.policy, ToString(key.elasticity), key.trial);
}

std::filesystem::path CellFolder(const std::filesystem::path& run, const CellKey& key) {
  return run / key.policy / ToString(key.elasticity) / std::to_string(key.trial);
}

struct CellRecords::Impl {
  Impl(const std::filesystem::path& run, const CellKey& key, const CpuSet& machine_cores);

  void WriteGrant(TimePoint time, const JobTrack& track, std::string_view kind);
  void WriteJob(TimePoint time, const JobTrack& track, JobEnd end, const std::string& reason);
  void EndSlice(TimePoint time, JobTrack* track);
  void CountCores(TimePoint time);
  void CountThreads(TimePoint time);
  std::string CellJson(const std::string& status, const std::string& reason) const;
  JobTrack& Track(JobId job);

  const CellKey key;
  const CpuSet machine_cores;
  const std::filesystem::path whole;
  const std::filesystem::path partial;
  CsvWriter jobs;
  CsvWriter grants;
  CsvWriter samples;
  CsvWriter steps;
  CsvWriter resizes;
  CsvWriter actuations;
  DecisionLog decisions;
  Timeline timeline;
  std::map<JobId, JobTrack> tracks;
  std::vector<std::string> marks;
  TimePoint latest;
  int submitted = 0;
};

CellRecords::Impl::Impl(const std::filesystem::path& run, const CellKey& cell_key,
                        const CpuSet& cores)
    : key(cell_key),
      machine_cores(cores),
      whole(CellFolder(run, cell_key)),
      partial(MakeEmptyFolder(PartialFolder(run, cell_key))),
      jobs(partial / "jobs.csv", {"job_id",          "workload",        "class",
                                  "priority",        "requested_min",   "requested_preferred",
                                  "requested_max",   "submission_time", "starting_time",
                                  "finish_time",     "waiting_time",    "execution_time",
                                  "turnaround_time", "stretch",         "allocated_resources",
                                  "threads",         "resizes",         "state",
                                  "reason",          "steps",           "images"}),
      grants(partial / "grants.csv", {"time", "job_id", "kind", "cores", "owned", "threads"}),
      samples(partial / "samples.csv",
              {"time", "job_id", "granted_cores", "granted", "runnable_threads", "compute_threads",
               "settling", "run_time_s", "run_queue_wait_s", "involuntary_switches", "steps",
               "images", "migrations", "throttled_us", "pressure_us"}),
      steps(partial / "steps.csv", {"job_id", "step", "time", "duration_ms", "threads", "loss"}),
      resizes(partial / "resizes.csv", {"time", "job_id", "cause", "inter_before", "intra_before",
                                        "inter_after", "intra_after", "cores", "op", "taken_us"}),
      actuations(partial / "actuations.csv",
                 {"time", "job_id", "cores", "actuator", "fast_us", "runtime_us"}),
      decisions(partial / "decisions.csv"),
      timeline(partial / "timeline.json") {}

JobTrack& CellRecords::Impl::Track(JobId job) {
  const auto track = tracks.find(job);
  CHECK(track != tracks.end()) << "job " << job.value << " was not submitted or has ended";
  return track->second;
}

void CellRecords::Impl::WriteGrant(TimePoint time, const JobTrack& track, std::string_view kind) {
  latest = std::max(latest, time);
  grants.Row({Seconds(time), std::to_string(track.job.id.value), kind, track.granted.ToString(),
              track.owned.ToString(), std::to_string(track.started ? track.Threads() : 0)});
}

void CellRecords::Impl::WriteJob(TimePoint time, const JobTrack& track, JobEnd end,
                                 const std::string& reason) {
  const Job& job = track.job;
  const Duration turnaround = time - track.submitted;
  std::string waiting, execution, stretch;
  if (track.started) {
    waiting = Seconds(*track.started - track.submitted);
    execution = Seconds(time - *track.started);
    if (time > *track.started) {
      stretch = fmt::format("{:.6f}", ToSeconds(turnaround) / ToSeconds(time - *track.started));
    }
  }
  jobs.Row({std::to_string(job.id.value),
            job.workload,
            ToString(job.elasticity),
            std::to_string(job.priority),
            std::to_string(job.request.min),
            std::to_string(job.request.preferred),
            std::to_string(job.request.max),
            Seconds(track.submitted),
            track.started ? Seconds(*track.started) : "",
            Seconds(time),
            waiting,
            execution,
            Seconds(turnaround),
            stretch,
            track.last_cores.ToString(),
            std::to_string(track.started ? track.Threads() : 0),
            std::to_string(track.resizes),
            ToString(end),
            reason,
            std::to_string(track.steps),
            std::to_string(track.Images())});
}

void CellRecords::Impl::EndSlice(TimePoint time, JobTrack* track) {
  if (time > track->slice_begin) {
    timeline.Slice(
        track->job.id, track->slice_begin, time, SliceName(*track),
        track->granted.Empty()
            ? "no cores"
            : fmt::format("cores {}, {} threads", track->granted.ToString(), track->Threads()));
  }
  track->slice_begin = time;
}

void CellRecords::Impl::CountCores(TimePoint time) {
  CpuSet owned;
  for (const auto& [id, track] : tracks) owned = owned | track.owned;
  timeline.Counter(time, "cores in use", owned.Count());
}

void CellRecords::Impl::CountThreads(TimePoint time) {
  int threads = 0;
  for (const auto& [id, track] : tracks) threads += track.runnable_threads;
  timeline.Counter(time, "runnable compute threads", threads);
}

std::string CellRecords::Impl::CellJson(const std::string& status,
                                        const std::string& reason) const {
  const nlohmann::ordered_json cell = {
      {"policy", key.policy},   {"elasticity", ToString(key.elasticity)},
      {"trial", key.trial},     {"status", status},
      {"reason", reason},       {"machine_cores", machine_cores.ToString()},
      {"submitted", submitted}, {"marks", marks}};
  return cell.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

CellRecords::CellRecords(const std::filesystem::path& run, const CellKey& key,
                         const CpuSet& machine_cores)
    : impl_(std::make_unique<Impl>(run, key, machine_cores)) {}

CellRecords::~CellRecords() = default;

void CellRecords::OnSubmitted(TimePoint time, const Job& job) {
  JobTrack track;
  track.job = job;
  track.submitted = track.slice_begin = time;
  CHECK(impl_->tracks.emplace(job.id, track).second) << "job " << job.id.value << " again";
  ++impl_->submitted;
  impl_->WriteGrant(time, track, "submitted");
  impl_->timeline.NameJob(job.id, fmt::format("job {} {}", job.id.value, job.workload));
}

void CellRecords::OnDecision(TimePoint time, int64_t decision, const std::string& event,
                             const std::string& allocation, Duration decision_time) {
  impl_->decisions.Add(time, decision, event, allocation, decision_time);
  impl_->timeline.Decision(time, event, allocation);
}

void CellRecords::OnStarted(TimePoint time, JobId job, const CpuSet& cores, Split split) {
  JobTrack& track = impl_->Track(job);
  impl_->EndSlice(time, &track);
  track.started = time;
  track.granted = track.owned = track.last_cores = cores;
  track.split = split;
  impl_->WriteGrant(time, track, "granted");
  impl_->CountCores(time);
}

void CellRecords::OnGrant(TimePoint time, JobId job, const CpuSet& cores, Split split) {
  JobTrack& track = impl_->Track(job);
  impl_->EndSlice(time, &track);
  if (cores.Count() != track.granted.Count()) ++track.resizes;
  track.granted = cores;
  track.owned = track.owned | cores;
  if (!cores.Empty()) track.last_cores = cores;
  // Only a malleable job's threads follow its grant.
  if (track.job.elasticity == Elasticity::kMalleable && !cores.Empty()) track.split = split;
  impl_->WriteGrant(time, track, "granted");
  impl_->CountCores(time);
}

void CellRecords::OnSettled(TimePoint time, JobId job, const CpuSet& cores, int64_t decision,
                            Duration since) {
  JobTrack& track = impl_->Track(job);
  track.owned = cores;
  impl_->WriteGrant(time, track, "settled");
  impl_->CountCores(time);
  impl_->decisions.Settled(job, decision, since);
}

void CellRecords::OnEnded(TimePoint time, JobId job, JobEnd end, const std::string& reason) {
  JobTrack& track = impl_->Track(job);
  impl_->EndSlice(time, &track);
  impl_->WriteJob(time, track, end, reason);
  track.granted = track.owned = CpuSet();
  impl_->WriteGrant(time, track, "released");
  impl_->decisions.Ended(job);
  impl_->tracks.erase(job);
  impl_->CountCores(time);
  impl_->CountThreads(time);
}

void CellRecords::OnSample(const TenantSample& sample) {
  impl_->samples.Row({Seconds(sample.time), std::to_string(sample.job.value),
                      sample.granted.ToString(), std::to_string(sample.granted.Count()),
                      std::to_string(sample.runnable_threads),
                      std::to_string(sample.compute_threads), sample.settling ? "1" : "0",
                      Seconds(sample.run_time), Seconds(sample.run_queue_wait),
                      std::to_string(sample.involuntary_switches), std::to_string(sample.steps),
                      std::to_string(sample.images), std::to_string(sample.migrations),
                      Microseconds(sample.throttled), Microseconds(sample.pressure)});
  const auto track = impl_->tracks.find(sample.job);
  if (track == impl_->tracks.end()) return;  // It ended between being sampled and being told of.
  track->second.sampled_steps = sample.steps;
  track->second.sampled_images = sample.images;
  track->second.steps = std::max(track->second.steps, sample.steps);
  track->second.runnable_threads = sample.runnable_threads;
  impl_->CountThreads(sample.time);
}

void CellRecords::OnStep(const StepSample& step) {
  impl_->steps.Row({std::to_string(step.job.value), std::to_string(step.step),
                    Seconds(step.finished), fmt::format("{:.4f}", ToSeconds(step.duration) * 1e3),
                    std::to_string(step.threads),
                    std::isfinite(step.loss) ? fmt::format("{:.6g}", step.loss) : ""});
  const auto track = impl_->tracks.find(step.job);
  if (track == impl_->tracks.end()) return;
  track->second.steps = std::max(track->second.steps, step.step + 1);
}

void CellRecords::OnResize(const ResizeSample& resize) {
  impl_->resizes.Row({Seconds(resize.time), std::to_string(resize.job.value), resize.cause,
                      std::to_string(resize.before.inter), std::to_string(resize.before.intra),
                      std::to_string(resize.after.inter), std::to_string(resize.after.intra),
                      resize.cores.ToString(), resize.op,
                      fmt::format("{:.0f}", ToSeconds(resize.taken) * 1e6)});
}

void CellRecords::OnActuation(const ActuationSample& actuation) {
  const auto microseconds = [](const std::optional<Duration>& duration) {
    return duration ? fmt::format("{:.1f}", ToSeconds(*duration) * 1e6) : "";
  };
  impl_->actuations.Row({Seconds(actuation.time), std::to_string(actuation.job.value),
                         actuation.cores.ToString(), actuation.actuator,
                         microseconds(actuation.fast), microseconds(actuation.runtime)});
}

void CellRecords::WriteInterference(const Interference::Matrix& matrix) {
  CsvWriter file(impl_->partial / "interference.csv", {"victim", "culprit", "waited_s"});
  for (const auto& [pair, waited_s] : matrix) {
    const auto& [victim, culprit] = pair;
    const std::string by = culprit ? std::to_string(culprit->value) : "other";
    file.Row({std::to_string(victim.value), culprit == victim ? "self" : by,
              fmt::format("{:.6f}", waited_s)});
  }
  file.Sync();
}

void CellRecords::Mark(const std::string& mark) { impl_->marks.push_back(mark); }

void CellRecords::Finish(const std::string& status, const std::string& reason) {
  for (auto& [id, track] : impl_->tracks) impl_->EndSlice(impl_->latest, &track);
  impl_->decisions.Finish();
  impl_->timeline.Finish();
  for (CsvWriter* file : {&impl_->jobs, &impl_->grants, &impl_->samples, &impl_->steps,
                          &impl_->resizes, &impl_->actuations}) {
    file->Sync();
  }
  // Last, so that a folder with a cell.json holds all its rows.
  WriteFileWhole(impl_->partial / "cell.json", impl_->CellJson(status, reason));
  SyncFolder(impl_->partial);
  Rename(impl_->partial, impl_->whole);
  SyncFolder(impl_->whole.parent_path());
}

}  // namespace cosched
