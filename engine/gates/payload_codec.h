#pragma once
// How a call goes to another rank: payloads are of any type, so whoever makes a stage says how what
// it takes and what it makes become bytes. A stage whose payloads are tied to their process (open
// files, say) has none, and its calls stay on rank 0. Thread-safe as their functions are.

#include <functional>
#include <string>
#include <string_view>

#include "engine/gates/payload.h"

namespace cosched {

struct PayloadCodec {
  std::function<std::string(const Payload& payload)> encode;
  // `origin`: on rank 0 the first payload that the call took, which has stayed there with all that
  // does not travel; null elsewhere. Throws MalformedBytes for what encode() does not write.
  std::function<Payload(std::string_view bytes, const Payload* origin)> decode;
};

// Of payloads that are one int64_t.
PayloadCodec NumberCodec();

struct StageTravel {
  PayloadCodec takes, makes;
};

}  // namespace cosched
