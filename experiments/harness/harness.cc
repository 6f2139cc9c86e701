#include "experiments/harness/harness.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "experiments/harness/device_windows.h"
#include "experiments/harness/dispatcher.h"
#include "experiments/harness/dispatcher_setup.h"
#include "policies/placement.h"

namespace cosched {
namespace {

// A job that is submitted this much after its arrival says that the machine was too busy to measure
// on.
constexpr Duration kLate = std::chrono::milliseconds(50);
// A policy that asks for ticks, or is told of a service's windows, may still change its mind, but
// not for ever: so many of these with nothing running before we give up.
constexpr int kIdleAsks = 100;
// The rows of a repeatable cell may wait in memory until they fill this.
constexpr size_t kRepeatableBuffer = size_t{1} << 16;
// Where nothing else sets a deadline.
constexpr Duration kLongest = std::chrono::hours(1);

class CellRun final : private ArbiterObserver {
 public:
  enum class Outcome { kDone, kFailed, kInterrupted };

  CellRun(const ExperimentConfig& config, const JobTrace& trace, const RequestTrace& requests,
          const std::vector<ClientScript>& clients, const CellKey& key,
          const HarnessOptions& options)
      : config_(config),
        trace_(trace),
        key_(key),
        options_(options),
        jobs_(config, key.elasticity, key.trial),
        info_(*config.FindPolicy(key.policy)),
        policy_(options.make_policy ? options.make_policy(key.policy)
                                    : config.NewPolicy(key.policy)),
        tick_(policy_->TickPeriod()),
        records_(options.run, key, config.cores, config.records,
                 options.hosts.repeatable ? kRepeatableBuffer : 0),
        host_(options.hosts.make_host(PartialFolder(options.run, key), info_.shares)),
        arbiter_(*policy_, info_.oversubscribes, *host_, options.topology, config.cores, *this,
                 info_.on_settled, DivideCores(options.topology, config.cores, config.nodes)),
        requests_(DispatcherSetupOf(config, key), requests, clients, *host_, arbiter_, records_),
        devices_(config.devices) {
    ShowServices();
    next_window_ = TimePoint(config.services.window);
    for (const ServiceView& service : requests_.Windows().Views()) {
      if (service.objective > Duration::zero())
        records_.OnObjective(TimePoint(), service.name, service.objective, config.services.window);
    }
    if (config.interference) interference_.emplace(host_->BusyTimes());
  }

  Outcome Run() {
    try {
      return Loop();
    } catch (const InputError&) {
      throw;
    } catch (const OutputError&) {
      throw;
    } catch (const PolicyError& error) {
      return Fail(error.what());
    } catch (const std::exception& error) {
      return Fail(fmt::format("the host gave up: {}", error.what()));
    }
  }

  const std::string& problem() const { return problem_; }  // A failed cell's.
  // "2 of 3 jobs failed, job 0: …"; "" = none.
  std::string Failures() const {
    if (failed_jobs_ == 0) return "";
    return fmt::format("{} of {} jobs failed, {}", failed_jobs_, trace_.size(), first_failure_);
  }

 private:
  Outcome Loop() {
    while (true) {
      SubmitArrivals();
      requests_.Send(Now(), AllSubmitted());
      ChangeObjectives();
      CloseWindowIfDue();
      TickIfDue();
      SampleIfDue();
      TellJobsDone();
      if (AllArrived() && requests_.DevicesIdle() && arbiter_.Waiting() + arbiter_.Started() == 0)
        break;
      if (NeverDrains())
        return Fail("it can never drain: jobs wait, none runs and none is to come");
      std::optional<HostEvent> event = host_->NextEvent(Deadline());
      TakeReports();
      // Asked before the event is handled: an interrupt that reached the tenants too is no failure
      // of theirs.
      if (options_.interrupted()) return Interrupt();
      if (!event) continue;
      if (const auto* lost = std::get_if<HostLostDevice>(&*event)) {
        LoseDevice(*lost);
        continue;
      }
      if (const auto* failed = std::get_if<HostFailed>(&*event); failed && failed_jobs_++ == 0)
        first_failure_ = fmt::format("job {}: {}", failed->job.value, failed->reason);
      const bool ends = !std::holds_alternative<HostSettled>(*event);
      if (ends) TakeSamples();  // The last job's are among them.
      arbiter_.Handle(*event);
    }
    Finish("done", "");
    return Outcome::kDone;
  }

