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

// Filter [3][3][rows][columns]: rows [begin, end) of the matrices [points][rows][columns].
// turned: by half a turn, as the gradient for the image needs it. columns: whole vectors of 16.
struct WinogradFilter {
  int64_t rows, columns;
  bool turned;
};
void TransformFilter(int size, const WinogradFilter& shape, int64_t begin, int64_t end,
                     const float* filter, float* result);

// The gradient of a filter is the sum of products of images, transformed as above, and the
// gradient of the output: tiles [begin, end) of that, [points][…][K]…
void TransformGradients(const Window& w, const WinogradTiles& tiles, int64_t begin, int64_t end,
                        const float* gradients, float* result, int64_t stride);
// … and back from [points][rows][columns] into rows [begin, end) of [3][3][rows][columns].
void TransformFilterGradient(int size, const WinogradFilter& shape, int64_t begin, int64_t end,
                             const float* products, float* result);

// Products [points][…][K] back into tiles [begin, end) of NHWC output, with bias [K], residual (of
// the output's shape, perhaps the output itself) and activation; null: none.
struct WinogradOutput {
  float* output;
  const float* bias = nullptr;
  const float* residual = nullptr;
  Activation activation = {};
};
void TransformProducts(const Window& w, const WinogradTiles& tiles, int64_t begin, int64_t end,
                       const float* products, int64_t stride, const WinogradOutput& output);

}  // namespace cosched::eigen
