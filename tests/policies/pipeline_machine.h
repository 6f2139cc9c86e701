#pragma once
// Pipelines, ordinary services and jobs beside each other under a policy; a test makes up what the
// windows tell. Each instance is a service of its own.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/policies/policy_machine.h"

namespace cosched {

class PipelineMachine {
 public:
  PipelineMachine(const char* topology, const char* policy, const PolicyParameters& parameters = {})
      : machine_(MakeMachine(topology, policy, parameters)) {}

  void AddPipeline(int64_t id, OpenRange open = {.at_start = 1, .most = 16},
                   CoreRequest request = UpTo(1, 16)) {
    AddInstance(id, open, request);
  }
  void AddService(int64_t id) { AddInstance(id, std::nullopt, UpTo(1, 16)); }
  void AddJob(int64_t id, CoreRequest request = UpTo(1, 16)) {
    machine_->Submit(id, request);
    machine_->SettleAll();
  }
  void Finish(int64_t id) {
    machine_->Finish(id);
    machine_->SettleAll();
  }

  ServiceView& Service(int64_t id) { return services_.at(place_.at(id)); }
  ServerWindow& Window(int64_t id) { return Service(id).servers.front().second; }
  const JobView& View(int64_t id) const { return *machine_->arbiter.View().Find({id}); }
  std::string Counts() const { return machine_->Counts(); }
  // A window is over. How many cores all have then.
  std::string Over() {
    machine_->arbiter.SetServices(services_);
    machine_->arbiter.WindowOver();
    machine_->SettleAll();
    return Counts();
  }

 private:
  void AddInstance(int64_t id, std::optional<OpenRange> open, CoreRequest request) {
    Job job = MakeJob(id, request);
    job.service = ServiceId{static_cast<int64_t>(services_.size())};
    job.open_range = open;
    place_[id] = services_.size();
    services_.push_back({.id = *job.service,
                         .name = "service",
                         .length = std::chrono::seconds(1),
                         .servers = {{JobId{id}, ServerWindow()}}});
    machine_->Submit(job);
    machine_->SettleAll();
  }

  std::vector<ServiceView> services_;
  std::map<int64_t, size_t> place_;  // In services_, by id.
  std::unique_ptr<ScheduledMachine> machine_;
};

// A stage whose calls take `call_s` each, with so many batches ready and calls under way.
inline StageWindow Stage(int64_t ready, int64_t running, double call_s) {
  return {.ready = ready,
          .running = running,
          .calls = 4,
          .busy = FromSeconds(4 * call_s),
          .lasted = FromSeconds(8 * call_s)};
}

}  // namespace cosched