  void OnSubmitted(TimePoint time, const Job& job) override { records_.OnSubmitted(time, job); }
  bool WantsDecisions() const override { return records_.WantsDecisions(); }
  void OnDecision(TimePoint time, int64_t decision, const std::string& event,
                  const std::string& allocation, Duration decision_time) override {
    records_.OnDecision(time, decision, event, allocation, decision_time);
  }
  void OnStarted(TimePoint time, JobId job, const Place& place) override {
    records_.OnStarted(time, job, place);
  }
  void OnGrant(TimePoint time, JobId job, const Place& place) override {
    records_.OnGrant(time, job, place);
  }
  void OnSettled(TimePoint time, JobId job, const Place& place, int64_t decision,
                 Duration since) override {
    records_.OnSettled(time, job, place, decision, since);
  }
  // However it ended: one that the policy refused is a server no more either.
  void OnEnded(TimePoint time, JobId job, JobEnd end, const std::string& reason) override {
    records_.OnEnded(time, job, end, reason);
    if (requests_.ServerEnded(job)) ShowServices();
  }

  TimePoint Now() const { return host_->GetClock().Now(); }
  bool AllSubmitted() const { return submitted_ == trace_.size(); }
  bool AllArrived() const { return AllSubmitted() && requests_.NoneDue(); }
  bool HasServices() const { return !requests_.Windows().Views().empty(); }
  TimePoint NextArrival() const { return TimePoint(trace_.Time(submitted_)); }

  void SubmitArrivals() {
    while (!AllSubmitted() && NextArrival() <= Now()) {
      const JobArrival arrival = trace_[submitted_];
      const auto index = static_cast<int64_t>(submitted_);
      const Job job = jobs_.JobOf(arrival, index);
      CHECK(job.speed || !info_.needs_speed) << "nothing is known of " << job.workload;
      const Duration lateness = Now() - NextArrival();
      worst_lateness_ = std::max(worst_lateness_, lateness);
      if (lateness > kLate) ++late_jobs_;
      const TenantSpec& spec = jobs_.SpecOf(arrival, index);
      host_->Describe(job.id, spec);
      if (spec.serves) {
        requests_.AddInstance(*job.service, job.id);
        ShowServices();
        records_.AddService(job.id);
      }
      if (spec.IsPipeline()) records_.AddPipeline(job.id, PipelineStages(spec.pipeline));
      ++submitted_;
      arbiter_.Submit(job);
    }
  }

  void TickIfDue() {
    if (tick_ == Duration::zero() || Now() < next_tick_) return;
    arbiter_.Tick();
    next_tick_ = Now() + tick_;
    idle_asks_ = Idle() ? idle_asks_ + 1 : 0;
  }

  void ChangeObjectives() {
    const std::vector<ObjectiveChange>& changes = config_.trace.changes;
    for (; next_change_ < changes.size(); ++next_change_) {
      const ObjectiveChange& change = changes[next_change_];
      if (Now() < TimePoint(change.at)) return;
      const ServiceId service = requests_.SetObjective(change.service, change.objective);
      records_.OnObjective(Now(), change.service, change.objective, config_.services.window);
      ShowServices();
      arbiter_.ObjectiveChanged(service);
    }
  }

