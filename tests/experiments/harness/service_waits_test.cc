// Services that wait for cores, or were refused any: their requests wait, or are dropped, and they
// keep nobody else waiting.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/analysis/metrics.h"
#include "tests/experiments/harness/service_harness_fixture.h"

namespace cosched {
namespace {

// A second service, whose two clients wait for its answers.
constexpr const char* kClients = R"([[trace.requests]]
service = "next"
clients = 2
count = 6
gap = { distribution = "fixed", mean_s = 0.01 }
[[workload]]
name = "next"
model = "lenet5"
mode = "serve"
batch = 1
)";

// Refuses the second job; and expects that what it is told of services is true.
class RefusingPolicy final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event& event) override {
    Allocation allocation;
    const auto* arrived = std::get_if<JobArrived>(&event);
    if (arrived == nullptr) return allocation;
    if (arrived->job == JobId{1}) {
      allocation.jobs[arrived->job] = Reject{};
      return allocation;
    }
    allocation.jobs[arrived->job] = Run{.cores = 1, .split = {}};
    for (const ServiceView& service : view.services) {
      for (const auto& [server, window] : service.servers) {
        EXPECT_NE(view.Find(std::get<JobId>(server)), nullptr)
            << service.name << " has a server that was refused, when " << arrived->job.value
            << " arrives";
      }
    }
    return allocation;
  }
};

class ServiceWaitsTest : public ServiceHarnessTest {
 protected:
  // Both want the whole machine: the second one starts when the first one has ended.
  std::vector<ServiceSummary> WithOneThatIsLate(std::vector<std::string> overrides = {}) {
    overrides.emplace_back("workload.net.cores.min=2");
    return Summarize(Run(Config(R"(service = "net"
[[trace.requests]]
service = "late"
count = 1
[[workload]]
name = "late"
model = "lenet5"
mode = "serve"
batch = 1
cores = { min = 2 }
)",
                                overrides)),
                     {"strict"})
        .services;
  }

  // By a policy, of a single trial with kClients.
  std::vector<ServiceSummary> WithClients(const std::string& policy,
                                          std::vector<std::string> overrides = {}) {
    overrides.insert(overrides.end(), {"trace.requests.0.service=net", "trials=1",
                                       fmt::format("policies=[\"{}\"]", policy)});
    return Summarize(Run(Config(kClients, overrides)), {policy}).services;
  }
};

TEST_F(ServiceWaitsTest, RequestsWaitForAServiceThatHasNotStarted) {
  const std::vector<ServiceSummary> services = WithOneThatIsLate();
  ASSERT_EQ(services.size(), 2U);
  EXPECT_EQ(services[0].service, "late");
  EXPECT_NEAR(*services[0].max_latency_ms, 250 + 50, 1e-3);
  EXPECT_EQ(services[0].slo_attainment, std::nullopt);
  EXPECT_EQ(services[0].worst_lag_ms, 0) << "it was the service that was late, not the harness";
}

// Nor does a poller wait for it, which would keep it from the others.
TEST_F(ServiceWaitsTest, PollersPassByAServiceThatHasNotStarted) {
  const std::vector<ServiceSummary> services =
      WithOneThatIsLate({"trials=1", "services.polling=published"});
  ASSERT_EQ(services.size(), 2U);
  EXPECT_EQ(services[0].served, 1);
  EXPECT_EQ(services[1].served, 5);
  EXPECT_LT(*services[1].max_latency_ms, 170 + 5) << "it is polled every millisecond";
}

// By strict the second gets its core when the first has ended, whose own requests are long answered.
TEST_F(ServiceWaitsTest, ClientsOfAServiceThatWaitsKeepNoOtherAlive) {
  const std::vector<ServiceSummary> services = WithClients("strict");
  ASSERT_EQ(services.size(), 2U);
  EXPECT_EQ(services[0].served, 5);
  EXPECT_EQ(services[1].served, 6);
}

// What its clients ask for is dropped as soon as they ask; the other service is not kept by them.
TEST_F(ServiceWaitsTest, ClientsOfARefusedServiceAskInVain) {
  const std::vector<ServiceSummary> services =
      WithClients("static-partition", {"policy.static-partition.slices=2",  // Of one core.
                                       "workload.next.cores.min=2"});
  ASSERT_EQ(services.size(), 2U);
  EXPECT_EQ(services[0].served, 5);
  EXPECT_EQ(services[1].requests, 6);
  EXPECT_EQ(services[1].dropped, 6);
}

TEST_F(ServiceWaitsTest, ARefusedInstanceIsNoServerToPolicies) {
  const std::string job = R"([[workload]]
name = "job"
model = "lenet5"
batch = 1
steps = 1
)";
  const ExperimentConfig config =
      Config(kClients + job, {"trace.requests.0.service=net", "trials=1", "trace.jobs=2",
                              "trace.gap={ distribution = 'fixed', mean_s = 0.15 }"});
  const std::filesystem::path run =
      Run(config, nullptr, [](const std::string&) { return std::make_unique<RefusingPolicy>(); });
  EXPECT_EQ(Summarize(run, {"strict"}).finished, 3);
}

}  // namespace
}  // namespace cosched
