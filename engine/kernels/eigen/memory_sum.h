#pragma once
// Called by the measurement of kernel rates; thread-safe.

#include <cstdint>

namespace cosched::eigen {

// The sum of floats, as fast as a core reads them.
float MemorySum(const float* values, int64_t count);

}  // namespace cosched::eigen
