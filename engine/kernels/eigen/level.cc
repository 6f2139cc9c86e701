// Compiled once for each level: what the build finds of it (levels.cmake gives the names).

#include "engine/kernels/eigen/levels.h"

namespace cosched::eigen {

extern const KernelLevel COSCHED_LEVEL;
// clang-format off
#define COSCHED_ENTRY(factory) .factory = factory,
constinit const KernelLevel COSCHED_LEVEL = {
    .name = COSCHED_LEVEL_NAME,
    COSCHED_FACTORIES_OF_A_LEVEL(COSCHED_ENTRY)
    .TransformImages = TransformImages,
    .TransformFilter = TransformFilter,
    .TransformGradients = TransformGradients,
    .TransformFilterGradient = TransformFilterGradient,
    .TransformProducts = TransformProducts,
    .MemorySum = MemorySum,
};
#undef COSCHED_ENTRY
// clang-format on

}  // namespace cosched::eigen
