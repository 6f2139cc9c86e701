#pragma once
// From a oneDNN primitive descriptor to a Kernel: everything that all oneDNN kernels share. A
// kernel file describes its primitives and which tensor feeds which argument; PrimitiveKernel does
// the rest: the primitives, their scratch memory, and a reorder in cached memory wherever a
// primitive wants another layout than the node's plain one. A long op is cut into pieces, each with
// its own parts of the tensors.
//
// Only .cc files of this folder include it.

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/kernels/kernel.h"
#include "engine/kernels/onednn/image_reorder.h"
#include "engine/kernels/onednn/reorder_parts.h"
#include "engine/kernels/packed_constants.h"

namespace cosched::onednn {

const dnnl::engine& CpuEngine();

// While it lives, primitives created by this thread are divided for TasksOf the op (pieces.h) and
// the spec's threads. Every factory holds one from before its primitive descriptor until its kernel
// is made, so that the division never depends on active workers.
class CapacityScope {
 public:
  // `seconds`: an estimate for one thread, from shapes alone.
  CapacityScope(const KernelSpec& spec, double seconds);
  explicit CapacityScope(int tasks);
  ~CapacityScope();
  CapacityScope(const CapacityScope&) = delete;
  CapacityScope& operator=(const CapacityScope&) = delete;
  int Tasks() const { return tasks_; }

 private:
  const int tasks_;
  int before_ = 0;
};

// One argument of a primitive and the node's tensor behind it.
struct Operand {
  int argument;                // DNNL_ARG_…
  bool is_output;              // Which of the node's lists,
  size_t index;                // and where in it.
  dnnl::memory::desc plain;    // As the tensor is laid out.
  dnnl::memory::desc wanted;   // As the primitive wants it; a reorder is added if it differs.
  bool shared = false;         // The same for every piece: reordered once a step.
  dnnl::memory constant = {};  // Where it is no tensor of the step, but this memory.
};
inline Operand Input(size_t index, int argument, dnnl::memory::desc plain,
                     dnnl::memory::desc wanted) {
  return {argument, false, index, std::move(plain), std::move(wanted)};
}
inline Operand Shared(size_t index, int argument, dnnl::memory::desc plain,
                      dnnl::memory::desc wanted) {
  return {argument, false, index, std::move(plain), std::move(wanted), /*shared=*/true};
}
inline Operand Result(size_t index, int argument, dnnl::memory::desc plain,
                      dnnl::memory::desc wanted) {
  return {argument, true, index, std::move(plain), std::move(wanted)};
}
inline Operand Constant(int argument, dnnl::memory memory) {
  return {argument, false, 0, {}, {}, false, std::move(memory)};
}
inline Operand Input(size_t index, int argument, const dnnl::memory::desc& plain) {
  return Input(index, argument, plain, plain);
}
inline Operand Result(size_t index, int argument, const dnnl::memory::desc& plain) {
  return Result(index, argument, plain, plain);
}

class PrimitiveKernel : public Kernel {
 public:
  // A memory object that stands for a tensor of the node, or for a part that begins `offset`
  // elements into it.
  struct Binding {
    dnnl::memory memory;
    bool is_output;
    size_t index;
    int64_t offset = 0;
    int64_t element_bytes =
        static_cast<int64_t>(dnnl::memory::data_type_size(memory.get_desc().get_data_type()));
  };
  using Arguments = std::vector<std::pair<int, dnnl::memory>>;
  using StepId = size_t;
  // What a piece does: steps, in order, once the bindings' memory objects point to the tensors of
  // the moment. Pieces may have steps and memory objects in common.
  struct Piece {
    std::vector<Binding> bindings;
    std::vector<StepId> steps;
  };

  // REQUIRES, here and below: a CapacityScope of the same pools, and descriptors made with
  // Attributes().
  PrimitiveKernel(const KernelSpec& spec, const CapacityScope& scope);
  // One piece: the primitive over whole tensors.
  PrimitiveKernel(const KernelSpec& spec, const CapacityScope& scope,
                  const dnnl::primitive_desc_base& descriptor,
                  const std::vector<Operand>& operands);
  int Pieces() const override { return static_cast<int>(pieces_.size()); }
  void ComputePiece(KernelContext& context, int piece) override;
  bool KeepsConstant(size_t input) const override { return kept_constants_.contains(input); }
  int PackingPieces() const override { return packing_pieces_; }
  void PackPiece(ThreadPools& pools, int piece) override;

