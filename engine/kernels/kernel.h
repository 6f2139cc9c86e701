#pragma once
// What a node does when it runs. The session creates one Kernel per node when it prepares a run;
// its pieces are then computed once per step, in order, one at a time, from inter-op workers (each
// piece perhaps from another one, much later). Kernels own their cached primitives, packed weights
// and scratch memory, allocated at creation or in the first step, never later.
//
// How work is divided, into pieces and within a piece into tasks, depends on shapes and the spec
// only: results are bit-identical at any number of workers.

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/node.h"
#include "engine/kernels/pieces.h"

namespace cosched {

class PackedConstants;
class ThreadPools;

struct KernelContext {
  std::span<const Tensor* const> inputs;  // Shapes as in the node's inputs.
  std::span<Tensor> outputs;  // Allocated, shapes as in node.outputs; must be fully written.
  ThreadPools& pools;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // A long op is a sequence of pieces: between two of them its worker may leave, and the op be
  // paused or handed to another worker. Constant.
  virtual int Pieces() const { return 1; }
  virtual void ComputePiece(KernelContext& context, int piece) = 0;
  // Whether it does not read that input in a step, since it has kept what the graph fixes of it.
  virtual bool KeepsConstant(size_t input) const {
    static_cast<void>(input);
    return false;
  }
  // The kernel takes what it keeps of the constants in pieces of their own, in order, with the
  // pool's workers: before its first piece, which does what nobody has done. A piece that is done
  // already is nothing.
  virtual int PackingPieces() const { return 0; }
  virtual void PackPiece(ThreadPools& pools, int piece) {
    static_cast<void>(pools);
    static_cast<void>(piece);
  }
  // All pieces, here and now.
  void Compute(KernelContext& context) {
    for (int piece = 0; piece < Pieces(); ++piece) ComputePiece(context, piece);
  }
};

// What a kernel is created from. Input shapes are those of the producing nodes.
struct KernelSpec {
  const Node& node;
  std::vector<OutputInfo> inputs;
  ThreadPools& pools;
  std::chrono::microseconds piece_time = kPieceTime;  // 0: never cut.
  KernelRates rates = {};
  // By input: its value where the graph fixes it, else null. May be shorter: null.
  std::vector<const Tensor*> constants = {};
  PackedConstants* packed = nullptr;  // Null: the kernel packs for itself.
  int threads = 0;  // That the work is divided for, of 1 to the pools' capacity; 0: that.

  int Threads() const;

  const Tensor* Constant(size_t input) const {
    return input < constants.size() ? constants[input] : nullptr;
  }
};

// Which implementation: the fast one (oneDNN or Eigen), or the naive loops that every test takes as
// its oracle.
enum class KernelBackend { kFast, kReference };

// Creates the kernel for spec.node.op. CHECK-fails for an unknown op (Graph::Build() has refused it
// before). Ops that the session executes itself have no kernel: Placeholder, Const, VariableV2,
// Reshape, NoOp (nor has it one for a Slice that is a view, engine/session/views.h).
std::unique_ptr<Kernel> CreateKernel(const KernelSpec& spec,
                                     KernelBackend backend = KernelBackend::kFast);
bool HasKernel(std::string_view op);

// Whether this CPU has instructions for bfloat16: without them, its kernels are slow or missing.
bool CpuHasBFloat16();
// Floats of its longest vectors.
int CpuLanes();
bool CpuHasAvx2();
// "AVX2, oneDNN 3.1.0, Eigen for x86-64-v3": what kernels are generated and were compiled for, and by
// what. The environment's ONEDNN_MAX_CPU_ISA (of oneDNN's manual: SSE41, AVX2, AVX512_CORE…) may make
// all of these less than what the CPU has.
std::string KernelTarget();

// True for ops whose cost is a few microseconds at most: the executor runs them inline instead of
// queueing them.
bool IsCheap(std::string_view op);

}  // namespace cosched
