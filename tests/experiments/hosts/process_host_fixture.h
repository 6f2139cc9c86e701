#pragma once
// A host of fake tenants (fake_tenant.h) and what the kernel says of them, for the tests of hosts.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/hosts/process_host.h"
#include "experiments/os/process_sampler.h"

namespace cosched {

inline constexpr int64_t kForever = 1'000'000'000;  // Steps.

// A thread that the kernel shows as stopped is a few instructions from leaving its core, which take
// long where that core is a virtual one and has lost its own.
inline constexpr std::chrono::milliseconds kOffItsCore{50};

inline ProcessHost::Options HostOptions() {
  return {.binary = "/proc/self/exe", .log_directory = {}, .topology = Topology::ThisMachine()};
}

// Living processes whose parent is `parent`, without the guards of its tenants.
inline std::vector<pid_t> LivingChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (pid <= 0 || !std::getline(file, line)) continue;
    const size_t after_name = line.rfind(") ");
    const bool alive = line[after_name + 2] != 'Z';
    if (line.find("(tenant-guard)") != std::string::npos) continue;
    if (alive && std::atoi(line.c_str() + after_name + 4) == parent) children.push_back(pid);
  }
  return children;
}

// Living processes with this name.
inline std::vector<pid_t> ProcessesNamed(const std::string& name) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (pid <= 0 || !std::getline(file, line)) continue;
    const size_t after_name = line.rfind(") ");
    const bool alive = line[after_name + 2] != 'Z';
    if (alive && line.find("(" + name + ")") != std::string::npos) found.push_back(pid);
  }
  return found;
}

inline CpuSet UnionOfBindings(pid_t process, bool compute_only) {
  const Topology topology = Topology::ThisMachine();
  ProcessSampler sampler(process);
  sampler.Read();
  CpuSet cpus;
  for (const ProcessSampler::Thread& thread : sampler.Threads()) {
    if (thread.compute || !compute_only) cpus = cpus | topology.ThreadBinding(thread.tid);
  }
  return cpus;
}

// CPU time of all its threads.
inline Duration RunTime(pid_t process) {
  ProcessSampler sampler(process);
  sampler.Read();
  Duration total{0};
  for (const ProcessSampler::Thread& thread : sampler.Threads()) total += thread.run_time;
  return total;
}

inline size_t ComputeThreads(pid_t process) {
  ProcessSampler sampler(process);
  sampler.Read();
  const auto& threads = sampler.Threads();
  return static_cast<size_t>(std::count_if(threads.begin(), threads.end(),
                                           [](const auto& thread) { return thread.compute; }));
}

class ProcessHostTest : public ::testing::Test {
 protected:
  ProcessHostTest() : machine_(Topology::ThisMachine().Cpus()), one_{machine_.First()} {
    for (const int cpu : machine_) {
      if (two_.Count() < 2) two_.Add(cpu);
    }
  }

  ProcessHost& Host() {
    if (!host_) host_ = std::make_unique<ProcessHost>(options_);
    return *host_;
  }
  void UseHost(std::unique_ptr<ProcessHost> host) { host_ = std::move(host); }
  // Starts a fake tenant; its job's id is returned.
  JobId Start(const std::string& behaviour, const CpuSet& cores, int64_t steps = kForever,
              Elasticity elasticity = Elasticity::kMalleable) {
    const Job job = JobOf(elasticity);
    Start(job, behaviour, cores, steps);
    return job.id;
  }
  Job JobOf(Elasticity elasticity) {
    Job job;
    job.id = JobId{next_job_++};
    job.request = {1, two_.Count(), two_.Count()};
    job.elasticity = elasticity;
    return job;
  }
  void Start(const Job& job, const std::string& behaviour, const CpuSet& cores,
             int64_t steps = kForever) {
    TenantSpec spec;
    spec.model = behaviour;
    spec.steps = steps;
    Host().Describe(job.id, spec);
    Host().Start(job, Place::Whole(cores, DefaultSplit(cores.Count())));
  }
  std::optional<HostEvent> Next(Duration patience = std::chrono::seconds(20)) {
    return Host().NextEvent(Host().GetClock().Now() + patience);
  }
  void ExpectSettled(JobId job) {
    const std::optional<HostEvent> event = Next();
    ASSERT_TRUE(event) << "nothing happened";
    const auto* settled = std::get_if<HostSettled>(&*event);
    if (const auto* failed = std::get_if<HostFailed>(&*event)) FAIL() << failed->reason;
    ASSERT_NE(settled, nullptr);
    EXPECT_EQ(settled->job, job);
  }
  // The next event is this job's failure; its reason.
  std::string Failure(JobId job) {
    const std::optional<HostEvent> event = Next();
    if (!event) return "nothing happened";
    const auto* failed = std::get_if<HostFailed>(&*event);
    if (failed == nullptr) return "no failure";
    EXPECT_EQ(failed->job, job);
    EXPECT_TRUE(LivingChildrenOf(getpid()).empty()) << "failed, but its process is still there";
    return failed->reason;
  }
  std::string FailureOf(const std::string& behaviour, int64_t steps = kForever) {
    return Failure(Start(behaviour, one_, steps));
  }
  static pid_t OnlyChild() {
    const std::vector<pid_t> children = LivingChildrenOf(getpid());
    EXPECT_EQ(children.size(), 1u);
    return children.empty() ? -1 : children.front();
  }
  TenantSample OnlySample() {
    const std::vector<TenantSample> samples = Host().Sample();
    EXPECT_EQ(samples.size(), 1u);
    return samples.empty() ? TenantSample() : samples.front();
  }
  // The only tenant goes on, when it gets its turn on a loaded machine, and nothing else happens.
  void ExpectStepsBeyond(int64_t steps) {
    const TimePoint patience = Host().GetClock().Now() + std::chrono::seconds(20);
    int64_t seen = 0;
    while ((seen = OnlySample().steps) <= steps && Host().GetClock().Now() < patience) {
      ASSERT_FALSE(Next(std::chrono::milliseconds(20)));
    }
    EXPECT_GT(seen, steps);
  }

  void ExpectNothingToSample() {
    Host().Sample();  // The last of those that are gone.
    EXPECT_TRUE(Host().Sample().empty());
  }

  const CpuSet machine_;
  const CpuSet one_;
  CpuSet two_;  // A single core where the machine has no more.
  ProcessHost::Options options_ = HostOptions();

 private:
  std::unique_ptr<ProcessHost> host_;
  int64_t next_job_ = 1;
};

}  // namespace cosched