  // A window in which no service ran is nothing to tell of.
  void CloseWindowIfDue() {
    if (!HasServices()) return;
    const bool ran = std::exchange(services_run_, requests_.SomeInstanceRuns());
    if (Now() < next_window_) return;
    requests_.Windows().Close(
        Now(), [this](JobId job) { return host_->CpuTime(job); },
        [this](JobId job) { return host_->Pipeline(job); });
    devices_.Close(config_.services.window);
    const auto windows = Now().time_since_epoch() / config_.services.window + 1;
    next_window_ = TimePoint(windows * config_.services.window);
    ShowServices();
    if (!ran || !services_run_) return;
    arbiter_.WindowOver();
    idle_asks_ = Idle() ? idle_asks_ + 1 : 0;
  }

  void SampleIfDue() {
    if (!config_.records.samples || Now() < next_sample_) return;
    TakeSamples();
    TellQueues();
    // On the grid of periods, so that a late sample does not shift those after it.
    const auto periods = Now().time_since_epoch() / config_.sample_period + 1;
    next_sample_ = TimePoint(periods * config_.sample_period);
  }

  void TakeSamples() {
    if (!config_.records.samples) return;
    const std::vector<TenantSample> samples = host_->Sample();
    for (const TenantSample& sample : samples) records_.OnSample(sample);
    if (interference_) interference_->Add(samples, host_->BusyTimes());
  }

  void TellQueues() {
    const ServiceWindows& windows = requests_.Windows();
    for (size_t i = 0; i < windows.Views().size(); ++i)
      records_.OnQueue(Now(), windows.Views()[i].name, windows.Queued(i), windows.InFlight(i));
  }

  void TakeReports() {
    for (const StepSample& step : host_->TakeSteps()) records_.OnStep(step);
    for (const ResizeSample& resize : host_->TakeResizes()) records_.OnResize(resize);
    for (const ActuationSample& move : host_->TakeActuations()) records_.OnActuation(move);
    for (const MemoryMove& move : host_->TakeMemoryMoves()) records_.OnMemoryMove(move);
    requests_.Answered(host_->TakeRequests());
    for (const HoldSample& hold : host_->TakeHolds()) {
      devices_.Add(hold);
      records_.OnHold(hold, config_.devices[static_cast<size_t>(hold.device.value)].name,
                      requests_.Windows().Views()[static_cast<size_t>(hold.service.value)].name);
    }
  }

  // What policies see from now on.
  void ShowServices() { arbiter_.SetServices(requests_.Windows().Views(), devices_.Views()); }

  void LoseDevice(const HostLostDevice& lost) {
    requests_.ServerEnded(lost.device);
    const std::string& name = config_.devices[static_cast<size_t>(lost.device.value)].name;
    records_.Mark(fmt::format("the modelled device {} was lost: {}", name, lost.reason));
    ShowServices();
  }

  TimePoint Deadline() const {
    TimePoint deadline = config_.records.samples ? next_sample_ : Now() + kLongest;
    if (!AllSubmitted()) deadline = std::min(deadline, NextArrival());
    if (const auto due = requests_.NextDue()) deadline = std::min(deadline, *due);
    if (tick_ > Duration::zero()) deadline = std::min(deadline, next_tick_);
    if (services_run_) deadline = std::min(deadline, next_window_);
    const std::vector<ObjectiveChange>& changes = config_.trace.changes;
    if (services_run_ && next_change_ < changes.size())
      deadline = std::min(deadline, TimePoint(changes[next_change_].at));
    return deadline;
  }

  // Nothing runs and nothing is about to.
  bool Idle() const {
    return AllArrived() && requests_.DevicesIdle() && !arbiter_.InTransition() &&
           arbiter_.Running() == 0;
  }
  bool NeverDrains() const {
    const bool asked = tick_ > Duration::zero() || requests_.SomeInstanceRuns();
    return Idle() && (!asked || idle_asks_ >= kIdleAsks);
  }

  void TellJobsDone() {
    const int done = static_cast<int>(submitted_) - arbiter_.Waiting() - arbiter_.Started();
    if (options_.progress && done != told_done_) options_.progress->OnJobsDone(done);
    told_done_ = done;
  }

