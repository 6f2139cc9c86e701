#pragma once
// Cuts a long op whose items (images, rows, single elements) do not depend on each other: the same
// op on a part of the batch, again and again, through views of the tensors. For ops that only move
// memory; convolutions and products cut themselves, as they share packed operands between pieces.
// Called by CreateKernel.

#include <memory>

#include "engine/kernels/kernel.h"

namespace cosched {

// Which tensors of an op have a part for each item; the others are whole for every piece.
struct ItemRule {
  enum class Items {
    kNone,      // Never cut here.
    kFirst,     // By the first dimension of these inputs and outputs (a bit for each).
    kElements,  // By elements, of tensors as large as the output; others must be scalars.
  };
  Items items = Items::kNone;
  unsigned inputs = 1, outputs = 1;
  // How much longer it takes than to move its operands once at Work's speed.
  double slowness = 1;
};

using KernelMaker = std::unique_ptr<Kernel>(const KernelSpec& spec);

// make(spec), or pieces made of make(a part of spec) where that would take longer than a piece.
// Items are never cut themselves: what bounds a piece, if one item takes longer than it should.
std::unique_ptr<Kernel> InBatches(const KernelSpec& spec, const ItemRule& rule, KernelMaker* make);

}  // namespace cosched
