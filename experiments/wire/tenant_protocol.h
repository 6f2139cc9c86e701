#pragma once
// What a tenant and those who steer it say to each other: the specification of its two sockets.
// Used by ProcessHost, ContainerHost, the tenant and `cosched ctl`. Stateless, so thread-safe.
//
// The channel is a UNIX SOCK_SEQPACKET socket: one packet is one message, one JSON object of at
// most kMaxTenantMessage bytes. Every message carries "version" and "type"; unknown keys are
// ignored, anything else unexpected is refused whole. Requests of services and their answers are
// the exception: they travel many in a packet, in a binary format with a version of its own
// (request_packets.h).
//
//   host -> tenant
//     Only to a tenant that has connected to its host's socket (--host-socket) instead of
//     inheriting it: the first packet, with the shared page's descriptor attached (SCM_RIGHTS):
//       {"type":"welcome"}
//     Move there (cores "" = pause, keep memory):
//       {"type":"grant", "sequence":2, "cores":"0-1", "inter":1, "intra":2}
//     The same for a pipeline, in which so many requests may be open from now on:
//       {"type":"grant", "sequence":2, "cores":"0-1", "inter":2, "intra":2, "open_requests":3}
//     Only to a service: packets of requests, and after the last one: answer those you have, then
//     finish:
//       {"type":"drain"}
//   tenant -> host
//     First, before the model is built; threads are where a grant put them; a resize of the pools,
//     whoever asked for it, is over (cores "" and threads 0 = paused; op = what ran when it was
//     asked for; finished = CLOCK_MONOTONIC in nanoseconds); last, before it exits with 0; it can't
//     go on and exits:
//       {"type":"hello", "job":7}
//       {"type":"settled", "sequence":2, "cores":"0-1", "inter":1, "intra":2, "microseconds":83}
//       {"type":"resized", "cause":"ctl", "inter_before":1, "intra_before":2, "inter_after":1,
//        "intra_after":1, "cores":"0", "op":"Conv2D", "microseconds":83, "finished":8264527}
//       {"type":"finished", "steps":50, "images":1600}   (a service: batches and requests)
//       {"type":"error", "reason":"no such model"}
//
//   anyone of the tenant's own user, or root -> tenant, through its control socket
//     (control_socket.h). Ids rise on a connection: a replayed request is refused. "set" names any
//     of the three; threads of 0 pause, as "pause" does:
//       {"type":"status", "id":1}
//       {"type":"set", "id":2, "cores":"0-1", "inter":1, "intra":2}
//       {"type":"pause", "id":3}   {"type":"resume", "id":4}   {"type":"stop", "id":5}
//   tenant -> that one, an answer to each; to a change once the last thread is in its place (what
//     took effect, after clamping to cores and capacity), or refused, and nothing has changed (id
//     0: of a message that can't be read):
//       {"type":"ok", "id":2, "cores":"0-1", "inter":1, "intra":2, "microseconds":83}
//       {"type":"status", "id":1, …}   (StatusReply)
//       {"type":"error", "id":2, "reason":"cores 3: outside the host's grant of 0-1"}
//
// The first grant (sequence 1) is given on the tenant's command line and answered by "settled" once
// the tenant is ready to compute. A later grant supersedes those before it; only the latest needs
// an answer. Those that come between "hello" and then are followed at once, too, and acknowledged
// in the shared page alone (settled_sequence): from then on the tenant binds no thread to the cores
// of an older grant. A rigid or moldable tenant gets no grants after the first. Heartbeats, steps
// and counters need no message: they are in the shared page (shared_counters.h). The tenant leaves
// when the socket closes: no tenant outlives its host. One that has answered a pause is stopped by
// SIGSTOP; what comes meanwhile, the grant that ends the pause included, waits in the socket.
//
// The process of a modelled device (hosted_device.h) speaks the same, but belongs to no job and is
// granted nothing: it says "hello" with the device's number as its job once it can be asked,
// answers requests of several services, and tells of the holds of its slots in packets of their
// own. Nothing else is said but "error".

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "experiments/wire/packet_socket.h"
#include "policies/job.h"

