#pragma once
// What a host and its tenant say to each other: the specification of the tenant's control socket.
// Used by ProcessHost, ContainerHost and the tenant. Stateless, so thread-safe.
//
// The channel is a UNIX SOCK_SEQPACKET socket: one packet is one message, one JSON object of at
// most kMaxTenantMessage bytes. Every message carries "version" and "type"; unknown keys are
// ignored, anything else unexpected is refused whole.
//
//   host -> tenant
//     Only to a tenant that has connected to its host's socket (--host-socket) instead of
//     inheriting it: the first packet, with the shared page's descriptor attached (SCM_RIGHTS):
//       {"type":"welcome"}
//     Move there (cores "" = pause, keep memory):
//       {"type":"grant", "sequence":2, "cores":"0-1", "inter":1, "intra":2}
//   tenant -> host
//     First, before the model is built; threads are where a grant put them; a resize of the pools,
//     whoever asked for it, is over (cores "" and threads 0 = paused; op = what ran when it was
//     asked for; finished = CLOCK_MONOTONIC in nanoseconds); last, before it exits with 0; it can't
//     go on and exits:
//       {"type":"hello", "job":7}
//       {"type":"settled", "sequence":2, "cores":"0-1", "inter":1, "intra":2, "microseconds":83}
//       {"type":"resized", "cause":"ctl", "inter_before":1, "intra_before":2, "inter_after":1,
//        "intra_after":1, "cores":"0", "op":"Conv2D", "microseconds":83, "finished":8264527}
//       {"type":"finished", "steps":50, "images":1600}
//       {"type":"error", "reason":"no such model"}
//
// The first grant (sequence 1) is given on the tenant's command line and answered by "settled" once
// the tenant is ready to compute. A later grant supersedes those before it; only the latest needs
// an answer. A rigid or moldable tenant gets no grants after the first. Heartbeats, steps and
// counters need no message: they are in the shared page (shared_counters.h). The tenant leaves when
// the socket closes: no tenant outlives its host.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "experiments/hosts/unique_fd.h"
#include "policies/job.h"

namespace cosched {

inline constexpr int kTenantProtocolVersion = 1;
inline constexpr size_t kMaxTenantMessage =
    32 * 1024;  // Holds the widest CpuSet ("0,2,4,…") with room to spare.

struct WelcomeMessage {
  friend bool operator==(const WelcomeMessage&, const WelcomeMessage&) = default;
};
struct GrantMessage {
  int64_t sequence = 0;
  CpuSet cores;
  Split threads{0, 0};  // {0, 0} with no cores.
  friend bool operator==(const GrantMessage&, const GrantMessage&) = default;
};
using HostMessage = std::variant<WelcomeMessage, GrantMessage>;

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
  kSignal,   // a real-time signal
  kControl,  // `cosched ctl`
  kCounter,  // --resize-at
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
  friend bool operator==(const FinishedMessage&, const FinishedMessage&) = default;
};
struct ErrorMessage {
  std::string reason;  // Cut to 2000 bytes when encoded.
  friend bool operator==(const ErrorMessage&, const ErrorMessage&) = default;
};
using TenantMessage =
    std::variant<HelloMessage, SettledMessage, ResizedMessage, FinishedMessage, ErrorMessage>;

std::string Encode(const HostMessage& message);
std::string Encode(const TenantMessage& message);

// Either a message or why there is none.
template <typename Message>
struct Parsed {
  std::optional<Message> message;
  std::string error;
};
// Safe on any bytes.
Parsed<HostMessage> ParseHostMessage(std::string_view text);
Parsed<TenantMessage> ParseTenantMessage(std::string_view text);

// Sends one packet without blocking, with a copy of a descriptor if one is given (not -1). False if
// the peer is gone or does not read (its buffer is full).
bool SendPacket(int socket, std::string_view text, int descriptor = -1);

enum class Receipt {
  kPacket,   // `text` holds one whole packet
  kNothing,  // none is waiting
  kTooLong,  // one longer than kMaxTenantMessage was thrown away
  kClosed,   // the peer is gone (or sent an empty packet, which reads the same)
};
// Takes one packet without blocking, and the descriptor that came with it if `descriptor` is given;
// otherwise none is taken, whatever the peer sends.
Receipt ReceivePacket(int socket, std::string* text, UniqueFd* descriptor = nullptr);

}  // namespace cosched
