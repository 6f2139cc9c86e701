#pragma once
// Requests and answers on their way between a host and a service: the binary part of
// tenant_protocol.h, on the same socket. A packet carries many of them, because at tens of
// thousands a second one JSON object each would cost more than everything else. Used by both sides
// (tenant_requests.h, hosted_service.h). Stateless, so thread-safe.
//
// All numbers are little-endian; a packet is exactly as long as its counts say.
//
//   head        u8 0xC5 (no JSON begins so), u8 kind, u16 version = 1, u32 count
//   requests    kind 'Q': head, u64 number of the first, then count times
//                 f64 work (in runs of the network, which is rounded; >= 0)
//               The requests of a service are numbered 0, 1, 2, … in the order of their sending.
//               What is to be classified is image `number` of the service's data set, which is
//               read in a circle: an experiment's clients measure time and send no pictures.
//   answers     kind 'A': head, then count times a batch, or what of it fits into one packet:
//                 i64 started, i64 finished, u32 size (requests answered together),
//                 u32 here (of them in this packet, 1 to size), then `here` times
//                   u64 number, i64 received
//               Times are of CLOCK_MONOTONIC, in nanoseconds: received when the tenant took the
//               request from its socket, started when its batch began, finished when the batch was
//               through.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/wire/tenant_protocol.h"

namespace cosched {

inline constexpr uint16_t kRequestPacketVersion = 1;
inline constexpr size_t kMostRequests = (kMaxPacket - 16) / 8;  // In a packet.
inline constexpr size_t kMostAnswers = (kMaxPacket - 32) / 16;  // Answers of one batch in a packet.

struct RequestPacket {
  uint64_t first = 0;
  std::vector<double> work;  // Work of first, first + 1, …
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
  friend bool operator==(const AnsweredBatch&, const AnsweredBatch&) = default;
};
struct AnswerPacket {
  std::vector<AnsweredBatch> batches;
  friend bool operator==(const AnswerPacket&, const AnswerPacket&) = default;
};

// Whether a packet is one of these rather than a JSON message.
bool IsRequestPacket(std::string_view packet);

// REQUIRES: not empty, and it fits into a packet.
std::string Encode(const RequestPacket& packet);
std::string Encode(const AnswerPacket& packet);
// Safe on any bytes.
Parsed<RequestPacket> ParseRequestPacket(std::string_view packet);
Parsed<AnswerPacket> ParseAnswerPacket(std::string_view packet);

}  // namespace cosched
