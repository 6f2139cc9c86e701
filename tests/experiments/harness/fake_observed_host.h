#pragma once
// A host without processes, on a virtual clock: a job takes (steps x 10 ms) / cores, everything
// settles at once, and a service answers nobody. For tests of the harness; a job may be told to
// fail, and a hook runs before every event.

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "experiments/harness/harness.h"

namespace cosched {

// What a test may change, and what it may look at afterwards.
struct FakeHostScript {
  int64_t fails = -1;  // This job fails when it starts, a service `serves_for` later.
  Duration serves_for{0};
  Duration late_by{0};  // The clock jumps by this much when the host is first asked for an event.
  std::function<void()> before_event = [] {};
  std::vector<std::vector<std::pair<double, TenantSpec>>> described;  // A list a host: when, what.
};

class FakeObservedHost final : public ObservedHost, public Clock {
 public:
  explicit FakeObservedHost(FakeHostScript* script) : script_(script) {
    script_->described.emplace_back();
  }

  static HostFactory Factory(FakeHostScript* script) {
    return {.make_host = [script](const std::filesystem::path&, bool) {
      return std::make_unique<FakeObservedHost>(script);
    }};
  }

  void Describe(JobId job, const TenantSpec& spec) override {
    script_->described.back().emplace_back(ToSeconds(now_), spec);
    jobs_[job].left_s = 0.01 * static_cast<double>(spec.steps);
    jobs_[job].serves = spec.serves;
  }
  std::vector<TenantSample> Sample() override {
    std::vector<TenantSample> samples;
    for (const auto& [id, job] : jobs_) {
      if (!job.started) continue;
      TenantSample sample;
      sample.job = id;
      sample.time = now_;
      sample.granted = job.cores;
      sample.amount = CpuShare::OfCores(job.cores.Count());
      sample.runnable_threads = job.cores.Count();
      samples.push_back(sample);
    }
    return samples;
  }
  std::vector<StepSample> TakeSteps() override { return {}; }
  std::vector<ResizeSample> TakeResizes() override { return {}; }
  std::vector<ActuationSample> TakeActuations() override { return {}; }

  TimePoint Now() const override { return now_; }
  const Clock& GetClock() const override { return *this; }
  void Start(const Job& job, const Place& place) override {
    jobs_[job.id].started = true;
    Move(job.id, place.cores);
    if (job.id.value != script_->fails) return;
    if (jobs_[job.id].serves) jobs_[job.id].fails = now_ + script_->serves_for;
    if (!jobs_[job.id].serves) events_.push_back(HostFailed{job.id, "told to"});
  }
  void Grant(JobId job, const Place& place) override { Move(job, place.cores); }
  void Pause(JobId job) override { Move(job, {}); }
  void Stop(JobId job) override { jobs_.erase(job); }
  void Send(const ServerId&, const Request&) override {}
  double Progress(JobId) const override { return 0.5; }

  std::optional<HostEvent> NextEvent(TimePoint deadline) override {
    script_->before_event();
    now_ += std::exchange(script_->late_by, Duration{0});
    if (!events_.empty()) return Take();
    auto next = jobs_.end();
    for (auto job = jobs_.begin(); job != jobs_.end(); ++job) {
      if (job->second.cores.Empty()) continue;
      if (next == jobs_.end() || End(job->second) < End(next->second)) next = job;
    }
    if (next == jobs_.end() || End(next->second) > deadline) {
      Advance(std::max(now_, deadline));
      return std::nullopt;
    }
    const JobId id = next->first;
    const bool fails = next->second.serves;
    Advance(End(next->second));
    jobs_.erase(id);
    if (fails) return HostFailed{id, "told to"};
    return HostFinished{id};
  }

 private:
  struct FakeJob {
    double left_s = 0;
    CpuSet cores;
    bool started = false;
    bool serves = false;
    TimePoint fails = TimePoint::max();
  };

  TimePoint End(const FakeJob& job) const {
    return job.serves ? job.fails : now_ + FromSeconds(job.left_s / job.cores.Count());
  }
  void Move(JobId job, const CpuSet& cores) {
    jobs_[job].cores = cores;
    events_.push_back(HostSettled{job});
  }
  HostEvent Take() {
    HostEvent event = events_.front();
    events_.erase(events_.begin());
    if (const auto* failed = std::get_if<HostFailed>(&event)) jobs_.erase(failed->job);
    return event;
  }
  void Advance(TimePoint to) {
    for (auto& [id, job] : jobs_) job.left_s -= ToSeconds(to - now_) * job.cores.Count();
    now_ = to;
  }

  FakeHostScript* script_;
  TimePoint now_;
  std::map<JobId, FakeJob> jobs_;
  std::vector<HostEvent> events_;
};

}  // namespace cosched
