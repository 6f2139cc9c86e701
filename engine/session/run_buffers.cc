#include "engine/session/run_buffers.h"

#include <cstdint>

namespace cosched {
namespace {

constexpr size_t kLine = 64;                        // Of a cache; each buffer begins on one.
constexpr size_t kLeastTogether = size_t{4} << 20;  // Of which Tensor asks for huge pages.

// Floats of whole lines.
int64_t FloatsFor(size_t bytes) {
  return static_cast<int64_t>((bytes + kLine - 1) / kLine * (kLine / sizeof(float)));
}

}  // namespace

void AddRunBuffers(std::vector<Tensor>* buffers, const std::vector<size_t>& bytes) {
  int64_t floats = 0;
  for (size_t i = buffers->size(); i < bytes.size(); ++i) floats += FloatsFor(bytes[i]);
  const bool together = static_cast<size_t>(floats) * sizeof(float) >= kLeastTogether;
  const Tensor whole = together ? Tensor(Shape{floats}) : Tensor();
  int64_t first = 0;
  for (size_t i = buffers->size(); i < bytes.size(); ++i) {
    const Shape shape{FloatsFor(bytes[i])};
    if (!together) {
      buffers->emplace_back(shape);
      continue;
    }
    buffers->push_back(Tensor::View(shape, DataType::kFloat));
    buffers->back().ViewInto(whole, first);
    first += shape.Elements();
  }
}

}  // namespace cosched
