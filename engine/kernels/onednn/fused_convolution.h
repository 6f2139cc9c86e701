#pragma once
// _FusedConv2D as a sum over the window, and of narrow images two pixels at a time. Only the
// factories of _FusedConv2D in this folder include it.

#include <memory>

#include "engine/kernels/kernel.h"
#include "engine/kernels/window.h"

namespace cosched::onednn {

// What vectors of channels are multiples of in oneDNN's blocked layouts.
inline int64_t ChannelBlock() { return CpuLanes() == 16 ? 16 : 8; }

// w: the node's window.
std::unique_ptr<Kernel> MakeDirectFusedConv2D(const KernelSpec& spec, const Window& w);
// Null where that wins nothing.
std::unique_ptr<Kernel> MakeTwoPixelFusedConv2D(const KernelSpec& spec, const Window& w);

}  // namespace cosched::onednn
