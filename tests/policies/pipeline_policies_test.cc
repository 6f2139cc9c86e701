// Every policy that can decide of pipelines, with random windows of random pipelines, services and
// jobs beside each other: the arbiter and the fake host refuse what breaks a rule, and who is no
// pipeline is never told how many of its requests may be open.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "policies/registry.h"
#include "tests/policies/fake_host.h"

namespace cosched {
namespace {

// Passes everything on, and looks at the answers.
class WatchedPolicy final : public Policy {
 public:
  explicit WatchedPolicy(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) {}

  Allocation Decide(const MachineView& view, const Event& event) override {
    Allocation allocation = policy_->Decide(view, event);
    for (const auto& [id, decision] : allocation.jobs) {
      const Run* run = std::get_if<Run>(&decision);
      if (run == nullptr || !run->open_requests) continue;
      EXPECT_TRUE(view.Find(id)->open_range) << "job " << id.value << " is no pipeline";
      limited.insert(id);
    }
    return allocation;
  }
  Duration TickPeriod() const override { return policy_->TickPeriod(); }

  std::set<JobId> limited;

 private:
  std::unique_ptr<Policy> policy_;
};

class RandomWindows {
 public:
  RandomWindows(const PolicyInfo& info, uint64_t seed)
      : random_(seed),
        machine_(kSixteenCores, std::make_unique<WatchedPolicy>(MakePolicy(info, {})),
                 info.oversubscribes, info.on_settled) {}

  void Step() {
    machine_.Pass(random_.Uniform());
    const uint64_t what = random_.Below(8);
    if (what == 0 && submitted_ < 12) return Submit();
    if (what == 1) return FinishOne();
    if (what == 2 && machine_.policy->TickPeriod() > Duration(0)) return machine_.arbiter.Tick();
    if (what == 3) return SettleOne();
    for (ServiceView& service : services_) Redraw(&service);
    machine_.arbiter.SetServices(services_);
    machine_.arbiter.WindowOver();
  }
  std::string State() const { return machine_.State(); }
  const WatchedPolicy& Watched() const {
    return static_cast<const WatchedPolicy&>(*machine_.policy);
  }

 private:
  int64_t Count(uint64_t most) { return static_cast<int64_t>(random_.Below(most + 1)); }
  Duration Time() { return FromSeconds(3 * random_.Uniform()); }

  void Submit() {
    CoreRequest request;
    request.min = static_cast<int>(1 + Count(3));
    request.preferred = static_cast<int>(request.min + Count(4));
    request.max = static_cast<int>(request.preferred + Count(8));
    Job job = MakeJob(++submitted_, request, static_cast<Elasticity>(Count(2)));
    const int64_t kind = Count(3);
    if (kind > 0) {
      job.service = ServiceId{static_cast<int64_t>(services_.size())};
      services_.push_back({.id = *job.service, .name = "service", .servers = {}});
      services_.back().servers.emplace_back(job.id, ServerWindow());
      stages_.push_back(kind > 1 ? static_cast<size_t>(1 + Count(3)) : 0);
      if (kind > 1) {
        const auto most = static_cast<int>(1 + Count(8));
        job.open_range = {.at_start = static_cast<int>(1 + Count(static_cast<uint64_t>(most) - 1)),
                          .most = most};
      }
      machine_.arbiter.SetServices(services_);
    } else {
      job.steps = 100;
    }
    machine_.Submit(job);
  }

  // Mostly with more in flight than is open.
  void Redraw(ServiceView* service) {
    service->length = std::chrono::seconds(1);
    service->queued = Count(5);
    for (auto& [id, window] : service->servers) {
      window = {.dispatched = Count(20),
                .answered = Count(20),
                .in_flight = Count(20),
                .mean_in_flight = 20 * random_.Uniform(),
                .mean_response = Time(),
                .mean_process = Time(),
                .cpu_time = Time(),
                .open = Count(4)};
      for (size_t i = 0; i < stages_[static_cast<size_t>(service->id.value)]; ++i) {
        window.stages.push_back({.ready = Count(30),
                                 .running = Count(4),
                                 .parked = Count(2),
                                 .items = Count(90),
                                 .calls = Count(9),
                                 .taken = Count(90),
                                 .busy = Time(),
                                 .lasted = Time(),
                                 .waits = Count(3) == 0});
      }
    }
  }

  void FinishOne() {
    if (machine_.host.jobs.empty()) return;
    auto job = machine_.host.jobs.begin();
    std::advance(job, Count(machine_.host.jobs.size() - 1));
    const JobId id = job->first;
    for (ServiceView& service : services_) {
      std::erase_if(service.servers, [&](const auto& one) { return one.first == ServerId(id); });
    }
    machine_.arbiter.SetServices(services_);
    machine_.Finish(id.value);
  }

  void SettleOne() {
    for (const auto& [id, tenant] : machine_.host.jobs) {
      if (tenant.in_flight) return machine_.Settle(id.value);
    }
  }

  Random random_;
  ScheduledMachine machine_;
  int64_t submitted_ = 0;
  std::vector<ServiceView> services_;
  std::vector<size_t> stages_;  // By service; 0: it is no pipeline.
};

class PipelinePolicies : public testing::TestWithParam<const PolicyInfo*> {};

TEST_P(PipelinePolicies, DecisionsAreWithinTheRulesAndRepeatable) {
  size_t limited = 0;
  for (uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomWindows windows(*GetParam(), seed), twin(*GetParam(), seed);
    for (int step = 0; step < 250 && !HasFailure(); ++step) {
      windows.Step();
      twin.Step();
      ASSERT_EQ(windows.State(), twin.State());
    }
    limited += windows.Watched().limited.size();
  }
  EXPECT_EQ(limited > 0, GetParam()->name == "credit-knee");
}

std::vector<const PolicyInfo*> PoliciesOfPipelines() {
  std::vector<const PolicyInfo*> found;
  for (const PolicyInfo& info : Policies()) {
    if (!info.needs_speed && !info.needs_size && !info.needs_objective) found.push_back(&info);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(All, PipelinePolicies, testing::ValuesIn(PoliciesOfPipelines()),
                         [](const auto& info) {
                           std::string name(info.param->name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace cosched
