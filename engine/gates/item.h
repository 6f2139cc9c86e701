#pragma once
// What goes through a pipeline: items of requests, moved from gate to gate and never copied. Plain
// data.

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/gates/payload.h"

namespace cosched {

// A request, or a partition of one: between the gate that cut it and the one that joins it, a
// partition is a request of its own.
struct RequestId {
  int64_t value = -1;
  friend auto operator<=>(const RequestId&, const RequestId&) = default;
};

// An item's place in its request. It has further parts where a call made several of one item, and
// in front of them the partition's place where partitions were joined; items compare by the first
// part that differs, so that an answer's order depends on no timing.
class Ordinal {
 public:
  static constexpr size_t kMostParts = 6;

  Ordinal() { parts_.fill(-1); }
  explicit Ordinal(int64_t index);
  Ordinal Then(int64_t index) const;   // A further part. REQUIRES: fewer than kMostParts.
  Ordinal Under(int64_t index) const;  // The same as part of something larger. REQUIRES: as Then.
  int64_t Index() const;               // REQUIRES: one part.
  const std::array<int32_t, kMostParts>& Parts() const { return parts_; }  // -1 behind the last.
  std::string ToString() const;                                            // "2.0.1"
  friend auto operator<=>(const Ordinal&, const Ordinal&) = default;

 private:
  size_t Size() const;

  std::array<int32_t, kMostParts> parts_;
};

struct Item {
  Ordinal ordinal;
  Payload payload;
};

// Why a call fails its request.
struct StageFailure {
  std::string why = {};
  bool bad_input = false;  // What is wrong is a person's (engine/base/error.h).
};

// Items that one call gets, all of one request.
struct ItemBatch {
  RequestId request;
  std::vector<Item>
      items;  // By ordinal. None: a request without items at a gate that hands it whole.
};

}  // namespace cosched
