#include "experiments/cli/node.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "experiments/hosts/node_agent.h"
#include "experiments/os/realtime.h"

namespace cosched {

void AddNodeCommand(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("node", "Run tenants on this node for a harness");
  command->group("");
  const auto options = std::make_shared<NodeAgentOptions>();
  command->add_option("--connect", options->connect, "HOST:PORT where the harness listens")
      ->required();
  command->add_option("--token-file", options->token_file, "Where the harness has put its token")
      ->required();
  command->add_option("--name", options->node, "The name by which the harness knows the node")
      ->required();
  command->callback([options, exit_code] {
    const RealtimeScope realtime;
    *exit_code = RunNodeAgent(*options);
  });
}

}  // namespace cosched
