#pragma once
// What ranks of a pipeline say to each other (Whitlock et al., Pipelined TensorFlow, section 5, has
// its global gates on one machine, too): rank 0 holds the PipelineState, and the others pull calls
// from it. Payloads are bytes here (payload_codec.h). Plain data.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/gates/item.h"

namespace cosched {

// From a rank to rank 0.
struct CallsWanted {  // It would make so many calls more, of these stages.
  std::vector<int32_t> stages = {};
  int32_t calls = 0;
};
struct CallFinished {
  int64_t call = 0;
  int64_t busy = 0;                      // Nanoseconds in pieces.
  std::optional<std::string> made = {};  // None of a call that was cancelled.
};
struct CallFailed {
  int64_t call = 0;
  int64_t busy = 0;
  std::string why = {};
  bool bad_input = false;
};
struct RankFailed {  // It can't make any call, and waits to be told that there are none.
  std::string why = {};
  bool bad_input = false;  // Because of what a person gave it.
};

// From rank 0.
struct CallSent {
  struct Item {
    Ordinal ordinal;
    std::string payload;
  };
  int64_t call = 0;
  int32_t stage = 0;
  RequestId request = {};
  std::vector<Item> items = {};
};
struct CallCancelled {  // Nobody waits for what the call makes; it is to end, and be told of.
  int64_t call = 0;
};
struct RankResized {  // Cores that the rank computes on from now on; none: it pauses.
  std::vector<int32_t> cpus = {};
  int32_t inter = 1, intra = 1;    // Threads there, as far as it can have them.
  std::vector<int32_t> home = {};  // Where its other threads are; none: where they were.
};
struct RanksClosed {};  // There are no more calls.

using RankMessage = std::variant<CallsWanted, CallFinished, CallFailed, CallSent, CallCancelled,
                                 RankResized, RanksClosed, RankFailed>;

std::string Encode(const RankMessage& message);
// Throws MalformedBytes for what Encode() does not write.
RankMessage DecodeRankMessage(std::string_view bytes);

}  // namespace cosched
