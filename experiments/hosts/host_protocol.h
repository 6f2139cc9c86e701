#pragma once
// What a harness and the agent of a node say to each other: ObservedHost (experiments/hosts/
// observed_host.h) as messages. Used by ClusterHost, which asks, and by the node agent, which does
// it with a ProcessHost of its own. Pure; thread-safe.
//
// The channel is a TCP connection that the agent opens; a message is one frame
// (experiments/wire/frame_socket.h) that holds one JSON object, {"type": "grant", …}. Both sides
// are of one version, which the first message says, so reading is strict. An agent has one host
// and speaks to one harness; it ends with the connection, and all its tenants with it.
//
//   agent -> harness   hello                 first: the token that the harness wrote to a file
//   harness -> agent   begin                 first: what the host is like; its clock starts
//   agent -> harness   begun                 its host is there, or why it can't be
//   harness -> agent   start, grant, …       calls of Host; without an answer but for questions
//   agent -> harness   observed, event       what its tenants did, before what became of them
//   harness -> agent   question              what can only be told now; each has an id
//   agent -> harness   answer                of that id
//
// Times are those of the agent's host, whose clock began when it was made; ClusterHost converts
// them. `order` counts the Starts, Grants and Pauses of a job: a settled one says which it was,
// because only the latest counts.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/cpu_set.h"
#include "experiments/hosts/tenant_timeouts.h"
#include "experiments/os/actuator.h"
#include "experiments/records/interference.h"
#include "experiments/wire/memory_mode.h"
#include "experiments/wire/memory_move.h"
#include "experiments/wire/tenant_protocol.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/host.h"
#include "policies/job.h"
#include "policies/place.h"
#include "policies/service.h"

namespace cosched {

inline constexpr int kHostProtocolVersion = 2;

// What of ProcessHost::Options a harness decides.
struct BeginCall {
  CpuSet cores;  // The node's.
  std::string binary;
  std::string log_directory;
  std::string run;
  Actuator actuator = Actuator::kAffinity;
  MemoryMode memory = MemoryMode::kFollow;
  bool shares = false;
  std::chrono::microseconds quota_period{0};
  TenantTimeouts timeouts;
  bool sample_threads = false;
};
struct DescribeCall {
  JobId job;
  TenantSpec spec;
};
// Of the job what its host goes by.
struct StartCall {
  JobId job;
  std::string workload;
  CoreRequest request;
  Elasticity elasticity = Elasticity::kMalleable;
  std::optional<Split> threads;
  int64_t steps = 0;
  Place place;
  int64_t order = 0;
};
// No cores: Pause.
struct GrantCall {
  JobId job;
  Place place;
  int64_t order = 0;
};
struct SendCall {
  JobId job;
  std::vector<Request> requests;
};
struct DrainCall {
  JobId job;
};
struct WakeAtAnswersCall {
  bool wanted = false;
};
// stop: answered once the job is gone. ping: at once, as all of them, with the host's time.
struct QuestionCall {
  int64_t id = 0;
  std::string what;  // "ping", "stop", "sample", "marks" or "busy"
  JobId job = {};    // stop: this one.
};
using HostCall = std::variant<BeginCall, DescribeCall, StartCall, GrantCall, SendCall, DrainCall,
                              WakeAtAnswersCall, QuestionCall>;

struct HelloReport {
  int version = kHostProtocolVersion;
  std::string token;
  std::string node;
};
struct BegunReport {
  std::string problem;  // "" = none.
};
struct EventReport {
  std::string what;  // "settled", "finished" or "failed"
  JobId job;
  std::string reason;  // Of a failure.
  int64_t order = 0;   // The latest that the agent had done.
};
// A living job, now and then, and one that has just ended.
struct JobProgress {
  JobId job;
  double progress = 0;
  Duration cpu_time{0};
  PipelineCounters pipeline = {};
};
struct ObservedReport {
  std::vector<StepSample> steps;
  std::vector<ResizeSample> resizes;
  std::vector<ActuationSample> actuations;
  std::vector<MemoryMove> memory_moves;
  std::vector<RequestSample> requests;  // Of instances.
  std::vector<JobProgress> progress;

  bool Empty() const {
    return steps.empty() && resizes.empty() && actuations.empty() && memory_moves.empty() &&
           requests.empty() && progress.empty();
  }
};
struct CoreTime {
  int cpu = 0;
  Duration busy{0};
};
struct AnswerReport {
  int64_t id = 0;
  TimePoint now;
  std::vector<TenantSample> samples;
  std::vector<std::string> marks;
  std::vector<CoreTime> busy;
};
using AgentReport =
    std::variant<HelloReport, BegunReport, EventReport, ObservedReport, AnswerReport>;

// REQUIRES: it fits in a frame.
std::string Encode(const HostCall& call);
std::string Encode(const AgentReport& report);
// Safe on any bytes.
Parsed<HostCall> ParseHostCall(std::string_view text);
Parsed<AgentReport> ParseAgentReport(std::string_view text);

// So many rows a kind and part, at most, that each fits in a frame; their order is kept.
std::vector<ObservedReport> InParts(ObservedReport report, size_t rows);

}  // namespace cosched
