#include "engine/session/run_buffers.h"

#include <cstdint>

#include "engine/graph/tensor_memory.h"

namespace cosched {
namespace {

// So many that the next buffer is aligned, too.
int64_t FloatsFor(size_t bytes) {
  return static_cast<int64_t>((bytes + kTensorAlignment - 1) / kTensorAlignment *
                              (kTensorAlignment / sizeof(float)));
}

}  // namespace

void AddRunBuffers(std::vector<Tensor>* buffers, const std::vector<size_t>& bytes) {
  int64_t floats = 0;
  for (size_t i = buffers->size(); i < bytes.size(); ++i) floats += FloatsFor(bytes[i]);
  const bool together = static_cast<size_t>(floats) * sizeof(float) >= kLeastOnHugePages;
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
