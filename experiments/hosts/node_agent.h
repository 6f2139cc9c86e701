#pragma once
// The agent of one node: connects to a harness, proves that it was started by it, makes a
// ProcessHost for the node's cores and does what the harness asks of it (host_protocol.h) until the
// connection ends; then it kills its tenants and returns. Called by `cosched node`, which the
// harness starts on each node (cluster_host.h). For one thread.

#include <filesystem>
#include <string>

namespace cosched {

struct NodeAgentOptions {
  std::string connect;               // HOST:PORT of the harness.
  std::filesystem::path token_file;  // One line, which only the harness's user may read.
  std::string node;                  // The name by which the harness knows the node.
};

// The exit code: 0 when the harness has closed the connection, 1 if it spoke nonsense, which is
// told on stderr. Throws InputError if the harness or the file is not there.
int RunNodeAgent(const NodeAgentOptions& options);

}  // namespace cosched
