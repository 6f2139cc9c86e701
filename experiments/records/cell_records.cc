#include "experiments/records/cell_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "experiments/records/cell_file.h"
#include "experiments/records/decision_log.h"
#include "experiments/records/live_records.h"
#include "experiments/records/output_file.h"
#include "experiments/records/request_records.h"
#include "experiments/records/rows.h"
#include "experiments/records/stage_records.h"
#include "experiments/records/table.h"
#include "experiments/records/timeline.h"

namespace cosched {
namespace {

std::optional<int64_t> WholeMicroseconds(const std::optional<Duration>& duration) {
  if (!duration) return std::nullopt;
  return *duration / std::chrono::microseconds(1);
}

std::optional<double> MicrosecondsOf(const std::optional<Duration>& duration) {
  if (!duration) return std::nullopt;
  return ToSeconds(*duration) * 1e6;
}

// What the job takes by itself on the cores it prefers; nullopt where its speed or its work is not
// known.
std::optional<double> AloneSeconds(const Job& job) {
  const double speed = job.speed ? job.speed->At(job.request.preferred) : 0;
  if (speed <= 0 || job.steps <= 0) return std::nullopt;
  return static_cast<double>(job.steps) / speed;
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
  CpuSet granted;         // By the latest grant.
  CpuSet owned;           // And the cores that it has not left yet.
  CpuShare amount;        // CPU time that goes with these: of the grant,
  CpuShare owned_amount;  // and what it has not given up yet.
  CpuSet last_cores;      // The last grant that was not empty.
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
  return fmt::format("{} core{}", track.amount.Cores(), track.amount.milli == 1000 ? "" : "s");
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
  std::string CellText(const std::string& status, const std::string& reason) const;
  JobTrack& Track(JobId job);

  const CellKey key;
  const CpuSet machine_cores;
  const std::filesystem::path whole;
  const std::filesystem::path partial;
  const RecordsConfig config;
  const size_t buffer;
  RowWriter<JobRow> jobs;
  // Absent = off.
  std::optional<RowWriter<GrantRow>> grants;
  std::optional<RowWriter<SampleRow>> samples;
  std::optional<RowWriter<StepRow>> steps;
  std::optional<RowWriter<ResizeRow>> resizes;
  std::optional<RowWriter<ActuationRow>> actuations;
  std::optional<RowWriter<MemoryRow>> memory;  // Opened by the first row.
  std::optional<StageRecords> stages;          // Opened by the first pipeline.
  std::optional<RequestRecords> requests;
  std::optional<DecisionLog> decisions;
  std::optional<Timeline> timeline;
  std::optional<LiveRecords> live;  // None where rows wait in memory: nobody can watch that.
  std::map<JobId, JobTrack> tracks;
  CoreCounter owned;         // By all tracks.
  int runnable_threads = 0;  // The same.
  std::vector<std::string> marks;
  TimePoint latest;
  int submitted = 0;
  std::vector<int64_t> services;
  int64_t requests_ended = 0;
};

CellRecords::Impl::Impl(const std::filesystem::path& run, const CellKey& cell_key,
                        const CpuSet& cores, const RecordsConfig& wanted, size_t wanted_buffer)
    : key(cell_key),
      machine_cores(cores),
      whole(CellFolder(run, cell_key)),
      partial(MakeEmptyFolder(PartialFolder(run, cell_key))),
      config(wanted),
      buffer(wanted_buffer),
      jobs(partial, wanted.gzip, wanted_buffer) {
  const auto open = [this](bool wants, auto* file) {
    if (wants) file->emplace(partial, config.gzip, buffer);
  };
  open(config.grants, &grants);
  open(config.samples, &samples);
  open(config.steps, &steps);
  open(config.resizes, &resizes);
  open(config.actuations, &actuations);
  open(config.decisions, &decisions);
  open(config.requests, &requests);
  if (config.timeline)
    timeline.emplace(partial / (config.gzip ? "timeline.json.gz" : "timeline.json"), buffer);
  if (buffer == 0) live.emplace(partial);
}

JobTrack& CellRecords::Impl::Track(JobId job) {
  const auto track = tracks.find(job);
  CHECK(track != tracks.end()) << "job " << job.value << " was not submitted or has ended";
  return track->second;
}

void CellRecords::Impl::WriteGrant(TimePoint time, const JobTrack& track, std::string_view kind) {
  latest = std::max(latest, time);
  if (!grants) return;
  grants->Write({.time = time,
                 .job_id = track.job.id.value,
                 .kind = kind,
                 .cores = track.granted,
                 .owned = track.owned,
                 .threads = track.started ? track.Threads() : 0,
                 .amount = track.amount.Cores(),
                 .owned_amount = track.owned_amount.Cores()});
}

void CellRecords::Impl::WriteJob(TimePoint time, const JobTrack& track, JobEnd end,
                                 const std::string& reason) {
  const Job& job = track.job;
  JobRow row{.job_id = job.id.value,
             .workload = job.workload,
             .elasticity = ToString(job.elasticity),
             .priority = job.priority,
             .requested_min = job.request.min,
             .requested_preferred = job.request.preferred,
             .requested_max = job.request.max,
             .submission_time = track.submitted,
             .starting_time = track.started,
             .finish_time = time,
             .turnaround_time = time - track.submitted,
             .allocated_resources = track.last_cores,
             .threads = track.started ? track.Threads() : 0,
             .resizes = track.resizes,
             .state = ToString(end),
             .reason = reason,
             .steps = StepsDone(track, end),
             .alone_s = AloneSeconds(job),
             .lateness = track.lateness};
  if (track.started) {
    const Duration execution = time - *track.started;
    row.waiting_time = *track.started - track.submitted;
    row.execution_time = execution;
    if (execution > Duration::zero())
      row.stretch = ToSeconds(time - track.submitted) / ToSeconds(execution);
  }
  if (config.samples) row.images = track.Images();
  jobs.Write(row);
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

std::string CellRecords::Impl::CellText(const std::string& status,
                                        const std::string& reason) const {
  return CellFileText(key, {.status = status,
                            .reason = reason,
                            .machine_cores = machine_cores,
                            .submitted = submitted,
                            .marks = marks,
                            .services = services,
                            .requests = requests_ended});
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
  if (impl_->live) impl_->live->Submitted(job);
  if (impl_->timeline)
    impl_->timeline->NameJob(job.id, fmt::format("job {} {}", job.id.value, job.workload));
}

bool CellRecords::WantsDecisions() const { return impl_->decisions || impl_->timeline; }

void CellRecords::OnDecision(TimePoint time, int64_t decision, const std::string& event,
                             const std::string& allocation, Duration decision_time) {
  if (impl_->decisions) impl_->decisions->Add(time, decision, event, allocation, decision_time);
  if (impl_->timeline) impl_->timeline->Decision(time, event, allocation);
}

void CellRecords::OnStarted(TimePoint time, JobId job, const Place& place) {
  JobTrack& track = impl_->Track(job);
  impl_->EndSlice(time, &track);
  track.started = time;
  track.granted = track.last_cores = place.cores;
  track.amount = track.owned_amount = place.amount;
  impl_->SetOwned(&track, place.cores);
  track.split = place.threads;
  impl_->WriteGrant(time, track, "granted");
  impl_->CountCores(time);
}

void CellRecords::OnGrant(TimePoint time, JobId job, const Place& place) {
  JobTrack& track = impl_->Track(job);
  impl_->EndSlice(time, &track);
  if (place.amount != track.amount) ++track.resizes;
  track.granted = place.cores;
  track.amount = place.amount;
  track.owned_amount = std::max(track.owned_amount, place.amount);
  impl_->SetOwned(&track, track.owned | place.cores);
  if (!place.Pauses()) track.last_cores = place.cores;
  // Only a malleable job's threads follow its grant.
  if (track.job.elasticity == Elasticity::kMalleable && !place.Pauses())
    track.split = place.threads;
  impl_->WriteGrant(time, track, "granted");
  impl_->CountCores(time);
}

void CellRecords::OnSettled(TimePoint time, JobId job, const Place& place, int64_t decision,
                            Duration since) {
  if (!impl_->grants && !impl_->decisions && !impl_->timeline) return;  // Nobody is told.
  JobTrack& track = impl_->Track(job);
  impl_->SetOwned(&track, place.cores);
  track.owned_amount = place.amount;
  impl_->WriteGrant(time, track, "settled");
  impl_->CountCores(time);
  if (impl_->decisions) impl_->decisions->Settled(job, decision, since);
}

void CellRecords::OnEnded(TimePoint time, JobId job, JobEnd end, const std::string& reason) {
  JobTrack& track = impl_->Track(job);
  impl_->EndSlice(time, &track);
  impl_->WriteJob(time, track, end, reason);
  track.granted = CpuSet();
  track.amount = track.owned_amount = CpuShare();
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
  impl_->samples->Write({.time = sample.time,
                         .job_id = sample.job.value,
                         .granted_cores = sample.granted,
                         .granted = sample.amount.Threads(),
                         .runnable_threads = sample.runnable_threads,
                         .compute_threads = sample.compute_threads,
                         .settling = sample.settling,
                         .run_time_s = sample.run_time,
                         .run_queue_wait_s = sample.run_queue_wait,
                         .involuntary_switches = sample.involuntary_switches,
                         .steps = sample.steps,
                         .images = sample.images,
                         .migrations = sample.migrations,
                         .throttled_us = WholeMicroseconds(sample.throttled),
                         .pressure_us = WholeMicroseconds(sample.pressure),
                         .spin_time_s = sample.spin_time,
                         .amount = sample.amount.Cores()});
  if (impl_->stages) impl_->stages->Write(sample);
  const auto found = impl_->tracks.find(sample.job);
  if (found == impl_->tracks.end()) return;  // The job ended between the sample and this.
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
  impl_->steps->Write({.job_id = step.job.value,
                       .step = step.step,
                       .time = step.finished,
                       .duration_ms = ToSeconds(step.duration) * 1e3,
                       .threads = step.threads,
                       .loss = std::isfinite(step.loss) ? std::optional(step.loss) : std::nullopt});
  const auto track = impl_->tracks.find(step.job);
  if (track == impl_->tracks.end()) return;
  track->second.steps = std::max(track->second.steps, step.step + 1);
}

void CellRecords::OnResize(const ResizeSample& resize) {
  if (!impl_->resizes) return;
  impl_->resizes->Write({.time = resize.time,
                         .job_id = resize.job.value,
                         .cause = resize.cause,
                         .inter_before = resize.before.inter,
                         .intra_before = resize.before.intra,
                         .inter_after = resize.after.inter,
                         .intra_after = resize.after.intra,
                         .cores = resize.cores,
                         .op = resize.op,
                         .taken_us = ToSeconds(resize.taken) * 1e6});
}

void CellRecords::OnActuation(const ActuationSample& actuation) {
  if (!impl_->actuations) return;
  impl_->actuations->Write({.time = actuation.time,
                            .job_id = actuation.job.value,
                            .cores = actuation.cores,
                            .actuator = actuation.actuator,
                            .fast_us = MicrosecondsOf(actuation.fast),
                            .runtime_us = MicrosecondsOf(actuation.runtime)});
}

void CellRecords::OnMemoryMove(const MemoryMove& move) {
  if (!impl_->config.actuations) return;
  if (!impl_->memory) impl_->memory.emplace(impl_->partial, impl_->config.gzip, impl_->buffer);
  impl_->memory->Write({.time = move.time,
                        .job_id = move.job.value,
                        .from = move.from.numbers,
                        .to = move.to.numbers,
                        .outcome = move.outcome,
                        .bytes = move.bytes,
                        .left_bytes = move.left,
                        .taken_us = ToSeconds(move.taken) * 1e6});
}

void CellRecords::AddService(JobId job) {
  impl_->services.push_back(job.value);
  if (impl_->requests) impl_->requests->Begin();
}

void CellRecords::AddPipeline(JobId job, std::vector<std::string> stages) {
  if (!impl_->config.samples) return;
  if (!impl_->stages) impl_->stages.emplace(impl_->partial, impl_->config.gzip, impl_->buffer);
  impl_->stages->Add(job, std::move(stages));
}

void CellRecords::OnRequest(const RequestRecord& request) {
  ++impl_->requests_ended;
  if (impl_->requests) impl_->requests->Write(request);
}

void CellRecords::OnHold(const HoldSample& hold, std::string_view device,
                         std::string_view service) {
  if (impl_->requests) impl_->requests->Write(hold, device, service);
}

void CellRecords::OnObjective(TimePoint time, std::string_view service, Duration objective,
                              Duration window) {
  if (impl_->requests) impl_->requests->WriteObjective(time, service, objective, window);
}

void CellRecords::OnQueue(TimePoint time, std::string_view service, int64_t queued,
                          int64_t in_flight) {
  if (impl_->live) impl_->live->Queue({time, service, queued, in_flight});
}

void CellRecords::WriteInterference(const Interference::Matrix& matrix) {
  RowWriter<InterferenceRow> file(impl_->partial, /*gzip=*/false);
  for (const auto& [pair, waited_s] : matrix) {
    const auto& [victim, culprit] = pair;
    const std::string by = culprit ? std::to_string(culprit->value) : "other";
    file.Write({.victim = victim.value,
                .culprit = culprit == victim ? "self" : std::string_view(by),
                .waited_s = waited_s});
  }
  file.Sync();
}

void CellRecords::Mark(const std::string& mark) { impl_->marks.push_back(mark); }

void CellRecords::Finish(const std::string& status, const std::string& reason) {
  for (auto& [id, track] : impl_->tracks) impl_->EndSlice(impl_->latest, &track);
  if (impl_->decisions) impl_->decisions->Finish();
  if (impl_->timeline) impl_->timeline->Finish();
  impl_->jobs.Sync();
  const auto sync = [](auto*... files) { ((*files ? (*files)->Sync() : void()), ...); };
  sync(&impl_->grants, &impl_->samples, &impl_->steps, &impl_->resizes, &impl_->actuations,
       &impl_->memory, &impl_->stages, &impl_->requests);
  impl_->live.reset();
  // Last, so that a folder with a cell.json holds all its rows.
  WriteFileWhole(impl_->partial / kCellFileName, impl_->CellText(status, reason));
  SyncFolder(impl_->partial);
  ReplaceFolder(impl_->partial, impl_->whole);
  SyncFolder(impl_->whole.parent_path());
}

}  // namespace cosched