namespace cosched {

inline constexpr int kTenantProtocolVersion = 1;
inline constexpr size_t kMaxTenantMessage = kMaxPacket;

struct WelcomeMessage {
  friend bool operator==(const WelcomeMessage&, const WelcomeMessage&) = default;
};
struct GrantMessage {
  int64_t sequence = 0;
  CpuSet cores;
  Split threads{0, 0};    // {0, 0} with no cores.
  int open_requests = 0;  // That may be in a pipeline; 0: as before, or it is none.
  friend bool operator==(const GrantMessage&, const GrantMessage&) = default;
};
struct DrainMessage {
  friend bool operator==(const DrainMessage&, const DrainMessage&) = default;
};
using HostMessage = std::variant<WelcomeMessage, GrantMessage, DrainMessage>;

struct HelloMessage {
  JobId job;
  friend bool operator==(const HelloMessage&, const HelloMessage&) = default;
};
struct SettledMessage {
  int64_t sequence = 0;
  CpuSet cores;
  Split threads{0, 0};
  std::chrono::microseconds time{0};  // From the arrival of the grant until the threads were there.
  friend bool operator==(const SettledMessage&, const SettledMessage&) = default;
};
// Who asked for a resize.
enum class ResizeCause {
  kGrant,    // the host
  kHalving,  // the host, one step of the published protocol (halve once a second until there)
  kCpuset,   // someone who changed the cores that the process may use
  kQuota,    // someone who changed the CPU time that it may have
  kSignal,   // a real-time signal
  kControl,  // `cosched ctl`
  kCounter,  // --resize-at
  kAuto,     // split = "auto"
};
std::string_view ToString(ResizeCause cause);  // "grant", "halving", "cpuset", "signal", "ctl" …
std::optional<ResizeCause> ParseResizeCause(std::string_view text);

struct ResizedMessage {
  ResizeCause cause = ResizeCause::kGrant;
  Split before{0, 0}, after{0, 0};
  CpuSet cores;                          // Where the threads are now.
  std::string op;                        // Cut to 100 bytes when encoded.
  std::chrono::microseconds time{0};     // From the request until the threads were there …
  std::chrono::nanoseconds finished{0};  // … at this time.
  friend bool operator==(const ResizedMessage&, const ResizedMessage&) = default;
};
struct FinishedMessage {
  int64_t steps = 0;
  int64_t images = 0;
  // What whoever reads the results should know; "" = nothing. Cut to 200 bytes when encoded.
  std::string remark = {};
  friend bool operator==(const FinishedMessage&, const FinishedMessage&) = default;
};
struct ErrorMessage {
  std::string reason;  // Cut to 2000 bytes when encoded.
  friend bool operator==(const ErrorMessage&, const ErrorMessage&) = default;
};
using TenantMessage =
    std::variant<HelloMessage, SettledMessage, ResizedMessage, FinishedMessage, ErrorMessage>;

struct ControlRequest {
  enum class Verb { kStatus, kSet, kPause, kResume, kStop };
  int64_t id = 0;
  Verb verb = Verb::kStatus;
  // Arguments of "set", at least one of them.
  std::optional<CpuSet> cores = std::nullopt;
  std::optional<int> inter = std::nullopt, intra = std::nullopt;
  friend bool operator==(const ControlRequest&, const ControlRequest&) = default;
};

struct OkReply {
  int64_t id = 0;
  CpuSet cores;
  Split threads{0, 0};
  std::chrono::microseconds time{0};
  friend bool operator==(const OkReply&, const OkReply&) = default;
};
struct StatusReply {
  struct Latencies {  // Resize times, from the request to the last thread in its place.
    int64_t count = 0;
    std::chrono::microseconds p50{0}, p90{0}, p99{0}, max{0};
    friend bool operator==(const Latencies&, const Latencies&) = default;
  };
  int64_t id = 0;
  std::string program;          // "resnet20 train batch 32"
  int64_t job = -1;             // The host's job; -1 = none.
  bool ready = false;           // False while the model is being built; the rest is 0 then.
  int64_t step = 0, steps = 0;  // Done, and to do (0 = until it is stopped).
  int64_t images = 0;
  double images_per_second = 0;  // Mean of the last second.
  bool paused = false;           // By a request.
  CpuSet cores;                  // Where its threads are.
  CpuSet may_use;                // Where they could be.
  Split threads{0, 0};           // No more of them than cores; `wanted`, before that was seen to:
  Split wanted{0, 0};            // an op may have so many, if inter-op threads that idle join it.
  int active_threads = 0;
  Split capacity{0, 0};
  Latencies grow, shrink;
  int64_t signals_ignored = 0;
  friend bool operator==(const StatusReply&, const StatusReply&) = default;
};
struct ErrorReply {
  int64_t id = 0;
  std::string reason;  // Cut to 2000 bytes when encoded.
  friend bool operator==(const ErrorReply&, const ErrorReply&) = default;
};
using ControlReply = std::variant<OkReply, StatusReply, ErrorReply>;

std::string Encode(const HostMessage& message);
std::string Encode(const TenantMessage& message);
std::string Encode(const ControlRequest& request);
std::string Encode(const ControlReply& reply);

// Either a message or why there is none.
template <typename Message>
struct Parsed {
  std::optional<Message> message;
  std::string error;
};
// Safe on any bytes.
Parsed<HostMessage> ParseHostMessage(std::string_view text);
Parsed<TenantMessage> ParseTenantMessage(std::string_view text);
Parsed<ControlRequest> ParseControlRequest(std::string_view text);
Parsed<ControlReply> ParseControlReply(std::string_view text);

}  // namespace cosched
