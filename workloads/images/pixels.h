#pragma once
// An image in memory. Plain data.

#include <cstdint>
#include <vector>

namespace cosched {

struct Pixels {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb = {};  // Red, green and blue of the first pixel, …, row after row.
};

}  // namespace cosched
