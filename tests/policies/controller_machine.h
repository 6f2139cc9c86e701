#pragma once
// Instances of a service under a controller of cores, whose windows a test makes up.

#include <memory>
#include <utility>
#include <vector>

#include "tests/policies/policy_machine.h"

namespace cosched {

// A machine with the instances of a service under a controller.
class ControllerMachine {
 public:
  ControllerMachine(const char* policy, int instances, const PolicyParameters& parameters = {},
                    const std::shared_ptr<const SpeedCurve>& speed = {})
      : machine_(MakeMachine(kFourCores, policy, parameters)) {
    for (int i = 0; i < instances; ++i) {
      service_.servers.emplace_back(JobId{i}, ServerWindow());
      Job job = MakeJob(i, {1, 4, 4});
      job.service = ServiceId{0};
      job.speed = speed;
      machine_->arbiter.SetServices({service_});
      machine_->Submit(job);
    }
    machine_->SettleAll();
  }
  ServerWindow& Server(size_t i) { return service_.servers[i].second; }
  ServiceView& Service() { return service_; }
  void Add(const Job& job) {
    machine_->Submit(job);
    machine_->SettleAll();
  }
  void Finish(int64_t id) {
    machine_->Finish(id);
    machine_->SettleAll();
  }
  const MachineView& View() const { return machine_->arbiter.View(); }
  // What the jobs have when the window is over.
  std::vector<int64_t> Over() {
    machine_->arbiter.SetServices({service_});
    machine_->arbiter.WindowOver();
    machine_->SettleAll();
    return Amounts();
  }
  std::vector<int64_t> Amounts() {
    std::vector<int64_t> amounts;
    for (const JobView& job : View().jobs) amounts.push_back(job.amount.milli);
    return amounts;
  }

 private:
  ServiceView service_ = {.id = {0},
                          .name = "net",
                          .objective = std::chrono::milliseconds(400),
                          .length = std::chrono::seconds(2),
                          .servers = {}};
  std::unique_ptr<ScheduledMachine> machine_;
};

inline ServerWindow Answers(int64_t count, double mean_s) {
  return {
      .dispatched = count, .answered = count, .in_flight = 0, .mean_response = FromSeconds(mean_s)};
}

}  // namespace cosched
