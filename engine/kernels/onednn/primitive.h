#pragma once
// From a oneDNN primitive descriptor to a Kernel: everything that all oneDNN kernels share. A
// kernel file describes its primitive and which tensor feeds which argument; PrimitiveKernel does
// the rest: the primitive, its scratch memory, and a reorder in cached memory wherever the
// primitive wants another layout than the node's plain one.
//
// Only .cc files of this folder include it.

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "engine/kernels/kernel.h"

namespace cosched::onednn {

const dnnl::engine& CpuEngine();

// While it lives, primitives created by this thread are divided for pools.Capacity().intra tasks.
// Every factory holds one from before its primitive descriptor until its kernel is made, so that
// the division never depends on active workers.
class CapacityScope {
 public:
  explicit CapacityScope(const ThreadPools& pools);
  ~CapacityScope();
  CapacityScope(const CapacityScope&) = delete;
  CapacityScope& operator=(const CapacityScope&) = delete;

 private:
  int before_ = 0;
};

// One argument of a primitive and the node's tensor behind it.
struct Operand {
  int argument;               // DNNL_ARG_…
  bool is_output;             // Which of the node's lists,
  size_t index;               // and where in it.
  dnnl::memory::desc plain;   // As the tensor is laid out.
  dnnl::memory::desc wanted;  // As the primitive wants it; a reorder is added if it differs.
};
inline Operand Input(size_t index, int argument, dnnl::memory::desc plain,
                     dnnl::memory::desc wanted) {
  return {argument, false, index, std::move(plain), std::move(wanted)};
}
inline Operand Result(size_t index, int argument, dnnl::memory::desc plain,
                      dnnl::memory::desc wanted) {
  return {argument, true, index, std::move(plain), std::move(wanted)};
}
inline Operand Input(size_t index, int argument, const dnnl::memory::desc& plain) {
  return Input(index, argument, plain, plain);
}
inline Operand Result(size_t index, int argument, const dnnl::memory::desc& plain) {
  return Result(index, argument, plain, plain);
}

class PrimitiveKernel : public Kernel {
 public:
  // REQUIRES: a CapacityScope of the same pools, and a descriptor made with Attributes().
  PrimitiveKernel(ThreadPools& pools, const dnnl::primitive_desc_base& descriptor,
                  const std::vector<Operand>& operands);
  void ComputePiece(KernelContext& context, int piece) override;

 private:
  // A primitive with its arguments bound to memory objects, ready to run.
  struct Step {
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  struct Binding {
    dnnl::memory tensor;
    bool is_output;
    size_t index;
  };
  dnnl::memory Keep(dnnl::memory memory);
  void AddReorder(std::vector<Step>* steps, const dnnl::memory& from, const dnnl::memory& to);
  void Run(const Step& step) const;

  dnnl::stream stream_;
  std::vector<Step> steps_;         // Reorders of inputs, the primitive, reorders of outputs.
  std::vector<Binding> bindings_;   // Memory objects that stand for the node's tensors.
  std::vector<dnnl::memory> kept_;  // Owned memory: scratch, reordered operands.
};

// Scratch memory is the kernel's own: oneDNN's default would share it between primitives of
// different inter-op workers.
dnnl::primitive_attr Attributes();

// Descriptors of plain tensors.
dnnl::memory::desc Flat(int64_t elements);
dnnl::memory::desc Nhwc(int64_t n, int64_t h, int64_t w, int64_t c);

}  // namespace cosched::onednn
