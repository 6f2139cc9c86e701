#pragma once
// A reorder of images in parts, each of some images and the work of one task. What oneDNN divides
// itself for several threads, two already, it moves in runs of a few elements: a third of the speed
// where one worker does it all. Used by PrimitiveKernel.

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "engine/pool/thread_pools.h"

namespace cosched::onednn {

class ImageReorder {
 public:
  // As many parts as `tasks`, or as there are images; null where the layouts don't keep these
  // apart. The memory objects may be bound to other addresses before each Execute.
  static std::unique_ptr<ImageReorder> Make(const dnnl::memory& from, const dnnl::memory& to,
                                            int tasks);

  void Execute(ThreadPools& pools);

 private:
  struct Part {
    dnnl::reorder reorder;
    dnnl::stream stream;
    dnnl::memory from, to;
    int64_t from_offset, to_offset;  // Bytes.
  };

  dnnl::memory from_, to_;
  std::vector<Part> parts_;
};

}  // namespace cosched::onednn
