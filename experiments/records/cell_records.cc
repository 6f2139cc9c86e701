#include "experiments/records/cell_records.h"

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
#include "experiments/records/csv.h"
#include "experiments/records/decision_log.h"
#include "experiments/records/output_file.h"
#include "experiments/records/timeline.h"

namespace cosched {
namespace {

// Empty = not available here.
std::string Microseconds(const std::optional<Duration>& duration) {
  return duration ? std::to_string(*duration / std::chrono::microseconds(1)) : "";
}

// What the job takes by itself on the cores it prefers; nullopt where its speed or its work is not
// known.
std::optional<double> AloneSeconds(const Job& job) {
  const double speed = job.speed ? job.speed->At(job.request.preferred) : 0;
  if (speed <= 0 || job.steps <= 0) return std::nullopt;
  return static_cast<double>(job.steps) / speed;
}

std::string FileNameOf(const char* file, const RecordsConfig& config) {
  return std::string(file) + (config.gzip ? ".gz" : "");
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
  TimePoint submitted;   // By its trace.
  Duration lateness{0};  // From then until the arbiter got it.
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

  int Threads() const { return ThreadsOf(split); }
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

std::filesystem::path PartialFolder(const std::filesystem::path& run, const CellKey& key) {
  std::filesystem::path folder = CellFolder(run, key);
  folder += ".partial";
  return folder;
}

struct CellRecords::Impl {
  Impl(const std::filesystem::path& run, const CellKey& key, const CpuSet& machine_cores,
       const RecordsConfig& config, size_t buffer);

  void WriteGrant(TimePoint time, const JobTrack& track, std::string_view kind);
  void WriteJob(TimePoint time, const JobTrack& track, JobEnd end, const std::string& reason);
  int64_t StepsDone(const JobTrack& track, JobEnd end) const;
  void EndSlice(TimePoint time, JobTrack* track);
  void SetOwned(JobTrack* track, const CpuSet& owned);
  void CountCores(TimePoint time);
  void CountThreads(TimePoint time);
  std::string CellJson(const std::string& status, const std::string& reason) const;
  JobTrack& Track(JobId job);

  const CellKey key;
  const CpuSet machine_cores;
  const std::filesystem::path whole;
  const std::filesystem::path partial;
  const RecordsConfig config;
  CsvWriter jobs;
  // Absent = off.
  std::optional<CsvWriter> grants;
  std::optional<CsvWriter> samples;
  std::optional<CsvWriter> steps;
  std::optional<CsvWriter> resizes;
  std::optional<CsvWriter> actuations;
  std::optional<CsvWriter> requests;  // Opened by the first service.
  std::optional<DecisionLog> decisions;
  std::optional<Timeline> timeline;
  std::map<JobId, JobTrack> tracks;
  CoreCounter owned;         // By all tracks.
  int runnable_threads = 0;  // The same.
  std::vector<std::string> marks;
  TimePoint latest;
  int submitted = 0;
  std::vector<int64_t> services;
  int64_t requests_ended = 0;
  const size_t buffer;
};

CellRecords::Impl::Impl(const std::filesystem::path& run, const CellKey& cell_key,
                        const CpuSet& cores, const RecordsConfig& wanted, size_t wanted_buffer)
    : key(cell_key),
      machine_cores(cores),
      whole(CellFolder(run, cell_key)),
      partial(MakeEmptyFolder(PartialFolder(run, cell_key))),
      config(wanted),
      jobs(partial / FileNameOf("jobs.csv", wanted),
           {"job_id",          "workload",        "class",
            "priority",        "requested_min",   "requested_preferred",
            "requested_max",   "submission_time", "starting_time",
            "finish_time",     "waiting_time",    "execution_time",
            "turnaround_time", "stretch",         "allocated_resources",
            "threads",         "resizes",         "state",
            "reason",          "steps",           "images",
            "alone_s",         "lateness"},
           wanted_buffer),
      buffer(wanted_buffer) {
  const auto open = [this](bool wants, const char* name,
                           std::initializer_list<std::string_view> columns,
                           std::optional<CsvWriter>* file) {
    if (wants) file->emplace(partial / FileNameOf(name, config), columns, buffer);
  };
  open(config.grants, "grants.csv", {"time", "job_id", "kind", "cores", "owned", "threads"},
       &grants);
  open(config.samples, "samples.csv",
       {"time", "job_id", "granted_cores", "granted", "runnable_threads", "compute_threads",
        "settling", "run_time_s", "run_queue_wait_s", "involuntary_switches", "steps", "images",
        "migrations", "throttled_us", "pressure_us", "spin_time_s"},
       &samples);
  open(config.steps, "steps.csv", {"job_id", "step", "time", "duration_ms", "threads", "loss"},
       &steps);
  open(config.resizes, "resizes.csv",
       {"time", "job_id", "cause", "inter_before", "intra_before", "inter_after", "intra_after",
        "cores", "op", "taken_us"},
       &resizes);
  open(config.actuations, "actuations.csv",
       {"time", "job_id", "cores", "actuator", "fast_us", "runtime_us"}, &actuations);
  if (config.decisions) decisions.emplace(partial / FileNameOf("decisions.csv", config), buffer);
  if (config.timeline) timeline.emplace(partial / FileNameOf("timeline.json", config), buffer);
}

JobTrack& CellRecords::Impl::Track(JobId job) {
  const auto track = tracks.find(job);
  CHECK(track != tracks.end()) << "job " << job.value << " was not submitted or has ended";
  return track->second;
}

void CellRecords::Impl::WriteGrant(TimePoint time, const JobTrack& track, std::string_view kind) {
  latest = std::max(latest, time);
  if (!grants) return;
  grants->Seconds(time)
      .Integer(track.job.id.value)
      .Text(kind)
      .Text(track.granted.ToString())
      .Text(track.owned.ToString())
      .Integer(track.started ? track.Threads() : 0)
      .End();
}

void CellRecords::Impl::WriteJob(TimePoint time, const JobTrack& track, JobEnd end,
                                 const std::string& reason) {
  const Job& job = track.job;
  const Duration turnaround = time - track.submitted;
  jobs.Integer(job.id.value)
      .Text(job.workload)
      .Text(ToString(job.elasticity))
      .Integer(job.priority)
      .Integer(job.request.min)
      .Integer(job.request.preferred)
      .Integer(job.request.max)
      .Seconds(track.submitted);
  if (track.started) {
    const Duration execution = time - *track.started;
    jobs.Seconds(*track.started).Seconds(time).Seconds(*track.started - track.submitted);
    jobs.Seconds(execution).Seconds(turnaround);
    if (execution > Duration::zero()) {
      jobs.Number(ToSeconds(turnaround) / ToSeconds(execution), 6);
    } else {
      jobs.Empty();
    }
  } else {
    jobs.Empty().Seconds(time).Empty().Empty().Seconds(turnaround).Empty();
  }
  jobs.Text(track.last_cores.ToString())
      .Integer(track.started ? track.Threads() : 0)
      .Integer(track.resizes)
      .Text(ToString(end))
      .Text(reason)
      .Integer(StepsDone(track, end));
  // Only samples tell how many images a step has.
  if (config.samples) {
    jobs.Integer(track.Images());
  } else {
    jobs.Empty();
  }
  const std::optional<double> alone_s = AloneSeconds(job);
  if (alone_s) {
    jobs.Number(*alone_s, 6);
  } else {
    jobs.Empty();
  }
  jobs.Seconds(track.lateness).End();
}

// Where nobody counts steps, one that finished has done all it had to.
int64_t CellRecords::Impl::StepsDone(const JobTrack& track, JobEnd end) const {
  const bool counted = config.samples || config.steps;
  return counted || end != JobEnd::kFinished ? track.steps : track.job.steps;
}

void CellRecords::Impl::EndSlice(TimePoint time, JobTrack* track) {
  if (timeline && time > track->slice_begin) {
    timeline->Slice(
        track->job.id, track->slice_begin, time, SliceName(*track),
        track->granted.Empty()
            ? "no cores"
            : fmt::format("cores {}, {} threads", track->granted.ToString(), track->Threads()));
  }
  track->slice_begin = time;
}

void CellRecords::Impl::SetOwned(JobTrack* track, const CpuSet& cores) {
  if (!grants && !timeline) return;  // Nobody reads it.
  owned.Replace(track->owned, cores);
  track->owned = cores;
}

void CellRecords::Impl::CountCores(TimePoint time) {
  if (timeline) timeline->Counter(time, "cores in use", owned.Held().Count());
}

void CellRecords::Impl::CountThreads(TimePoint time) {
  if (timeline) timeline->Counter(time, "runnable compute threads", runnable_threads);
}

std::string CellRecords::Impl::CellJson(const std::string& status,
                                        const std::string& reason) const {
  nlohmann::ordered_json cell = {
      {"policy", key.policy},   {"elasticity", ToString(key.elasticity)},
      {"trial", key.trial},     {"status", status},
      {"reason", reason},       {"machine_cores", machine_cores.ToString()},
      {"submitted", submitted}, {"marks", marks}};
  if (!services.empty()) {
    cell["services"] = services;
    cell["requests"] = requests_ended;
  }
  return cell.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

CellRecords::CellRecords(const std::filesystem::path& run, const CellKey& key,
                         const CpuSet& machine_cores, const RecordsConfig& config, size_t buffer)
    : impl_(std::make_unique<Impl>(run, key, machine_cores, config, buffer)) {}

CellRecords::~CellRecords() = default;

void CellRecords::OnSubmitted(TimePoint time, const Job& job) {
  const auto [place, is_new] = impl_->tracks.try_emplace(job.id);
  CHECK(is_new) << "job " << job.id.value << " again";
  JobTrack& track = place->second;
  track.job = job;
  track.submitted = track.slice_begin = job.arrival.value_or(time);
  track.lateness = time - track.submitted;
  ++impl_->submitted;
  impl_->WriteGrant(time, track, "submitted");
  if (impl_->timeline)
    impl_->timeline->NameJob(job.id, fmt::format("job {} {}", job.id.value, job.workload));
}

bool CellRecords::WantsDecisions() const { return impl_->decisions || impl_->timeline; }

void CellRecords::OnDecision(TimePoint time, int64_t decision, const std::string& event,
                             const std::string& allocation, Duration decision_time) {
  if (impl_->decisions) impl_->decisions->Add(time, decision, event, allocation, decision_time);
  if (impl_->timeline) impl_->timeline->Decision(time, event, allocation);
}

void CellRecords::OnStarted(TimePoint time, JobId job, const CpuSet& cores, Split split) {
  JobTrack& track = impl_->Track(job);
  impl_->EndSlice(time, &track);
  track.started = time;
  track.granted = track.last_cores = cores;
  impl_->SetOwned(&track, cores);
  track.split = split;
  impl_->WriteGrant(time, track, "granted");
  impl_->CountCores(time);
}

void CellRecords::OnGrant(TimePoint time, JobId job, const CpuSet& cores, Split split) {
  JobTrack& track = impl_->Track(job);
  impl_->EndSlice(time, &track);
  if (cores.Count() != track.granted.Count()) ++track.resizes;
  track.granted = cores;
  impl_->SetOwned(&track, track.owned | cores);
  if (!cores.Empty()) track.last_cores = cores;
  // Only a malleable job's threads follow its grant.
  if (track.job.elasticity == Elasticity::kMalleable && !cores.Empty()) track.split = split;
  impl_->WriteGrant(time, track, "granted");
  impl_->CountCores(time);
}

void CellRecords::OnSettled(TimePoint time, JobId job, const CpuSet& cores, int64_t decision,
                            Duration since) {
  if (!impl_->grants && !impl_->decisions && !impl_->timeline) return;  // Nobody is told.
  JobTrack& track = impl_->Track(job);
  impl_->SetOwned(&track, cores);
  impl_->WriteGrant(time, track, "settled");
  impl_->CountCores(time);
  if (impl_->decisions) impl_->decisions->Settled(job, decision, since);
}

void CellRecords::OnEnded(TimePoint time, JobId job, JobEnd end, const std::string& reason) {
  JobTrack& track = impl_->Track(job);
  impl_->EndSlice(time, &track);
  impl_->WriteJob(time, track, end, reason);
  track.granted = CpuSet();
  impl_->SetOwned(&track, CpuSet());
  impl_->WriteGrant(time, track, "released");
  if (impl_->decisions) impl_->decisions->Ended(job);
  impl_->runnable_threads -= track.runnable_threads;
  impl_->tracks.erase(job);
  impl_->CountCores(time);
  impl_->CountThreads(time);
}

void CellRecords::OnSample(const TenantSample& sample) {
  if (!impl_->samples) return;
  impl_->samples->Seconds(sample.time)
      .Integer(sample.job.value)
      .Text(sample.granted.ToString())
      .Integer(sample.granted.Count())
      .Integer(sample.runnable_threads)
      .Integer(sample.compute_threads)
      .Integer(sample.settling ? 1 : 0)
      .Seconds(sample.run_time)
      .Seconds(sample.run_queue_wait)
      .Integer(sample.involuntary_switches)
      .Integer(sample.steps)
      .Integer(sample.images)
      .Integer(sample.migrations)
      .Text(Microseconds(sample.throttled))
      .Text(Microseconds(sample.pressure))
      .Seconds(sample.spin_time)
      .End();
  const auto found = impl_->tracks.find(sample.job);
  if (found == impl_->tracks.end()) return;  // It ended between being sampled and being told of.
  JobTrack& track = found->second;
  track.sampled_steps = sample.steps;
  track.sampled_images = sample.images;
  track.steps = std::max(track.steps, sample.steps);
  impl_->runnable_threads += sample.runnable_threads - track.runnable_threads;
  track.runnable_threads = sample.runnable_threads;
  impl_->CountThreads(sample.time);
}

void CellRecords::OnStep(const StepSample& step) {
  if (!impl_->steps) return;
  impl_->steps->Integer(step.job.value)
      .Integer(step.step)
      .Seconds(step.finished)
      .Number(ToSeconds(step.duration) * 1e3, 4)
      .Integer(step.threads)
      .Text(std::isfinite(step.loss) ? fmt::format("{:.6g}", step.loss) : "")
      .End();
  const auto track = impl_->tracks.find(step.job);
  if (track == impl_->tracks.end()) return;
  track->second.steps = std::max(track->second.steps, step.step + 1);
}

void CellRecords::OnResize(const ResizeSample& resize) {
  if (!impl_->resizes) return;
  impl_->resizes->Seconds(resize.time)
      .Integer(resize.job.value)
      .Text(resize.cause)
      .Integer(resize.before.inter)
      .Integer(resize.before.intra)
      .Integer(resize.after.inter)
      .Integer(resize.after.intra)
      .Text(resize.cores.ToString())
      .Text(resize.op)
      .Number(ToSeconds(resize.taken) * 1e6, 0)
      .End();
}

void CellRecords::OnActuation(const ActuationSample& actuation) {
  if (!impl_->actuations) return;
  const auto microseconds = [](const std::optional<Duration>& duration) {
    return duration ? fmt::format("{:.1f}", ToSeconds(*duration) * 1e6) : "";
  };
  impl_->actuations->Seconds(actuation.time)
      .Integer(actuation.job.value)
      .Text(actuation.cores.ToString())
      .Text(actuation.actuator)
      .Text(microseconds(actuation.fast))
      .Text(microseconds(actuation.runtime))
      .End();
}

void CellRecords::AddService(JobId job) {
  impl_->services.push_back(job.value);
  if (!impl_->config.requests || impl_->requests) return;
  impl_->requests.emplace(impl_->partial / FileNameOf("requests.csv", impl_->config),
                          std::initializer_list<std::string_view>{
                              "request_id", "job_id", "service", "scheduled", "sent", "received",
                              "started", "finished", "work", "batch", "slo_ms", "state"},
                          impl_->buffer);
}

void CellRecords::OnRequest(const RequestRecord& request) {
  ++impl_->requests_ended;
  if (!impl_->requests) return;
  CsvWriter& row = *impl_->requests;
  row.Integer(request.id)
      .Integer(request.job.value)
      .Text(request.service)
      .Seconds(request.scheduled)
      .Seconds(request.sent);
  const RequestSample* answer = request.answer;
  if (answer != nullptr) {
    row.Seconds(answer->received).Seconds(answer->started).Seconds(answer->finished);
  } else {
    row.Empty().Empty().Empty();
  }
  row.Text(fmt::format("{:.9g}", request.work))
      .Text(answer != nullptr ? std::to_string(answer->batch) : "");
  row.Text(request.slo ? fmt::format("{:.3f}", ToSeconds(*request.slo) * 1e3) : "")
      .Text(answer != nullptr ? "served" : "dropped")
      .End();
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
  if (impl_->decisions) impl_->decisions->Finish();
  if (impl_->timeline) impl_->timeline->Finish();
  impl_->jobs.Sync();
  for (std::optional<CsvWriter>* file : {&impl_->grants, &impl_->samples, &impl_->steps,
                                         &impl_->resizes, &impl_->actuations, &impl_->requests}) {
    if (*file) (*file)->Sync();
  }
  // Last, so that a folder with a cell.json holds all its rows.
  WriteFileWhole(impl_->partial / "cell.json", impl_->CellJson(status, reason));
  SyncFolder(impl_->partial);
  ReplaceFolder(impl_->partial, impl_->whole);
  SyncFolder(impl_->whole.parent_path());
}

}  // namespace cosched
