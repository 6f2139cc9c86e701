#pragma once
// What cosched and a policy that is a program of its own say to each other: one JSON object a line,
// a request on the program's standard input, one answer on its standard output (flushed). The
// program ends at the end of its input; what it writes to standard error is shown. Version 1:
//
//   {"protocol": 1, "kind": "describe"}
//     {"protocol": 1, "name": "shortest-first", "summary": "…"}
//     optional: "source", "oversubscribes": false, "needs_speed": false, "shares": false (true to
//     grant shares of cores), "on_settled": false (true to be asked at grant-settled too),
//     "parameters": [{"name": "quantum_ms", "default": "500", "help": "…"}]
//
//   {"protocol": 1, "kind": "start", "parameters": {"quantum_ms": "500"}}
//     {}, {"tick_ms": 500} to be asked that often, or {"error": "quantum_ms is …"}
//
//   {"protocol": 1, "kind": "decide", "event": {"kind": "job-arrived", "job": 3}, "view": {…}}
//     event: job-arrived | job-finished | job-failed | grant-settled with a "job",
//       objective-changed with a "service", window-over, or tick
//     view: "now_s", "cores": "0-3", "free": "0-1", "vacating": "", "nodes": ["0-3"], within which
//       shares are granted, and "jobs" in order of submission, each with "id", "workload", "state":
//       "waiting" | "running" | "paused", "elasticity", "priority", "min", "preferred", "max",
//       "submitted_s", "started_s" (null while it waits), "cores", "amount" of their time,
//       "last_cores" (while it is paused), "node" if it must stay in one, "split": [inter, intra],
//       "steps", "progress" (0 to 1), and "speed": [steps per second on 1, 2, … cores] if it
//       needs_speed. Jobs that answer requests have their "service"; of these, pipelines have
//       "open_requests", which may be open by the latest grant, and "most_open_requests"
//     view: also "services", of each "id", "name", "objective_s" of its mean response (0: none), and
//       of the last window "length_s", "arrived", "answered", "queued", "mean_response_s", "mean_work",
//       and "servers", each a "job" or a "device" with "dispatched", "answered", "in_flight",
//       "mean_in_flight", "mean_response_s", "mean_process_s", and of a job "cpu_time_s". A pipeline
//       that has said something has "open", requests that are inside, and "stages", from the ingress
//       to the egress: "ready" batches, "running" and "parked" calls and "items" at its end, in it
//       "calls" that ended, items "taken" by them, "busy_s", "lasted_s"; "waits": true if its calls
//       compute nothing. And "devices", each with "id", "name", "node", "slots", "busy" (all:
//       policies/service.h)
//     The first decide also has "topology": [[cpu, core, L3, NUMA node, package], …].
//     {"jobs": {"3": 2, "4": "pause", "5": {"cores": "0-1", "split": [1, 2]}, "6": {"share": 0.7,
//     "node": 0}, "7": {"cores": "2-3", "open_requests": 4}, "8": {"reject": "…"}}} or {"error":
//     "…"}. Jobs left out stay as they are, open_requests that are left out too; cores: a number, or
//     which. Meaning and rules: policies/policy.h.
//
// One process describes; each cell starts its own, with "start". An answer that is late, is not
// this, or never comes because the program has ended, fails the cell with the reason. Pure
// functions of text.

#include <string>
#include <vector>

#include "policies/policy.h"
#include "policies/registry.h"

namespace cosched {

struct ProgramDescription {
  std::string name, summary, source;
  bool oversubscribes = false;
  bool needs_speed = false;
  bool shares = false;
  bool on_settled = false;
  struct Parameter {
    std::string name, fallback, help;
  };
  std::vector<Parameter> parameters;
};

std::string DescribeRequest();
std::string StartRequest(const PolicyParameters& parameters);
// with_topology: the first of a process.
std::string DecideRequest(const MachineView& view, const Event& event, bool needs_speed,
                          bool with_topology);

// Throw std::runtime_error, which says what is wrong with the answer.
ProgramDescription ParseDescription(const std::string& answer);
Duration ParseStarted(const std::string& answer);  // The tick period.
Allocation ParseDecision(const std::string& answer);

}  // namespace cosched
