// Ops that are one Eigen expression each and run on its ThreadPoolDevice: Mul, Mean, MeanGrad,
// AssignMovingAverage. The one file that includes Eigen's Tensor module, which is slow to compile.

#define EIGEN_USE_THREADS
#include <unsupported/Eigen/CXX11/Tensor>

#include "engine/kernels/factories.h"
#include "engine/kernels/parameters.h"
#include "engine/pool/thread_pools.h"

namespace cosched::eigen {
namespace {

template <int kRank>
using ConstView =
    Eigen::TensorMap<const Eigen::Tensor<float, kRank, Eigen::RowMajor, Eigen::Index>>;
template <int kRank>
using View = Eigen::TensorMap<Eigen::Tensor<float, kRank, Eigen::RowMajor, Eigen::Index>>;

template <typename... Sizes>
ConstView<sizeof...(Sizes)> In(const KernelContext& context, size_t index, Sizes... sizes) {
  return {context.inputs[index]->Floats(), sizes...};
}
template <typename... Sizes>
View<sizeof...(Sizes)> Out(KernelContext& context, size_t index, Sizes... sizes) {
  return {context.outputs[index].Floats(), sizes...};
}

}  // namespace

std::unique_ptr<Kernel> MakeMul(const KernelSpec& spec) {
  const int64_t n = spec.inputs[0].shape.Elements();
  if (spec.inputs[1].shape == spec.inputs[0].shape) {
    return KernelFrom([n](KernelContext& context) {
      Out(context, 0, n).device(context.pools.eigen()) = In(context, 0, n) * In(context, 1, n);
    });
  }
  if (spec.inputs[1].shape.Rank() > 0) return reference::MakeMul(spec);
  return KernelFrom([n](KernelContext& context) {
    const float factor = *context.inputs[1]->Floats();
    Out(context, 0, n).device(context.pools.eigen()) = In(context, 0, n) * factor;
  });
}

std::unique_ptr<Kernel> MakeAssignMovingAverage(const KernelSpec& spec) {
  const int64_t n = spec.inputs[0].shape.Elements();
  const float decay = GetAttribute<float>(spec.node, "decay");
  return KernelFrom([n, decay](KernelContext& context) {
    Out(context, 0, n).device(context.pools.eigen()) =
        In(context, 0, n) * decay + In(context, 1, n) * (1.0f - decay);
  });
}

std::unique_ptr<Kernel> MakeMeanGrad(const KernelSpec& spec) {
  const auto middle = AsMiddle(ReadMean(spec.node, spec.node.outputs[0].shape));
  if (!middle) return reference::MakeMeanGrad(spec);
  return KernelFrom([p = *middle](KernelContext& context) {
    const Eigen::array<Eigen::Index, 3> repeats{1, p.middle, 1};
    Out(context, 0, p.outer, p.middle, p.inner).device(context.pools.eigen()) =
        (In(context, 0, p.outer, Eigen::Index{1}, p.inner) * (1.0f / static_cast<float>(p.middle)))
            .broadcast(repeats);
  });
}

}  // namespace cosched::eigen
