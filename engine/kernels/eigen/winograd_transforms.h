#pragma once
// The transforms of Winograd's minimal filtering F(m x m, 3 x 3), m = 2 or 4 (Lavin and Gray, CVPR
// 2016, sections 4.1 to 4.3), on vectors of channels. Called by the Winograd kernel; thread-safe.

#include <cstdint>

#include "engine/kernels/parameters.h"
#include "engine/kernels/window.h"
#include "engine/kernels/winograd.h"

namespace cosched::eigen {

// Tiles [begin, end) of NHWC images: into products' left sides [points][end - begin][channels].
void TransformImages(const Window& w, const WinogradTiles& tiles, int64_t begin, int64_t end,
                     const float* images, float* result, int64_t stride);

// HWIO filter [3][3][C][K]: channels [begin, end) of C of the right sides [points][C][K].
void TransformFilter(const Window& w, int size, int64_t begin, int64_t end, const float* filter,
                     float* result);

// Products [points][…][K] back into tiles [begin, end) of NHWC output, with bias [K], residual (of
// the output's shape, perhaps the output itself; or null) and activation.
struct WinogradOutput {
  const float* bias;
  const float* residual;
  Activation activation;
  float* output;
};
void TransformProducts(const Window& w, const WinogradTiles& tiles, int64_t begin, int64_t end,
                       const float* products, int64_t stride, const WinogradOutput& output);

}  // namespace cosched::eigen
