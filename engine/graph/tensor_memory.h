#pragma once
// Where tensors have their memory. Read by Tensor, which allocates it, and by whoever lays several
// of them side by side into one. Constants.

#include <cstddef>

namespace cosched {

inline constexpr size_t kTensorAlignment = 64;  // A cache line, and the widest vector register.

// Memory of so many bytes lies on huge pages where the system has them, and begins on one: a
// product of one row with AlexNet's weights, which reads 150 MB once, takes an eighth less time.
inline constexpr size_t kHugePage = size_t{2} << 20;
inline constexpr size_t kLeastOnHugePages = 2 * kHugePage;

}  // namespace cosched
