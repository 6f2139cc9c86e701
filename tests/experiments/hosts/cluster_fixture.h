#pragma once
// A cluster of this machine: this test binary is also the agent of each node (its main is in
// process_host_test.cc) and the fake tenants there.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "experiments/hosts/cluster_host.h"
#include "tests/experiments/hosts/process_host_fixture.h"

namespace cosched {

// "n0" has the first core, "n1" the next …
inline std::vector<ClusterHost::Node> OneCoreNodes(const CpuSet& cores) {
  std::vector<ClusterHost::Node> nodes;
  for (const int cpu : cores) nodes.push_back({"n" + std::to_string(nodes.size()), CpuSet{cpu}});
  return nodes;
}

inline ClusterHost::Options ClusterOptions(const std::filesystem::path& folder,
                                           std::vector<ClusterHost::Node> nodes) {
  ClusterHost::Options options{.nodes = std::move(nodes), .local = true, .tenants = HostOptions()};
  options.tenants.log_directory = folder;
  return options;
}

// The arguments of a process, each with a blank behind it.
inline std::string CommandOf(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

// The agent of that node that `parent` has started; -1 if there is none.
inline pid_t AgentOfNode(const std::string& node, pid_t parent = getpid()) {
  for (const pid_t child : LivingChildrenOf(parent)) {
    if (CommandOf(child).ends_with(" --name " + node + " ")) return child;
  }
  return -1;
}

// Tenants of an agent.
inline std::vector<pid_t> TenantsOf(pid_t agent) {
  std::vector<pid_t> tenants = LivingChildrenOf(agent);
  std::erase_if(tenants,
                [](pid_t child) { return CommandOf(child).find(" tenant ") == std::string::npos; });
  return tenants;
}

template <typename Condition>
bool HoldsWithin(std::chrono::seconds patience, const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// Dead, whether or not somebody is about to reap it.
inline bool IsGone(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return true;
  const char state = line[line.rfind(") ") + 2];
  return state == 'Z' || state == 'X';
}

}  // namespace cosched
