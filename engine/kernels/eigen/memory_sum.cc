#include "engine/kernels/eigen/memory_sum.h"

#include "engine/kernels/eigen/views.h"

namespace cosched::eigen {

float MemorySum(const float* values, int64_t count) { return ConstArray(values, count).sum(); }

}  // namespace cosched::eigen
