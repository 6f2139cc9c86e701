#pragma once
// Convolutions by Winograd's minimal filtering (engine/kernels/winograd.h) with oneDNN's products.
// Only the convolutions' factories include it.

#include <memory>

#include "engine/kernels/kernel.h"
#include "engine/kernels/window.h"

namespace cosched::onednn {

// _FusedConv2D, Conv2D and its gradients; null where the sum over the window is as fast, and
// for other than floats. `window`: of the node.
std::unique_ptr<Kernel> MakeWinogradFusedConv2D(const KernelSpec& spec, const Window& window);
std::unique_ptr<Kernel> MakeWinogradConv2D(const KernelSpec& spec, const Window& window);
std::unique_ptr<Kernel> MakeWinogradConv2DBackpropInput(const KernelSpec& spec,
                                                        const Window& window);
std::unique_ptr<Kernel> MakeWinogradConv2DBackpropFilter(const KernelSpec& spec,
                                                         const Window& window);

}  // namespace cosched::onednn
