#pragma once
// A reference kernel for a node with bfloat16 tensors: the loops over floats, on converted copies.
// Called by CreateKernel.

#include <memory>

#include "engine/kernels/batch_pieces.h"

namespace cosched {

// make(spec) with float in place of bfloat16, and conversions around it.
std::unique_ptr<Kernel> InFloats(const KernelSpec& spec, KernelMaker* make);

}  // namespace cosched
