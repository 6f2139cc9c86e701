#pragma once
// What the cells of a run rest on beside the experiment itself: the binary, the machine, and the
// content of the files that the experiment only names. They stand in the manifest; cells of one run
// under different conditions are no measurement of one thing, which is why `--resume` compares
// them.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/config/sweep.h"

namespace cosched {

// What only the command knows.
struct RunContext {
  Topology topology;
  std::string command_line;
  std::string scheduling;  // How the harness's thread is scheduled (experiments/os/realtime.h).
  // Of the machine whose topology it is, where that is not this one.
  std::string cpu = {}, kernel = {};
};

std::string ThisKernel();  // "Linux 6.1.0 #1 SMP x86_64"

class RunConditions {
 public:
  // Reads and hashes all files, each once.
  RunConditions(const Sweep& sweep, const RunContext& context);

  // {build: version, git_commit, compiler, …, binary (a hash of this executable);
  //  host: name, kernel, cpu, governor, scheduling, topology, …;
  //  files: {path: hash of its content}}
  // files: profile, topology, libraries and programs of policies, model files, data sets. Of a
  // program those files that its command names; of a model file also those that it names. Simulated
  // cells read neither models nor data.
  nlohmann::ordered_json OfPoint(size_t index) const;
  nlohmann::ordered_json OfAll() const;

 private:
  nlohmann::ordered_json build_, host_;
  nlohmann::ordered_json files_;  // Files of all points.
  std::vector<nlohmann::ordered_json> of_points_;
};

// The experiment without what is a condition: what it resolved to on this machine (the actuator,
// the kernels' rates, its hardware threads), and what the profile said when it was read.
nlohmann::ordered_json WithoutConditions(nlohmann::ordered_json experiment);

// "kernel: Linux 6.1 -> Linux 6.12", one for each difference. then, now: with build, host, files
// and (of a run that is no sweep) experiment. Of simulated runs neither host nor scheduling matter.
std::vector<std::string> Differences(const nlohmann::ordered_json& then,
                                     const nlohmann::ordered_json& now, bool simulated);

}  // namespace cosched
