#pragma once
// A host driven by hand and the machine around it, for the tests of policies and arbiter: nothing
// happens until the test says so, so every interleaving can be played. The host is also the oracle
// of exclusivity: it keeps, by itself, every core that a job's threads may still be on, and fails
// the test when a core is given to a second job.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "policies/arbiter.h"

namespace cosched {

constexpr char kFourCores[] = "pack:1 [numa] l3:1 core:4 pu:1";
constexpr char kSixteenCores[] = "pack:2 [numa] l3:1 core:8 pu:1";

inline Job MakeJob(int64_t id, CoreRequest request, Elasticity elasticity = Elasticity::kMalleable,
                   int priority = 0) {
  return {.id = {id},
          .workload = "toy",
          .request = request,
          .elasticity = elasticity,
          .priority = priority};
}

// Speed steps_per_second * k^exponent on k cores.
inline std::shared_ptr<const SpeedCurve> PowerCurve(double steps_per_second, double exponent,
                                                    int size) {
  std::vector<double> speeds;
  for (int k = 1; k <= size; ++k) speeds.push_back(steps_per_second * std::pow(k, exponent));
  return std::make_shared<SpeedCurve>(std::move(speeds));
}

class ManualClock final : public Clock {
 public:
  TimePoint Now() const override { return now_; }
  void Advance(Duration by) { now_ += by; }

 private:
  TimePoint now_;
};

class FakeHost final : public Host {
 public:
  explicit FakeHost(bool exclusive) : exclusive_(exclusive) {}

  const Clock& GetClock() const override { return clock; }
  void Start(const Job& job, const Place& place) override {
    EXPECT_FALSE(jobs.contains(job.id)) << "job " << job.id.value << " started twice";
    Tell("start", job.id, place);
  }
  void Grant(JobId job, const Place& place) override {
    ASSERT_TRUE(jobs.contains(job)) << "grant to a job that does not run";
    EXPECT_FALSE(place.Pauses());
    Tell("grant", job, place);
  }
  void Pause(JobId job) override {
    ASSERT_TRUE(jobs.contains(job)) << "pause of a job that does not run";
    Tell("pause", job, Place());
  }
  void Stop(JobId job) override {
    ASSERT_TRUE(jobs.contains(job)) << "stop of a job that does not run";
    log.push_back("stop " + std::to_string(job.value));
    jobs.erase(job);
  }
  double Progress(JobId job) const override {
    EXPECT_TRUE(jobs.contains(job));
    const auto told = progress.find(job);
    return told == progress.end() ? 0.5 : told->second;
  }
  std::optional<HostEvent> NextEvent(TimePoint) override { return std::nullopt; }

  // Commands since the last call: "start 1 0-3 1x4; pause 2".
  std::string TakeLog() {
    std::string text;
    for (const std::string& line : log) text += (text.empty() ? "" : "; ") + line;
    log.clear();
    return text;
  }

  struct Tenant {
    Place asked;
    CpuSet may_be_on;
    CpuShare may_use;
    bool may_own = false;
    bool in_flight = false;
  };
  std::map<JobId, Tenant> jobs;
  std::map<JobId, double> progress;  // Progress of jobs that are not half way.
  ManualClock clock;
  std::vector<std::string> log;

 private:
  void Tell(const std::string& verb, JobId id, const Place& place) {
    std::string line = verb + " " + std::to_string(id.value);
    if (!place.Pauses()) {
      line += " " + place.cores.ToString() + " " + std::to_string(place.threads.inter) + "x" +
              std::to_string(place.threads.intra);
      if (!place.Owns()) line += " share " + std::to_string(place.amount.milli);
    }
    log.push_back(line);
    Tenant& tenant = jobs[id];
    tenant.asked = place;
    tenant.may_be_on = tenant.may_be_on | place.cores;
    tenant.may_use = std::max(tenant.may_use, place.amount);
    tenant.may_own = tenant.may_own || (place.Owns() && !place.Pauses());
    tenant.in_flight = true;
    if (exclusive_ && !place.Pauses()) ExpectRoom(line, id, place);
  }
  // Nobody else may be on cores of somebody's own, and sharers' amounts fit the cores they share.
  void ExpectRoom(const std::string& line, JobId id, const Place& place) {
    CpuShare together = place.amount;
    for (const auto& [other, tenant] : jobs) {
      if (other == id || (tenant.may_be_on & place.cores).Empty()) continue;
      EXPECT_FALSE(place.Owns() || tenant.may_own)
          << line << ": job " << other.value << " may still be on " << tenant.may_be_on.ToString();
      together += tenant.may_use;
    }
    EXPECT_LE(together, CpuShare::OfCores(place.cores.Count())) << line;
  }

