#pragma once
// _FusedConv2D by Winograd's minimal filtering (engine/kernels/winograd.h) with oneDNN's products.
// Only the factory of _FusedConv2D includes it.

#include <memory>

#include "engine/kernels/kernel.h"
#include "engine/kernels/window.h"

namespace cosched::onednn {

// Null where the sum over the window is as fast, and for other than floats.
std::unique_ptr<Kernel> MakeWinogradConvolution(const KernelSpec& spec, const Window& window);

}  // namespace cosched::onednn
