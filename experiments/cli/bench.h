#pragma once
// `cosched bench`: how fast the engine, and the way of requests to a service, are
// on this machine. Registered by main.cc.

namespace CLI {
class App;
}

namespace cosched {

void AddBenchCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
