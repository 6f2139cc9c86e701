#include "engine/kernels/kernel.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/kernels/factories.h"

namespace cosched {
namespace {

struct Entry {
  std::string_view op;
  KernelFactory* fast;
  KernelFactory* reference;
  bool cheap = false;
};

constexpr Entry kTable[] = {
    {"Conv2D", onednn::MakeConv2D, reference::MakeConv2D},
    {"Conv2DBackpropInput", onednn::MakeConv2DBackpropInput, reference::MakeConv2DBackpropInput},
    {"Conv2DBackpropFilter", onednn::MakeConv2DBackpropFilter, reference::MakeConv2DBackpropFilter},
    {"BiasAdd", eigen::MakeBiasAdd, reference::MakeBiasAdd},
    {"BiasAddGrad", eigen::MakeBiasAddGrad, reference::MakeBiasAddGrad},
    {"FusedBatchNormV3", onednn::MakeFusedBatchNorm, reference::MakeFusedBatchNorm},
    {"FusedBatchNormGradV3", onednn::MakeFusedBatchNormGrad, reference::MakeFusedBatchNormGrad},
    {"AssignMovingAverage", eigen::MakeAssignMovingAverage, reference::MakeAssignMovingAverage,
     /*cheap=*/true},
    {"Relu", onednn::MakeRelu, reference::MakeRelu},
    {"ReluGrad", onednn::MakeReluGrad, reference::MakeReluGrad},
    {"MaxPool", onednn::MakeMaxPool, reference::MakeMaxPool},
    {"MaxPoolGrad", eigen::MakeMaxPoolGrad, reference::MakeMaxPoolGrad},
    {"AvgPool", onednn::MakeAvgPool, reference::MakeAvgPool},
    {"AvgPoolGrad", onednn::MakeAvgPoolGrad, reference::MakeAvgPoolGrad},
    {"Mean", eigen::MakeMean, reference::MakeMean, /*cheap=*/true},
    {"MeanGrad", eigen::MakeMeanGrad, reference::MakeMeanGrad},
    {"MatMul", onednn::MakeMatMul, reference::MakeMatMul},
    {"AddV2", eigen::MakeAddN, reference::MakeAddN},
    {"AddN", eigen::MakeAddN, reference::MakeAddN},
    {"Mul", eigen::MakeMul, reference::MakeMul},
    {"Softmax", eigen::MakeSoftmax, reference::MakeSoftmax, /*cheap=*/true},
    {"SparseSoftmaxCrossEntropyWithLogits", eigen::MakeSparseSoftmaxCrossEntropy,
     reference::MakeSparseSoftmaxCrossEntropy, /*cheap=*/true},
    {"ApplyMomentum", eigen::MakeApplyMomentum, reference::MakeApplyMomentum},
};

const Entry* Find(std::string_view op) {
  const Entry* found = std::find_if(std::begin(kTable), std::end(kTable),
                                    [op](const Entry& entry) { return entry.op == op; });
  return found == std::end(kTable) ? nullptr : found;
}

}  // namespace

std::unique_ptr<Kernel> CreateKernel(const KernelSpec& spec, KernelBackend backend) {
  const Entry* entry = Find(spec.node.op);
  CHECK(entry != nullptr) << "node " << spec.node.name << ": no kernel for op " << spec.node.op;
  return backend == KernelBackend::kFast ? entry->fast(spec) : entry->reference(spec);
}

bool HasKernel(std::string_view op) { return Find(op) != nullptr; }

bool IsCheap(std::string_view op) {
  const Entry* entry = Find(op);
  return entry != nullptr && entry->cheap;
}

}  // namespace cosched
