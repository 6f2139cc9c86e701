// What every registered policy promises, with each word that its parameters allow, for every
// elasticity class and a mix of them. A policy that is added to the registry is tested here without
// a line of test code.

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/random.h"
#include "policies/registry.h"
#include "tests/policies/fake_host.h"

namespace cosched {
namespace {

struct Variant {
  const PolicyInfo* info;
  PolicyParameters parameters;
  std::optional<Elasticity> elasticity;  // nullopt = a mix.

  std::string Name() const {
    std::string name(info->name);
    for (const auto& [key, value] : parameters) name += "_" + value;
    name += "_" + (elasticity ? std::string(ToString(*elasticity)) : "mixed");
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
  friend void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.Name(); }
};

std::vector<PolicyParameters> ParameterSets(const PolicyInfo& info) {
  std::vector<PolicyParameters> sets = {{}};
  for (const PolicyParameter& parameter : info.parameters) {
    std::string_view allowed = parameter.allowed;
    while (!allowed.empty()) {
      const size_t end = std::min(allowed.find(" | "), allowed.size());
      const std::string word(allowed.substr(0, end));
      allowed.remove_prefix(std::min(end + 3, allowed.size()));
      const bool is_default = word == parameter.default_value;
      if (!is_default && word.find(' ') == std::string::npos) {
        sets.push_back({{std::string(parameter.name), word}});
      }
    }
  }
  return sets;
}

std::vector<Variant> Variants() {
  std::vector<Variant> variants;
  for (const PolicyInfo& info : Policies()) {
    for (const PolicyParameters& parameters : ParameterSets(info)) {
      for (Elasticity e : {Elasticity::kRigid, Elasticity::kMoldable, Elasticity::kMalleable}) {
        variants.push_back({&info, parameters, e});
      }
      variants.push_back({&info, parameters, std::nullopt});
    }
  }
  return variants;
}

class PolicyContract : public ::testing::TestWithParam<Variant> {
 protected:
  std::unique_ptr<ScheduledMachine> MakeMachine(const char* topology) const {
    return MakeMachine(topology, GetParam().info->on_settled);
  }
  std::unique_ptr<ScheduledMachine> MakeMachine(const char* topology, bool on_settled) const {
    const Variant& variant = GetParam();
    return std::make_unique<ScheduledMachine>(topology,
                                              MakePolicy(*variant.info, variant.parameters),
                                              variant.info->oversubscribes, on_settled);
  }
  bool Exclusive() const { return !GetParam().info->oversubscribes; }

  Job WithSize(Job job, int64_t steps, double exponent) const {
    job.steps = steps;
    if (GetParam().info->needs_speed) job.speed = PowerCurve(10, exponent, 16);
    return job;
  }

  Job RandomJob(int64_t id, int machine_cores, Random* random) const {
    const int size = machine_cores + machine_cores / 4;  // Some ask for more than there is.
    CoreRequest request;
    request.preferred = 1 + static_cast<int>(random->Below(static_cast<uint64_t>(size)));
    request.min = 1 + static_cast<int>(random->Below(static_cast<uint64_t>(request.preferred)));
    request.max = request.preferred + static_cast<int>(random->Below(4));
    const auto elasticity =
        GetParam().elasticity.value_or(static_cast<Elasticity>(random->Below(3)));
    const Job job = MakeJob(id, request, elasticity, static_cast<int>(random->Below(3)));
    return WithSize(job, 1 + static_cast<int64_t>(random->Below(100)), random->Uniform());
  }

  Job LoneJob(CoreRequest request) const {
    return WithSize(MakeJob(1, request, GetParam().elasticity.value_or(Elasticity::kMalleable)), 10,
                    0.5);
  }

  // What must hold after each event, seen from outside the arbiter.
  void CheckGrants(const ScheduledMachine& machine) const {
    CpuSet all;
    int sum = 0;
    CpuShare shares;
    for (const JobView& job : machine.arbiter.View().jobs) {
      if (!job.IsActive()) {
        EXPECT_TRUE(job.cores.Empty());
        continue;
      }
      if (job.Shares()) {
        EXPECT_LE(job.amount, CpuShare::OfCores(job.request.max)) << job.id.value;
        shares += job.amount;
        continue;
      }
      EXPECT_GE(job.cores.Count(), job.request.min) << job.id.value;
      if (Exclusive()) {
        EXPECT_LE(job.cores.Count(), job.request.max) << job.id.value;
      }
      all = all | job.cores;
      sum += job.cores.Count();
    }
    EXPECT_TRUE(machine.topology.Cpus().Contains(all));
    if (Exclusive()) {
      EXPECT_EQ(all.Count(), sum) << "a core was granted twice";
      // These machines are one node each.
      EXPECT_LE(shares, CpuShare::OfCores(machine.topology.Cpus().Count()));
      EXPECT_TRUE(all.Empty() || shares == CpuShare()) << "a node is owned and shared";
    }
  }

