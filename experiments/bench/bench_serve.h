#pragma once
// `cosched bench serve`: requests a second through the whole path of an experiment (the harness's
// open loop, the host, the socket, the tenant and back, the records), all of it on one core, beside
// a bare socket that carries as many bytes there and back. Called by bench.cc.

#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/analysis/request_metrics.h"

namespace cosched {

struct BenchServeOptions {
  std::string model = "empty";
  std::vector<double> rates;  // Requests a second that are sent, one row each.
  double seconds = 2;         // Duration of each row.
  int max_batch = 64;
  double max_delay_ms = 0;
};

// What a run is worth, of which these are two different questions.
struct ServeVerdict {
  bool answered = false;  // All requests, and as many a second as were offered, within a hundredth.
  bool kept_up =
      false;  // The generator: no request was sent more than kLateRequest after its time.
};
ServeVerdict Judge(const ServiceSummary& service);

// The exit code: 0, or 1 if a run failed.
int RunBenchServe(const BenchServeOptions& options, const Topology& topology);

}  // namespace cosched
