// The naive loops as kernels: KernelBackend::kReference. They ignore the pools and run in the
// caller. Those of arrays.h and elementwise.h without variables are in array_kernels.cc.

#include "engine/base/check.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/reference/batch_norm.h"
#include "engine/kernels/reference/convolution.h"
#include "engine/kernels/reference/dense.h"
#include "engine/kernels/reference/elementwise.h"
#include "engine/kernels/reference/local_response.h"
#include "engine/kernels/reference/loss.h"
#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/pooling.h"

namespace cosched::reference {
namespace {

// In place through a shared copy: the variable's own buffer (kernel.h: ops that write variables).
float* InPlace(const KernelContext& context, size_t index) {
  Tensor shared = *context.inputs[index];
  return shared.Floats();
}

}  // namespace

std::unique_ptr<Kernel> MakeConv2D(const KernelSpec& spec) {
  const Window w = ConvolutionWindow(spec.node, spec.inputs[0].shape, spec.inputs[1].shape);
  return KernelFrom([w](KernelContext& c) { Conv2D(w, In(c, 0), In(c, 1), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeConv2DBackpropInput(const KernelSpec& spec) {
  const Window w = ConvolutionWindow(spec.node, Produced(spec), spec.inputs[0].shape);
  return KernelFrom(
      [w](KernelContext& c) { Conv2DBackpropInput(w, In(c, 0), In(c, 1), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeConv2DBackpropFilter(const KernelSpec& spec) {
  const Window w = ConvolutionWindow(spec.node, spec.inputs[0].shape, Produced(spec));
  return KernelFrom(
      [w](KernelContext& c) { Conv2DBackpropFilter(w, In(c, 0), In(c, 1), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeFusedBatchNorm(const KernelSpec& spec) {
  const Matrix p = AsMatrix(spec.inputs[0].shape);
  const float epsilon = GetAttribute<float>(spec.node, "epsilon");
  const bool training = GetAttribute<bool>(spec.node, "is_training");
  return KernelFrom([=](KernelContext& c) {
    if (training) {
      BatchStatistics(p, In(c, 0), Out(c, 1), Out(c, 2));
    } else {
      std::copy_n(In(c, 3), p.channels, Out(c, 1));
      std::copy_n(In(c, 4), p.channels, Out(c, 2));
    }
    BatchNormInference<float>(p, epsilon, In(c, 0), In(c, 1), In(c, 2), Out(c, 1), Out(c, 2),
                              Out(c, 0));
  });
}

std::unique_ptr<Kernel> MakeFusedBatchNormGrad(const KernelSpec& spec) {
  const Matrix p = AsMatrix(spec.inputs[0].shape);
  const float epsilon = GetAttribute<float>(spec.node, "epsilon");
  return KernelFrom([=](KernelContext& c) {
    BatchNormGrad(p, epsilon, In(c, 0), In(c, 1), In(c, 2), In(c, 3), In(c, 4), Out(c, 0),
                  Out(c, 1), Out(c, 2));
  });
}

std::unique_ptr<Kernel> MakeMaxPool(const KernelSpec& spec) {
  const Window w = PoolingWindow(spec.node, spec.inputs[0].shape);
  return KernelFrom([w](KernelContext& c) { MaxPool(w, In(c, 0), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeMaxPoolGrad(const KernelSpec& spec) {
  const Window w = PoolingWindow(spec.node, spec.inputs[0].shape);
  return KernelFrom([w](KernelContext& c) { MaxPoolGrad(w, In(c, 0), In(c, 2), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeAvgPool(const KernelSpec& spec) {
  const Window w = PoolingWindow(spec.node, spec.inputs[0].shape);
  return KernelFrom([w](KernelContext& c) { AvgPool(w, In(c, 0), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeAvgPoolGrad(const KernelSpec& spec) {
  const Window w = PoolingWindow(spec.node, Produced(spec));
  return KernelFrom([w](KernelContext& c) { AvgPoolGrad(w, In(c, 0), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeMatMul(const KernelSpec& spec) {
  const MatMulParameters p = ReadMatMul(spec.node, spec.inputs[0].shape, spec.inputs[1].shape);
  return KernelFrom([p](KernelContext& c) { MatMul(p, In(c, 0), In(c, 1), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeAddN(const KernelSpec& spec) {
  return KernelFrom(
      [elements = Produced(spec).Elements(),
       terms = std::vector<const float*>(spec.inputs.size())](KernelContext& c) mutable {
        for (size_t i = 0; i < terms.size(); ++i) terms[i] = In(c, i);
        AddN<float>(elements, terms, Out(c, 0));
      });
}

std::unique_ptr<Kernel> MakeBiasAdd(const KernelSpec& spec) {
  const Matrix p = AsMatrix(spec.inputs[0].shape);
  return KernelFrom([p](KernelContext& c) { BiasAdd(p, In(c, 0), In(c, 1), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeBiasAddGrad(const KernelSpec& spec) {
  const Matrix p = AsMatrix(spec.inputs[0].shape);
  return KernelFrom([p](KernelContext& c) { BiasAddGrad(p, In(c, 0), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeSoftmax(const KernelSpec& spec) {
  const Matrix p = AsMatrix(spec.inputs[0].shape);
  return KernelFrom([p](KernelContext& c) { Softmax(p, In(c, 0), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeSparseSoftmaxCrossEntropy(const KernelSpec& spec) {
  const Matrix p = AsMatrix(spec.inputs[0].shape);
  return KernelFrom([p](KernelContext& c) {
    SparseSoftmaxCrossEntropy(p, In(c, 0), c.inputs[1]->Ints(), Out(c, 0), Out(c, 1));
  });
}

std::unique_ptr<Kernel> MakeLocalResponse(const KernelSpec& spec) {
  const LocalResponseParameters p = ReadLocalResponse(spec.node, spec.inputs[0].shape);
  return KernelFrom([p](KernelContext& c) { LocalResponse(p, In(c, 0), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeLocalResponseGrad(const KernelSpec& spec) {
  const LocalResponseParameters p = ReadLocalResponse(spec.node, spec.inputs[0].shape);
  return KernelFrom([p](KernelContext& c) { LocalResponseGrad(p, In(c, 0), In(c, 1), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeApplyMomentum(const KernelSpec& spec) {
  const MomentumParameters p = ReadMomentum(spec.node);
  const int64_t elements = Produced(spec).Elements();
  return KernelFrom([=](KernelContext& c) {
    ApplyMomentum(elements, p, In(c, 2), InPlace(c, 1), InPlace(c, 0));
  });
}

std::unique_ptr<Kernel> MakeAssignMovingAverage(const KernelSpec& spec) {
  const float decay = GetAttribute<float>(spec.node, "decay");
  const int64_t elements = Produced(spec).Elements();
  return KernelFrom(
      [=](KernelContext& c) { AssignMovingAverage(elements, decay, In(c, 1), InPlace(c, 0)); });
}

}  // namespace cosched::reference
