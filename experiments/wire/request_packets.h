#pragma once
// Requests and answers on their way between a host and a server, an instance of a service or a
// device: the binary part of tenant_protocol.h, on the same socket. A packet carries many of them,
// because at tens of thousands a second one JSON object each would cost more than everything else.
// Used by both sides (tenant_requests.h, supervised_device.h; hosted_service.h, hosted_device.h).
// Stateless, so thread-safe.
//
// All numbers are little-endian; a packet is exactly as long as its counts say.
//
//   head        u8 0xC5 (no JSON begins so), u8 kind, u16 version = 3, u16 count, u16 service
//   requests    kind 'Q': head, u64 number of the first, then count times
//                 f64 work (in runs of the network, which an instance rounds; >= 0)
//               All are of one service, among those of a device; an instance has service 0 alone.
//               The requests of a server are numbered 0, 1, 2, … in the order of their sending.
//               What is to be classified is image `number` of the service's data set, which is
//               read in a circle: an experiment's clients measure time and send no pictures.
//   answers     kind 'A': head (service 0: a number says whose it is), then count times a batch, or
//               what of it fits into one packet:
//                 i64 started, i64 finished, u32 size (requests answered together),
//                 u32 here (of them in this packet, 1 to size), u32 outcome (0: done, 1: they
//                 failed), u32 0, then `here` times
//                   u64 number, i64 received
//               Times are of CLOCK_MONOTONIC, in nanoseconds: received when the tenant took the
//               request from its socket, started when its batch began, finished when the batch was
//               through.
//   holds       kind 'H': of a device: head (service 0), then count times
//                 i64 begin, i64 planned_end, i64 end, u32 slot, u16 service, u16 batch
//               Each hold of a slot once it has ended, before its answers; times as above.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/wire/tenant_protocol.h"

namespace cosched {

inline constexpr uint16_t kRequestPacketVersion = 3;
inline constexpr size_t kMostRequests = (kMaxPacket - 16) / 8;  // In a packet.
inline constexpr size_t kMostAnswers = (kMaxPacket - 40) / 16;  // Answers of one batch in a packet.

struct RequestPacket {
  uint64_t first = 0;
  std::vector<double> work;  // Work of first, first + 1, …
  uint16_t service = 0;
  friend bool operator==(const RequestPacket&, const RequestPacket&) = default;
};

struct AnsweredBatch {
  struct Answer {
    uint64_t number = 0;
    std::chrono::nanoseconds received{0};
    friend bool operator==(const Answer&, const Answer&) = default;
  };
  std::chrono::nanoseconds started{0}, finished{0};
  int64_t size = 0;
  std::vector<Answer> answers;
  bool failed = false;  // Why is for the tenant's log.
  friend bool operator==(const AnsweredBatch&, const AnsweredBatch&) = default;
};
struct AnswerPacket {
  std::vector<AnsweredBatch> batches;
  friend bool operator==(const AnswerPacket&, const AnswerPacket&) = default;
};

struct HoldPacket {
  struct Hold {
    std::chrono::nanoseconds begin{0}, planned_end{0}, end{0};
    uint32_t slot = 0;
    uint16_t service = 0;
    uint16_t batch = 1;
    friend bool operator==(const Hold&, const Hold&) = default;
  };
  std::vector<Hold> holds;
  friend bool operator==(const HoldPacket&, const HoldPacket&) = default;
};

// Whether a packet is one of these rather than a JSON message.
bool IsRequestPacket(std::string_view packet);
// … and one of holds.
bool IsHoldPacket(std::string_view packet);

// REQUIRES: not empty, and it fits into a packet.
std::string Encode(const RequestPacket& packet);
std::string Encode(const AnswerPacket& packet);
std::string Encode(const HoldPacket& packet);
// Safe on any bytes.
Parsed<RequestPacket> ParseRequestPacket(std::string_view packet);
Parsed<AnswerPacket> ParseAnswerPacket(std::string_view packet);
Parsed<HoldPacket> ParseHoldPacket(std::string_view packet);

}  // namespace cosched
