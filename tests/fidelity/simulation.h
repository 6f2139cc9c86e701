#pragma once
// Runs a stream of jobs through a policy, the arbiter and the simulated host, without records: for
// comparisons with closed forms that need many jobs. One core does one unit of work a second.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "experiments/hosts/simulation/simulated_host.h"
#include "experiments/hosts/simulation/speed_model.h"
#include "policies/arbiter.h"
#include "policies/registry.h"

namespace cosched {

inline constexpr double kStepsPerUnit = 1e6;  // So finely is work divided into steps.

// One program, "lenet5 train batch 1", whose speed follows that law; nothing else costs anything.
inline Profile PerfectProfile(const ScalingLaw& law = {}) {
  Profile profile;
  ProgramProfile program;
  program.program = "lenet5 train batch 1";
  program.alone = {{1, {1, 1}, {1 / kStepsPerUnit, 1 / kStepsPerUnit, 1 / kStepsPerUnit, 1}}};
  program.law = law;
  profile.programs = {program};
  return profile;
}

struct Demand {
  double arrival_s = 0;
  double units = 1;
  CoreRequest request = {};
};

struct Lived {
  double submitted = 0, started = 0, ended = 0;
  double Turnaround() const { return ended - submitted; }
};

struct Simulation {
  std::string policy = "strict";
  int cores = 1;
  int threads_per_core = 1;  // Each is a core to the policy.
  Elasticity elasticity = Elasticity::kMalleable;
  Profile profile = PerfectProfile();
  SimulationSettings model = {.charge = SimulationSettings::Charge::kNone};
  PolicyParameters parameters = {};
};

class Lives final : public ArbiterObserver {
 public:
  void OnSubmitted(TimePoint time, const Job& job) override {
    lives_.resize(static_cast<size_t>(job.id.value) + 1);
    lives_.back().submitted = ToSeconds(time);
  }
  void OnDecision(TimePoint, int64_t, const std::string&, const std::string&, Duration) override {}
  void OnStarted(TimePoint time, JobId job, const Place&) override {
    Of(job).started = ToSeconds(time);
  }
  void OnGrant(TimePoint, JobId, const Place&) override {}
  void OnSettled(TimePoint, JobId, const Place&, int64_t, Duration) override {}
  void OnEnded(TimePoint time, JobId job, JobEnd end, const std::string& reason) override {
    EXPECT_EQ(end, JobEnd::kFinished) << "job " << job.value << ": " << reason;
    Of(job).ended = ToSeconds(time);
  }
  const std::vector<Lived>& lives() const { return lives_; }

 private:
  Lived& Of(JobId job) { return lives_.at(static_cast<size_t>(job.value)); }
  std::vector<Lived> lives_;
};

inline TenantSpec SpecOf(const Demand& work) {
  TenantSpec spec;
  spec.model = "lenet5";
  spec.batch = 1;
  spec.steps = std::llround(work.units * kStepsPerUnit);
  return spec;
}

// What became of each job, in the order of `stream`, which is in order of arrival.
inline std::vector<Lived> Simulate(const Simulation& simulation,
                                   const std::vector<Demand>& stream) {
  const Topology machine =
      Topology::Synthetic("pack:1 core:" + std::to_string(simulation.cores) +
                          " pu:" + std::to_string(simulation.threads_per_core));
  SimulatedHost host({.profile = std::make_shared<const Profile>(simulation.profile),
                      .model = simulation.model,
                      .topology = machine,
                      .steps = false});
  const PolicyInfo& info = *FindPolicy(simulation.policy);
  const std::unique_ptr<Policy> policy = MakePolicy(info, simulation.parameters);
  const auto curve = std::make_shared<const SpeedCurve>(
      SpeedModel(simulation.profile.programs[0]).Curve(machine.Cpus().Count()));
  Lives lives;
  Arbiter arbiter(*policy, info.oversubscribes, host, machine, machine.Cpus(), lives);
  size_t next = 0;
  while (next < stream.size() || arbiter.Waiting() + arbiter.Started() > 0) {
    const bool more = next < stream.size();
    const TimePoint arrival =
        more ? TimePoint(FromSeconds(stream[next].arrival_s)) : TimePoint::max();
    if (more && arrival <= host.Now()) {
      const Job job{.id = {static_cast<int64_t>(next)},
                    .workload = "work",
                    .request = stream[next].request,
                    .elasticity = simulation.elasticity,
                    .steps = SpecOf(stream[next]).steps,
                    .speed = curve};
      host.Describe(job.id, SpecOf(stream[next++]));
      arbiter.Submit(job);
      continue;
    }
    if (const std::optional<HostEvent> event = host.NextEvent(arrival)) arbiter.Handle(*event);
  }
  return lives.lives();
}

// Prints and compares: the expected value lies in the interval that holds the true mean with 99 %,
// by Student's t over independent replications.
inline void ExpectMean(const std::string& what, double expected,
                       const std::vector<double>& replications) {
  ASSERT_EQ(replications.size(), 20U) << "the quantile of t below is that of 19 degrees of freedom";
  constexpr double kT = 2.861;
  const auto n = static_cast<double>(replications.size());
  double mean = 0, squares = 0;
  for (const double value : replications) mean += value / n;
  for (const double value : replications) squares += (value - mean) * (value - mean);
  const double half = kT * std::sqrt(squares / (n - 1) / n);
  std::printf("%s: expected %.6g, simulated %.6g +- %.2g, deviation %+.2f %%\n", what.c_str(),
              expected, mean, half, 100 * (mean / expected - 1));
  EXPECT_LE(std::abs(mean - expected), half) << what;
}

// Prints and compares values that differ by rounding to steps and nanoseconds only.
inline void ExpectExactly(const std::string& what, double expected, double simulated,
                          double tolerance = 1e-6) {
  std::printf("%s: expected %.9g, simulated %.9g, deviation %+.2g\n", what.c_str(), expected,
              simulated, simulated - expected);
  EXPECT_NEAR(simulated, expected, tolerance) << what;
}

}  // namespace cosched