  // One random event, the same for the same stream of numbers.
  void Step(ScheduledMachine& machine, int64_t* submitted, int64_t arrivals, Random* random) const {
    std::vector<int64_t> alive, in_flight;
    for (const auto& [id, tenant] : machine.host.jobs) {
      alive.push_back(id.value);
      if (tenant.in_flight) in_flight.push_back(id.value);
    }
    machine.Pass(random->Uniform());
    for (const int64_t id : alive) {
      double& progress = machine.host.progress[{id}];
      progress += (1 - progress) * random->Uniform() / 4;
    }
    const uint64_t what = random->Below(8);
    const uint64_t pick = random->Next();
    if (what < 3 && *submitted < arrivals) {
      machine.Submit(RandomJob(++*submitted, machine.topology.Cpus().Count(), random));
    } else if (what < 5 && !alive.empty()) {
      machine.Finish(alive[pick % alive.size()]);
    } else if (what == 5 && !alive.empty()) {
      machine.Fail(alive[pick % alive.size()], "died");
    } else if (what == 6 && machine.policy->TickPeriod() > Duration(0)) {
      machine.arbiter.Tick();
    } else if (!in_flight.empty()) {
      machine.Settle(in_flight[pick % in_flight.size()]);
    }
  }

  // No more arrivals: everything settles, the oldest job ends, and so on. Everybody must have had a
  // turn.
  void Drain(ScheduledMachine& machine) const {
    while (machine.arbiter.Waiting() + machine.arbiter.Started() > 0) {
      machine.SettleAll();
      CheckGrants(machine);
      ASSERT_FALSE(machine.host.jobs.empty()) << "starved: " << machine.State();
      machine.Pass(1);
      machine.Finish(machine.host.jobs.begin()->first.value);
    }
  }

  struct Played {
    size_t submitted = 0, ended = 0, left = 0;
  };
  Played PlayRandomly(const char* topology, uint64_t seed) const {
    auto machine = MakeMachine(topology);
    auto twin = MakeMachine(topology, true);  // A policy that is not asked would have said nothing.
    Random random(seed), twin_random(seed);
    int64_t submitted = 0, twin_submitted = 0;
    for (int step = 0; step < 120 && !HasFailure(); ++step) {
      Step(*machine, &submitted, 25, &random);
      Step(*twin, &twin_submitted, 25, &twin_random);
      CheckGrants(*machine);
      EXPECT_EQ(machine->State(), twin->State());
    }
    Drain(*machine);
    return {.submitted = static_cast<size_t>(submitted),
            .ended = machine->observer.ends.size(),
            .left = machine->host.jobs.size()};
  }
};

TEST_P(PolicyContract, NoJobNoDecision) {
  auto machine = MakeMachine(kFourCores);
  const MachineView view = machine->arbiter.View();
  const Event events[] = {JobFinished{{7}}, JobFailed{{7}},        GrantSettled{{7}},
                          WindowOver{},     ObjectiveChanged{{7}}, Tick{}};
  for (const Event& event : events) EXPECT_TRUE(machine->policy->Decide(view, event).jobs.empty());
}

TEST_P(PolicyContract, LoneJobStartsAtOnceAndEnds) {
  for (const char* topology : {kFourCores, kSixteenCores}) {
    auto machine = MakeMachine(topology);
    const int cores = machine->topology.Cpus().Count();
    machine->Submit(LoneJob({1, cores, cores}));
    EXPECT_EQ(machine->arbiter.Started(), 1);
    machine->SettleAll();
    CheckGrants(*machine);
    machine->Finish(1);
    EXPECT_EQ(machine->arbiter.Waiting() + machine->arbiter.Started(), 0);
    EXPECT_EQ(machine->observer.ends.at({1}), JobEnd::kFinished);
  }
}

TEST_P(PolicyContract, LoneJobOnOneCore) {
  auto machine = MakeMachine("pack:1 [numa] l3:1 core:1 pu:1");
  machine->Submit(LoneJob({1, 4, 8}));
  EXPECT_EQ(machine->State(), "1=0");
}

TEST_P(PolicyContract, RandomJobsAreGrantedWithinTheRulesAndAllEnd) {
  for (uint64_t seed = 0; seed < 15 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    for (const char* topology : {kFourCores, "pack:2 [numa] l3:2 core:2 pu:2"}) {
      const Played played = PlayRandomly(topology, seed);
      EXPECT_GT(played.submitted, 0u);
      EXPECT_EQ(played.ended, played.submitted);
      EXPECT_EQ(played.left, 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PolicyContract, ::testing::ValuesIn(Variants()),
                         [](const auto& info) { return info.param.Name(); });

}  // namespace
}  // namespace cosched
