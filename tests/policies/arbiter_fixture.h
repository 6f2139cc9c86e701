#pragma once
// An arbiter between a policy that says what a test wants and a FakeHost, which checks by itself
// that no core has two owners.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "policies/arbiter.h"
#include "tests/policies/fake_host.h"

namespace cosched {

// Answers with `next` once, then with nothing; notes what it is told.
class ScriptedPolicy final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event& event) override {
    last_view = view;
    settled += std::holds_alternative<GrantSettled>(event);
    ticks += std::holds_alternative<Tick>(event);
    if (always) return always(view, event);
    return std::exchange(next, {});
  }

  Allocation next;
  std::function<Allocation(const MachineView&, const Event&)> always;
  MachineView last_view;
  int settled = 0;
  int ticks = 0;
};

inline Run Cores(std::variant<int, CpuSet, Share> cores, std::optional<Split> split = {}) {
  return {.cores = std::move(cores), .split = split};
}

class ArbiterTest : public ::testing::Test {
 protected:
  explicit ArbiterTest(bool oversubscribes = false)
      : machine_(kFourCores, std::make_unique<ScriptedPolicy>(), oversubscribes) {}

  ScriptedPolicy& policy() { return static_cast<ScriptedPolicy&>(*machine_.policy); }
  std::string TakeLog() { return machine_.host.TakeLog(); }
  // The policy decides this now.
  void Decide(std::map<JobId, JobDecision> jobs) {
    policy().next.jobs = std::move(jobs);
    machine_.arbiter.Tick();
  }
  void SubmitWaiting(int64_t id) { machine_.Submit(id, {1, 2, 4}); }
  // A job that runs on these cores already.
  void SubmitRunning(int64_t id, const CpuSet& cores) {
    policy().next.jobs[{id}] = Cores(cores);
    SubmitWaiting(id);
    machine_.SettleAll();
    TakeLog();
    machine_.observer.Take();
  }
  void ExpectViolation(std::map<JobId, JobDecision> jobs, const std::string& reason) {
    const std::string before = machine_.State();
    try {
      Decide(std::move(jobs));
      ADD_FAILURE() << "allowed, though: " << reason;
    } catch (const PolicyError& error) {
      EXPECT_EQ(error.what(), "policy broke its contract at tick: " + reason);
    }
    EXPECT_EQ(machine_.State(), before);
    EXPECT_EQ(TakeLog(), "");
  }

  ScheduledMachine machine_;
};

}  // namespace cosched
