// Random legal decisions, random order of the host's answers. FakeHost checks that no core has two
// owners.

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "tests/policies/fake_host.h"

namespace cosched {
namespace {

class RandomPolicy final : public Policy {
 public:
  explicit RandomPolicy(uint64_t seed) : random_(seed) {}

  Allocation Decide(const MachineView& view, const Event&) override {
    Allocation allocation;
    CpuSet free = view.cores;
    for (const JobView& job : view.jobs) {
      const int change = static_cast<int>(random_.Below(8));
      const int want = 1 + static_cast<int>(random_.Below(4));
      if (change == 0 && job.IsActive()) {
        allocation.jobs[job.id] = Pause{};
      } else if (change <= 5 && free.Count() >= want) {
        CpuSet cores;
        while (cores.Count() < want) cores.Add(Pick(free - cores));
        free = free - cores;
        allocation.jobs[job.id] = Run{.cores = cores, .split = {}};
      } else if (job.IsActive() && !free.Contains(job.cores)) {
        allocation.jobs[job.id] = Pause{};
      } else {
        free = free - job.cores;
      }
    }
    return allocation;
  }

 private:
  int Pick(const CpuSet& cores) { return cores.ToVector()[random_.Below(cores.Count())]; }
  Random random_;
};

TEST(ArbiterStress, AnyLegalDecisionsInAnyOrderOfAnswersKeepEveryCoreWithOneOwner) {
  for (uint64_t seed = 0; seed < 200 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ScheduledMachine machine(kFourCores, std::make_unique<RandomPolicy>(seed));
    int64_t submitted = 0;
    for (int step = 0; step < 100; ++step) {
      std::vector<int64_t> alive, in_flight;
      for (const auto& [id, tenant] : machine.host.jobs) {
        alive.push_back(id.value);
        if (tenant.in_flight) in_flight.push_back(id.value);
      }
      const uint64_t what = random.Below(10);
      if (what == 0 && submitted < 8) {
        machine.Submit(++submitted, {1, 2, 4});
      } else if (what == 1 && !alive.empty()) {
        machine.Finish(alive[random.Below(alive.size())]);
      } else if (what == 2) {
        machine.arbiter.Tick();
      } else if (!in_flight.empty()) {
        machine.Settle(in_flight[random.Below(in_flight.size())]);
      }
    }
    machine.arbiter.EndAll(JobEnd::kCancelled, "");
    EXPECT_EQ(machine.observer.ends.size(), static_cast<size_t>(submitted));
    EXPECT_TRUE(machine.host.jobs.empty());
  }
}

}  // namespace
}  // namespace cosched