  const bool exclusive_;
};

// Notes what it is told, one line each.
class RecordingObserver final : public ArbiterObserver {
 public:
  void OnSubmitted(TimePoint time, const Job& job) override {
    Add(time, "submitted " + std::to_string(job.id.value));
  }
  void OnDecision(TimePoint time, int64_t decision, const std::string& event,
                  const std::string& allocation, Duration took) override {
    EXPECT_EQ(decision, decisions++);
    EXPECT_GE(took.count(), 0);
    Add(time, event + " -> " + allocation);
  }
  void OnStarted(TimePoint time, JobId job, const Place& place) override {
    Add(time, "started " + std::to_string(job.value) + " " + place.cores.ToString());
  }
  void OnGrant(TimePoint time, JobId job, const Place& place) override {
    Add(time, "grant " + std::to_string(job.value) + " " + place.cores.ToString());
  }
  void OnSettled(TimePoint time, JobId job, const Place& place, int64_t decision,
                 Duration since) override {
    EXPECT_LT(decision, decisions);
    settle_times[job] = since;
    Add(time, "settled " + std::to_string(job.value) + " " + place.cores.ToString());
  }
  void OnEnded(TimePoint time, JobId job, JobEnd end, const std::string& reason) override {
    EXPECT_TRUE(ends.emplace(job, end).second) << "job " << job.value << " ended twice";
    Add(time, std::string(ToString(end)) + " " + std::to_string(job.value) +
                  (reason.empty() ? "" : ": " + reason));
  }

  // The lines since the last call that start with `prefix`, joined by "; ".
  std::string Take(const std::string& prefix = "") {
    std::string text;
    for (const std::string& line : lines) {
      if (line.starts_with(prefix)) text += (text.empty() ? "" : "; ") + line;
    }
    lines.clear();
    return text;
  }

  std::vector<std::string> lines;
  std::map<JobId, JobEnd> ends;
  std::map<JobId, Duration> settle_times;
  int64_t decisions = 0;

 private:
  void Add(TimePoint time, std::string line) {
    EXPECT_GE(time, last_);
    last_ = time;
    lines.push_back(std::move(line));
  }
  TimePoint last_;
};

// One machine with one policy.
class ScheduledMachine {
 public:
  ScheduledMachine(const std::string& topology_text, std::unique_ptr<Policy> policy_to_test,
                   bool oversubscribes = false, bool on_settled = true,
                   std::vector<CpuSet> nodes = {})
      : topology(Topology::Synthetic(topology_text)),
        policy(std::move(policy_to_test)),
        host(!oversubscribes),
        arbiter(*policy, oversubscribes, host, topology, topology.Cpus(), observer, on_settled,
                std::move(nodes)) {}

  void Submit(const Job& job) { arbiter.Submit(job); }
  void Submit(int64_t id, CoreRequest request) { Submit(MakeJob(id, request)); }

  // The job's threads are where it was last told to put them.
  void Settle(int64_t id) {
    FakeHost::Tenant& tenant = host.jobs.at({id});
    tenant.in_flight = false;
    tenant.may_be_on = tenant.asked.cores;
    tenant.may_use = tenant.asked.amount;
    tenant.may_own = tenant.asked.Owns() && !tenant.asked.Pauses();
    arbiter.Handle(HostSettled{{id}});
  }
  void SettleAll() {
    for (int rounds = 0; arbiter.InTransition(); ++rounds) {
      CHECK(rounds < 1000) << "a grant waits for nobody";
      std::vector<int64_t> in_flight;
      for (const auto& [id, tenant] : host.jobs) {
        if (tenant.in_flight) in_flight.push_back(id.value);
      }
      CHECK(!in_flight.empty()) << "in transition, and the host has nothing to settle";
      Settle(in_flight.front());
    }
  }
  void Finish(int64_t id) {
    host.jobs.erase({id});
    arbiter.Handle(HostFinished{{id}});
  }
  void Fail(int64_t id, const std::string& reason) {
    host.jobs.erase({id});
    arbiter.Handle(HostFailed{{id}, reason});
  }
  void Pass(double seconds) { host.clock.Advance(FromSeconds(seconds)); }

  // Who is promised what: "1=0-1 2=2-3 3=wait 4=pause".
  std::string State() const { return Describe(true); }
  // The same by number of cores: "1=2 2=2 3=wait".
  std::string Counts() const { return Describe(false); }

  Topology topology;
  std::unique_ptr<Policy> policy;
  FakeHost host;
  RecordingObserver observer;
  Arbiter arbiter;

 private:
  std::string Describe(bool cores) const {
    std::string text;
    for (const JobView& job : arbiter.View().jobs) {
      text += (text.empty() ? "" : " ") + std::to_string(job.id.value) + "=";
      switch (job.state) {
        case JobState::kWaiting: text += "wait"; break;
        case JobState::kPaused: text += "pause"; break;
        case JobState::kRunning:
          text += cores ? job.cores.ToString() : std::to_string(job.cores.Count());
      }
    }
    return text;
  }
};

}  // namespace cosched
