#include "engine/graph/shape.h"

namespace cosched {

int64_t Shape::Elements() const {
  int64_t elements = 1;
  for (int64_t size : sizes_) elements *= size;
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
