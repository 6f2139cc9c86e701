#pragma once
// Which values may be bfloat16: images, and what is as large as they are. Filters, biases,
// statistics, losses and updates are float always. Called by the op table, which infers types from
// it, and by the pass that converts a graph (bfloat16.h). Immutable.

#include <string_view>

namespace cosched {

struct ImageTypes {
  // Bits of inputs and outputs, from the first on. All of them in one node are of one type.
  unsigned inputs = 0, outputs = 0;
  // Whether the op gains enough to have its inputs converted; others take what they get.
  bool converts = false;

  bool HasInput(size_t input) const { return input >= 32 ? inputs == kAll : inputs >> input & 1; }
  bool HasOutput(size_t output) const { return (outputs >> output & 1) != 0; }

  static constexpr unsigned kAll = ~0u;
};

ImageTypes ImageTypesOf(std::string_view op);

}  // namespace cosched