  void MarkDoubts() {
    for (const std::string& mark : options_.marks) records_.Mark(mark);
    for (const std::string& mark : host_->TakeMarks()) records_.Mark(mark);
    for (const std::string& note : TraceSourceNotes(config_.trace.sources)) records_.Mark(note);
    if (late_jobs_ > 0) {
      records_.Mark(fmt::format(
          "the generator fell behind: {} of {} jobs were submitted more than {:.0f} ms after their "
          "arrival, the latest {:.0f} ms",
          late_jobs_, submitted_, ToSeconds(kLate) * 1e3, ToSeconds(worst_lateness_) * 1e3));
    }
    if (requests_.WorstLag() > kLateRequest) {
      records_.Mark(fmt::format("the generator fell behind: a request was sent {:.0f} ms late",
                                ToSeconds(requests_.WorstLag()) * 1e3));
    }
  }

  void Finish(const std::string& status, const std::string& reason) {
    requests_.DropAll();
    MarkDoubts();
    if (interference_) records_.WriteInterference(interference_->matrix());
    records_.Finish(status, reason);
  }

  Outcome Interrupt() {
    arbiter_.EndAll(JobEnd::kCancelled, "interrupted");
    return Outcome::kInterrupted;
  }

  Outcome Fail(const std::string& reason) {
    problem_ = reason;
    arbiter_.EndAll(JobEnd::kCancelled, reason);
    Finish("failed", reason);
    return Outcome::kFailed;
  }

  const ExperimentConfig& config_;
  const JobTrace& trace_;
  const CellKey& key_;
  const HarnessOptions& options_;
  CellJobs jobs_;
  const PolicyInfo& info_;
  std::unique_ptr<Policy> policy_;
  const Duration tick_;
  CellRecords records_;  // Makes the folder that the host logs into, and outlives the host: no
                         // time of the cell is spent.
  std::unique_ptr<ObservedHost> host_;
  Arbiter arbiter_;
  Dispatcher requests_;
  DeviceWindows devices_;
  std::optional<InterferenceMeter> interference_;  // If the experiment asks for it.

  size_t submitted_ = 0;
  TimePoint next_sample_;
  TimePoint next_tick_;
  TimePoint next_window_;
  size_t next_change_ = 0;     // Of the objectives.
  bool services_run_ = false;  // Some of them, when the loop last looked.
  int idle_asks_ = 0;
  int told_done_ = 0;
  int failed_jobs_ = 0;
  std::string first_failure_;
  int late_jobs_ = 0;  // By more than kLate.
  Duration worst_lateness_{0};
  std::string problem_;
};

}  // namespace

HarnessResult RunCells(const ExperimentConfig& config, const Plan& plan,
                       const std::vector<CellKey>& cells, const HarnessOptions& options) {
  HarnessResult result;
  for (const CellKey& key : cells) {
    result.interrupted = options.interrupted();
    if (result.interrupted) break;
    const auto trial = static_cast<size_t>(key.trial - 1);
    const JobTrace& trace = plan.traces.at(trial);
    if (options.progress) options.progress->OnCellStarted(key, static_cast<int>(trace.size()));
    CellRun cell(config, trace, plan.requests.at(trial), plan.clients.at(trial), key, options);
    const CellRun::Outcome outcome = cell.Run();
    result.interrupted = outcome == CellRun::Outcome::kInterrupted;
    if (result.interrupted) break;
    const bool is_whole = outcome != CellRun::Outcome::kFailed;
    const std::string problem = is_whole ? cell.Failures() : cell.problem();
    if (problem.empty()) {
      ++result.done;
    } else {
      ++(is_whole ? result.with_failures : result.failed);
    }
    if (options.progress) options.progress->OnCellEnded(key, problem);
  }
  return result;
}

}  // namespace cosched
