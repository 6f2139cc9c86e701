#include "engine/graph/shape.h"

#include <limits>

namespace cosched {

int64_t Shape::Elements() const {
  int64_t elements = 1;
  for (int64_t size : sizes_) {
    if (__builtin_mul_overflow(elements, size, &elements))
      return std::numeric_limits<int64_t>::max();
  }
  return elements;
}

std::string Shape::ToString() const {
  std::string text = "[";
  for (size_t i = 0; i < sizes_.size(); ++i) {
    if (i > 0) text += ",";
    text += std::to_string(sizes_[i]);
  }
  return text + "]";
}

}  // namespace cosched
