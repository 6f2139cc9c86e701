#pragma once
// A reorder of a constant, cut along its longest side into parts of about the piece time of one
// thread, so that packing a large one can be left in the middle. Every element is copied as the
// whole reorder would. Used by the kernels that keep constants; only .cc files of this folder
// include it.

#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "engine/kernels/kernel.h"

namespace cosched::onednn {

class ReorderParts {
 public:
  // Reorders all of `from`, whose memory need not be there yet, into `to`, which is. One part where
  // the layouts can't be cut. REQUIRES: a CapacityScope.
  ReorderParts(const dnnl::memory::desc& from, const dnnl::memory& to, const KernelSpec& spec);

  int Count() const { return static_cast<int>(parts_.size()); }
  // from: all of it. On the stream's workers.
  void Execute(int part, void* from, dnnl::stream* stream);

 private:
  struct Part {
    dnnl::memory::desc from, to;
    int64_t from_offset, to_offset;  // Elements.
  };
  struct Primitive {
    dnnl::memory::desc from, to;
    dnnl::reorder reorder;
  };

  void CutAsItIs(const dnnl::memory::desc& from, int64_t parts);
  bool Cut(const dnnl::memory::desc& from, size_t side, int64_t unit, int64_t parts);
  dnnl::reorder PrimitiveOf(const Part& part);

  const dnnl::memory to_;
  std::vector<Part> parts_;
  std::vector<Primitive> primitives_;  // Parts of the same size have one.
};

}  // namespace cosched::onednn
