#pragma once
// Every op's factory, by backend; for kernel.cc's table. Each function is defined
// in the file of its family in the folder of its namespace.

#include <memory>
#include <utility>

#include "engine/kernels/kernel.h"

namespace cosched {

using KernelFactory = std::unique_ptr<Kernel>(const KernelSpec& spec);

namespace onednn {
KernelFactory MakeConv2D, MakeConv2DBackpropInput, MakeConv2DBackpropFilter;
KernelFactory MakeFusedBatchNorm, MakeFusedBatchNormGrad;
KernelFactory MakeRelu, MakeReluGrad, MakeRelu6, MakeRelu6Grad;
KernelFactory MakeClipByValue, MakeClipByValueGrad;
KernelFactory MakeSigmoid, MakeSigmoidGrad, MakeHardSwish, MakeHardSwishGrad, MakeGelu;
KernelFactory MakeMaxPool, MakeAvgPool, MakeAvgPoolGrad;
KernelFactory MakeMatMul;
KernelFactory MakeFusedConv2D, MakeFusedMatMul;
KernelFactory MakeTranspose, MakeCast;
KernelFactory MakeMean;  // Over axes that take turns with others; by Eigen's factory.
}  // namespace onednn

namespace eigen {
KernelFactory MakeAddN, MakeAddV2, MakeSub, MakeMul, MakeRealDiv;
KernelFactory MakeBiasAdd, MakeBiasAddGrad;
KernelFactory MakeBatchNormChunks, MakeBatchNormGradChunks;  // Training; by oneDNN's factories.
KernelFactory MakeMaxPoolGrad;
KernelFactory MakeLocalResponse, MakeLocalResponseGrad;
KernelFactory MakeConcat, MakeSlice, MakePad;
KernelFactory MakeMean, MakeMeanGrad;
KernelFactory MakeSoftmax, MakeSparseSoftmaxCrossEntropy;
KernelFactory MakeApplyMomentum, MakeAssignMovingAverage;
KernelFactory MakeSqrt, MakeErf, MakeErfGrad;
KernelFactory MakeFusedScale, MakeFusedLayerNorm;
KernelFactory MakeFusedVectorProduct;  // A product of one row; made by oneDNN's factory.
}  // namespace eigen

namespace reference {
KernelFactory MakeConv2D, MakeConv2DBackpropInput, MakeConv2DBackpropFilter;
KernelFactory MakeFusedBatchNorm, MakeFusedBatchNormGrad;
KernelFactory MakeRelu, MakeReluGrad, MakeRelu6, MakeRelu6Grad;
KernelFactory MakeClipByValue, MakeClipByValueGrad;
KernelFactory MakeSigmoid, MakeSigmoidGrad, MakeHardSwish, MakeHardSwishGrad;
KernelFactory MakeSqrt, MakeErf, MakeErfGrad, MakeGelu;
KernelFactory MakeMaxPool, MakeMaxPoolGrad, MakeAvgPool, MakeAvgPoolGrad;
KernelFactory MakeLocalResponse, MakeLocalResponseGrad;
KernelFactory MakeMean, MakeMeanGrad;
KernelFactory MakeConcat, MakeSlice, MakePad, MakeTranspose;
KernelFactory MakeCast;  // A copy: InFloats converts what reference kernels get and give.
KernelFactory MakeMatMul;
KernelFactory MakeAddN, MakeAddV2, MakeSub, MakeMul, MakeRealDiv;
KernelFactory MakeBiasAdd, MakeBiasAddGrad;
KernelFactory MakeSoftmax, MakeSparseSoftmaxCrossEntropy;
KernelFactory MakeApplyMomentum, MakeAssignMovingAverage;
KernelFactory MakeFusedConv2D, MakeFusedMatMul, MakeFusedScale, MakeFusedLayerNorm;
}  // namespace reference

// A kernel from a callable void(KernelContext&); its captures are the kernel's parameters and
// scratch.
template <typename Callable>
std::unique_ptr<Kernel> KernelFrom(Callable compute) {
  class CallableKernel : public Kernel {
   public:
    explicit CallableKernel(Callable compute) : compute_(std::move(compute)) {}
    void ComputePiece(KernelContext& context, int) override { compute_(context); }

   private:
    Callable compute_;
  };
  return std::make_unique<CallableKernel>(std::move(compute));
}

}  // namespace cosched
