#include "engine/kernels/kernel.h"

#include <algorithm>
#include <exception>
#include <string>

#include "engine/base/check.h"
#include "engine/graph/shape_inference.h"
#include "engine/kernels/batch_pieces.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/in_floats.h"
#include "engine/pool/thread_pools.h"

namespace cosched {
namespace {

// Cut by the kernel itself, too short, or BiasAddGrad: a sum over the batch, which one thread does
// at the speed of memory (5 ms for 80 MB) and several in up to 64 tasks.
constexpr ItemRule kNever{};
constexpr ItemRule kElements{.items = ItemRule::Items::kElements};

constexpr ItemRule Items(unsigned inputs, unsigned outputs = 1, double slowness = 1) {
  return {ItemRule::Items::kFirst, inputs, outputs, slowness};
}

constexpr double kExponential = 2;  // An element's share, in moves of it.

struct Entry {
  std::string_view op;
  KernelFactory* fast;
  KernelFactory* reference;
  ItemRule rule;
  bool cheap = false;
};

constexpr Entry kTable[] = {
    {"Conv2D", onednn::MakeConv2D, reference::MakeConv2D, kNever},
    {"Conv2DBackpropInput", onednn::MakeConv2DBackpropInput, reference::MakeConv2DBackpropInput,
     kNever},
    {"Conv2DBackpropFilter", onednn::MakeConv2DBackpropFilter, reference::MakeConv2DBackpropFilter,
     kNever},
    {"BiasAdd", eigen::MakeBiasAdd, reference::MakeBiasAdd, Items(0b1)},
    {"BiasAddGrad", eigen::MakeBiasAddGrad, reference::MakeBiasAddGrad, kNever},
    {"FusedBatchNormV3", onednn::MakeFusedBatchNorm, reference::MakeFusedBatchNorm, Items(0b1)},
    {"FusedBatchNormGradV3", onednn::MakeFusedBatchNormGrad, reference::MakeFusedBatchNormGrad,
     kNever},
    {"AssignMovingAverage", eigen::MakeAssignMovingAverage, reference::MakeAssignMovingAverage,
     kNever,
     /*cheap=*/true},
    {"Cast", onednn::MakeCast, reference::MakeCast, kElements},
    {"Relu", onednn::MakeRelu, reference::MakeRelu, kElements},
    {"ReluGrad", onednn::MakeReluGrad, reference::MakeReluGrad, kElements},
    {"Relu6", onednn::MakeRelu6, reference::MakeRelu6, kElements},
    {"Relu6Grad", onednn::MakeRelu6Grad, reference::MakeRelu6Grad, kElements},
    {"Sigmoid", onednn::MakeSigmoid, reference::MakeSigmoid, kElements},
    {"SigmoidGrad", onednn::MakeSigmoidGrad, reference::MakeSigmoidGrad, kElements},
    {"HardSwish", onednn::MakeHardSwish, reference::MakeHardSwish, kElements},
    {"HardSwishGrad", onednn::MakeHardSwishGrad, reference::MakeHardSwishGrad, kElements},
    {"Sqrt", eigen::MakeSqrt, reference::MakeSqrt, kElements},
    {"Erf", eigen::MakeErf, reference::MakeErf, kElements},
    {"ErfGrad", eigen::MakeErfGrad, reference::MakeErfGrad, kElements},
    {"Gelu", onednn::MakeGelu, reference::MakeGelu, kElements},
    {"ClipByValue", onednn::MakeClipByValue, reference::MakeClipByValue, kElements},
    {"ClipByValueGrad", onednn::MakeClipByValueGrad, reference::MakeClipByValueGrad, kElements},
    {"ConcatV2", eigen::MakeConcat, reference::MakeConcat, kNever},
    {"Slice", eigen::MakeSlice, reference::MakeSlice, kNever},
    {"Pad", eigen::MakePad, reference::MakePad, kNever},
    {"Transpose", onednn::MakeTranspose, reference::MakeTranspose, Items(0b1)},
    {"LRN", eigen::MakeLocalResponse, reference::MakeLocalResponse, kNever},
    {"LRNGrad", eigen::MakeLocalResponseGrad, reference::MakeLocalResponseGrad, kNever},
    {"MaxPool", onednn::MakeMaxPool, reference::MakeMaxPool, Items(0b1)},
    {"MaxPoolGrad", eigen::MakeMaxPoolGrad, reference::MakeMaxPoolGrad, Items(0b111)},
    {"AvgPool", onednn::MakeAvgPool, reference::MakeAvgPool, Items(0b1)},
    {"AvgPoolGrad", onednn::MakeAvgPoolGrad, reference::MakeAvgPoolGrad, Items(0b1)},
    {"Mean", eigen::MakeMean, reference::MakeMean, Items(0b1), /*cheap=*/true},
    {"MeanGrad", eigen::MakeMeanGrad, reference::MakeMeanGrad, kNever},
    {"MatMul", onednn::MakeMatMul, reference::MakeMatMul, kNever},
    {"AddV2", eigen::MakeAddV2, reference::MakeAddV2, kNever},
    {"Sub", eigen::MakeSub, reference::MakeSub, kNever},
    {"RealDiv", eigen::MakeRealDiv, reference::MakeRealDiv, kNever},
    {"AddN", eigen::MakeAddN, reference::MakeAddN, kElements},
    {"Mul", eigen::MakeMul, reference::MakeMul, kNever},
    {"Softmax", eigen::MakeSoftmax, reference::MakeSoftmax, Items(0b1, 0b1, kExponential),
     /*cheap=*/true},
    {"SparseSoftmaxCrossEntropyWithLogits", eigen::MakeSparseSoftmaxCrossEntropy,
     reference::MakeSparseSoftmaxCrossEntropy, Items(0b11, 0b11, kExponential), /*cheap=*/true},
    {"ApplyMomentum", eigen::MakeApplyMomentum, reference::MakeApplyMomentum, kElements},
    {"_FusedConv2D", onednn::MakeFusedConv2D, reference::MakeFusedConv2D, kNever},
    {"_FusedMatMul", onednn::MakeFusedMatMul, reference::MakeFusedMatMul, kNever},
    {"_FusedScale", eigen::MakeFusedScale, reference::MakeFusedScale, Items(0b1)},
    {"_FusedLayerNorm", eigen::MakeFusedLayerNorm, reference::MakeFusedLayerNorm, Items(0b1)},
};

const Entry* Find(std::string_view op) {
  const Entry* found = std::find_if(std::begin(kTable), std::end(kTable),
                                    [op](const Entry& entry) { return entry.op == op; });
  return found == std::end(kTable) ? nullptr : found;
}

// Statistics and means of the whole batch, and transpositions that take its images apart.
bool IsOverTheBatch(const Node& node) {
  using Axes = std::vector<int64_t>;
  const Axes axes = GetAttributeOr<Axes>(node, "axes", {});
  const Axes perm = GetAttributeOr<Axes>(node, "perm", {});
  return GetAttributeOr<bool>(node, "is_training", false) ||
         std::find(axes.begin(), axes.end(), 0) != axes.end() || (!perm.empty() && perm[0] != 0);
}

}  // namespace

int KernelSpec::Threads() const { return threads > 0 ? threads : pools.Capacity().intra; }

std::unique_ptr<Kernel> CreateKernel(const KernelSpec& spec, KernelBackend backend) {
  const Entry* entry = Find(spec.node.op);
  CHECK(entry != nullptr) << "node " << spec.node.name << ": no kernel for op " << spec.node.op;
  if (backend == KernelBackend::kReference) return InFloats(spec, entry->reference);
  try {
    return IsOverTheBatch(spec.node) ? entry->fast(spec)
                                     : InBatches(spec, entry->rule, entry->fast);
  } catch (const std::exception& error) {  // A library's, for sizes that it does not take.
    FailNode(spec.node, std::string("this machine has no kernel for its sizes: ") + error.what());
  }
}

bool HasKernel(std::string_view op) { return Find(op) != nullptr; }

bool IsCheap(std::string_view op) {
  const Entry* entry = Find(op);
  return entry != nullptr && entry->cheap;
}

}  // namespace cosched