  // A piece of this primitive with reorders before and after it, not yet added: bindings are in the
  // order of the operands, with offset 0.
  Piece Prepare(const dnnl::primitive_desc_base& descriptor, const std::vector<Operand>& operands);
  // Reorders of shared operands run in the first piece that is added after they were prepared.
  void AddPiece(Piece piece);
  // A piece of these reorders alone, for long ones.
  void AddPieceOfReorders() { AddPiece({}); }

  // A constant, or the part of it that begins `offset` floats into it, as the primitive wants it:
  // packed before the first piece runs, or bound as it is where nothing has to be packed.
  dnnl::memory Constant(const KernelSpec& spec, size_t input, int64_t offset,
                        const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);

  // What other pieces are made of.
  static dnnl::memory Unbound(const dnnl::memory::desc& descriptor);
  dnnl::memory Keep(const dnnl::memory::desc& descriptor);  // Memory of the kernel's own.
  StepId AddStep(const dnnl::primitive_desc_base& descriptor, const Arguments& arguments);
  StepId AddReorder(const dnnl::memory& from, const dnnl::memory& to);

 private:
  // A primitive with its arguments bound to memory objects, ready to run; or a reorder of images in
  // parts.
  struct Step {
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> arguments;
    std::unique_ptr<ImageReorder> reorder = nullptr;
  };
  // Packed by whichever kernel comes first.
  struct PackedConstant : PackedConstants::Entry {
    PackedConstant(const Tensor& value, void* data, const dnnl::memory::desc& from,
                   const dnnl::memory::desc& wanted, const KernelSpec& spec);

    Tensor plain;  // Dropped once it is packed.
    void* const from;
    Tensor memory;
    const dnnl::memory to;
    ReorderParts reorder;
    int packed = 0;  // Parts.
  };
  struct SharedOperand {
    size_t index;
    dnnl::memory reordered;
  };
  dnnl::memory Share(const Operand& operand);
  dnnl::memory Scratch(const dnnl::memory::desc& descriptor);
  void Run(const Step& step, ThreadPools& pools) const;

  const int tasks_;
  const KernelRates rates_;
  dnnl::stream stream_;
  std::vector<Step> steps_;
  std::vector<Piece> pieces_;
  std::vector<SharedOperand> shared_;
  std::vector<std::shared_ptr<PackedConstant>> constants_;
  std::set<size_t> kept_constants_;  // Inputs.
  std::vector<Tensor> own_memory_;
  std::vector<Tensor> plain_constants_;  // Those that nothing had to be done for.
  int packing_pieces_ = 0, packed_ = 0;  // Pieces, and how many of them are done.
  Piece pending_;                        // Reorders of shared operands, for the next piece.
  std::vector<dnnl::memory> kept_;       // Memory objects that steps refer to.
  std::vector<dnnl::memory> scratch_;    // The steps' views of one buffer: they run one at a time.
  Tensor scratch_buffer_;
};

// Ends the program if it fails: it may be called in a loop, whose tasks must not throw.
void Execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
             std::span<const dnnl_exec_arg_t> arguments);

// Scratch memory is the kernel's own: oneDNN's default would share it between primitives of
// different inter-op workers.
dnnl::primitive_attr Attributes();

// A matrix product as make(weights) describes it, by oneDNN's batch-reduce kernels where these take
// it. On a CPU without AVX-512 oneDNN asks its GEMM first, which leaves weights as they are and
// computes small products, and those with weights beyond the caches, at 0.35 to 0.9 of their speed
// (Zen 3). any: the weights in any layout; packed: as they are laid out already, or zero. Asked for
// by name the kernels refuse some of their own layouts, which leaves the product to reference code.
template <typename Make>
dnnl::matmul::primitive_desc BatchReduced(const dnnl::memory::desc& any,
                                          const dnnl::memory::desc& packed, Make make) {
  dnnl::matmul::primitive_desc descriptor = make(any);
  do {
    const bool suits = packed.is_zero() || descriptor.weights_desc() == packed;
    if (suits && std::string_view(descriptor.impl_info_str()).starts_with("brg")) return descriptor;
  } while (descriptor.next_impl());
  return make(packed.is_zero() ? any : packed);
}

// An estimate for one thread, of reading the one and writing the other.
double SecondsToMove(const dnnl::memory::desc& from, const dnnl::memory::desc& to,
                     const KernelRates& rates);

// Descriptors of plain tensors.
dnnl::memory::data_type TypeOf(DataType type);
dnnl::memory::desc Flat(int64_t elements, DataType type = DataType::kFloat);
dnnl::memory::desc Nhwc(int64_t n, int64_t h, int64_t w, int64_t c, DataType type);

}  // namespace cosched::onednn
