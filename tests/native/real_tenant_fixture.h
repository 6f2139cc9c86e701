#pragma once
// One real CNN program (lenet5) on a host of its own, for the native tests.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/hosts/process_host.h"
#include "experiments/wire/control_socket.h"
#include "experiments/wire/tenant_protocol.h"
#include "tests/paths.h"

namespace cosched {

inline CpuSet FirstCores(int count) {
  CpuSet cores;
  for (const int cpu : Topology::ThisMachine().OneThreadPerCore().ToVector()) {
    if (cores.Count() < count) cores.Add(cpu);
  }
  return cores;
}

class RealTenantTest : public ::testing::Test {
 protected:
  // For what an emulated machine takes minutes for.
  static constexpr std::chrono::seconds kPatience{900};

  // Made at the first use, of options_ as they are then.
  ProcessHost& Host() {
    if (!host_) host_ = std::make_unique<ProcessHost>(options_);
    return *host_;
  }
  void Start(int64_t steps, Elasticity elasticity) {
    Start(steps, elasticity, DefaultSplit(cores_.Count()));
  }
  void Start(int64_t steps, Elasticity elasticity, Split threads) {
    TenantSpec spec;
    spec.model = "lenet5";
    spec.batch = 16;
    spec.steps = steps;
    Start(spec, elasticity, threads);
  }
  void Start(const TenantSpec& spec, Elasticity elasticity, Split threads) {
    Job job;
    job.id = job_;
    job.request = {1, cores_.Count(), cores_.Count()};
    job.elasticity = elasticity;
    Host().Describe(job_, spec);
    Host().Start(job, Place::Whole(cores_, threads));
  }
  std::optional<HostEvent> Next(Duration patience) {
    return Host().NextEvent(Host().GetClock().Now() + patience);
  }
  // After a failure that ends a test, this and the next end at once.
  void ExpectSettled() {
    if (HasFatalFailure()) return;
    const std::optional<HostEvent> event = Next(kPatience);
    ASSERT_TRUE(event) << "nothing happened";
    if (const auto* failed = std::get_if<HostFailed>(&*event)) FAIL() << failed->reason;
    ASSERT_TRUE(std::holds_alternative<HostSettled>(*event));
  }
  TenantSample OnlySample() {
    const std::vector<TenantSample> samples = Host().Sample();
    EXPECT_EQ(samples.size(), 1u);
    return samples.empty() ? TenantSample() : samples.front();
  }
  void ExpectSteps() {
    if (HasFatalFailure()) return;
    const int64_t before = OnlySample().steps;
    for (int i = 0; i < 2400 && OnlySample().steps < before + 3; ++i) {
      EXPECT_FALSE(Next(std::chrono::milliseconds(50)));
    }
    EXPECT_GE(OnlySample().steps, before + 3);
  }
  // What `cosched ctl run:job` does; the tenant answers when its threads are in place. REQUIRES: a
  // name for options_.run, and nothing that the host would tell of meanwhile.
  bool Steer(ControlRequest::Verb verb) {
    const UniqueFd socket = ConnectToTenant(options_.run + ":" + std::to_string(job_.value));
    EXPECT_TRUE(SendPacket(socket.get(), Encode(ControlRequest{.id = 1, .verb = verb})));
    std::string text;
    while (ReceivePacket(socket.get(), &text) == Receipt::kNothing) {
      EXPECT_FALSE(Next(std::chrono::milliseconds(1)));
    }
    const auto reply = ParseControlReply(text).message;
    return reply && std::holds_alternative<OkReply>(*reply);
  }

  const CpuSet cores_ = FirstCores(2);
  const CpuSet one_ = FirstCores(1);
  const JobId job_{1};
  ProcessHost::Options options_{
      .binary = CoschedBinary(),
      .log_directory = {},
      .topology = Topology::ThisMachine(),
      .timeouts = {.start = kPatience, .settle = kPatience, .revocation = kPatience}};

 private:
  std::unique_ptr<ProcessHost> host_;
};

}  // namespace cosched
