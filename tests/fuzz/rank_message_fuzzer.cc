// libFuzzer target of what the ranks of a pipeline say to each other: whatever bytes arrive are a
// message or refused, a message comes back the same after being written again, and none takes more
// memory than a small multiple of its bytes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/gates/packed_bytes.h"
#include "engine/gates/rank_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const cosched::RankMessage message = cosched::DecodeRankMessage(bytes);
    if (cosched::Encode(message) != bytes) std::abort();
  } catch (const cosched::MalformedBytes&) {
  }
  return 0;
}
