#pragma once
// Packets over a UNIX SOCK_SEQPACKET socket, never blocking: what both sides of tenant_protocol.h
// send and take. Stateless, so thread-safe.

#include <string>
#include <string_view>

#include "engine/base/unique_fd.h"

namespace cosched {

inline constexpr size_t kMaxPacket =
    32 * 1024;  // Holds the widest CpuSet ("0,2,4,…") with room to spare.

// Sends one packet without blocking, with a copy of a descriptor if one is given (not -1). False if
// the peer is gone or does not read (its buffer is full).
bool SendPacket(int socket, std::string_view text, int descriptor = -1);

enum class Receipt {
  kPacket,   // `text` holds one whole packet
  kNothing,  // none is waiting
  kTooLong,  // one longer than kMaxPacket was thrown away
  kClosed,   // the peer is gone and all it sent is taken (or it sent an empty packet: the same)
};
// Takes one packet without blocking, and the descriptor that came with it if `descriptor` is given;
// otherwise none is taken, whatever the peer sends.
Receipt ReceivePacket(int socket, std::string* text, UniqueFd* descriptor = nullptr);

}  // namespace cosched
