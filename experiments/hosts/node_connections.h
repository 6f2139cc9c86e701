#pragma once
// Starts an agent on each node and gives the connections to them: what ClusterHost does before its
// clock starts. Stateless.
//
// The token is in a file that only this user may read (mode 0600), in a folder that every node
// sees; it is gone once all agents have come. Whoever connects and does not know it is turned away
// and takes nobody's place. It travels in the clear, as all that the two sides say.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "experiments/hosts/agent_process.h"
#include "experiments/wire/frame_socket.h"

namespace cosched {

// How an agent is started.
struct AgentLaunch {
  std::string node;                   // Its name.
  std::vector<std::string> launcher;  // Before the agent's own command; none = on this machine.
};
struct AgentLaunches {
  std::vector<AgentLaunch> agents;
  bool local = false;            // All on this machine, which then listens to nobody else.
  std::string binary;            // cosched, on every node.
  std::filesystem::path folder;  // For the token, and node-<name>.log: what an agent says.
  Duration patience = std::chrono::seconds(60);
};

struct AgentConnection {
  std::unique_ptr<AgentProcess> process;
  std::unique_ptr<FrameSocket> socket;
};

// One a node, in their order. Throws InputError if one does not come.
std::vector<AgentConnection> ConnectAgents(const AgentLaunches& launches);

}  // namespace cosched
