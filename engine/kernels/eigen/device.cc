// AssignMovingAverage: one Eigen expression on its ThreadPoolDevice. The one file that includes
// Eigen's Tensor module, which is slow to compile.

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

std::unique_ptr<Kernel> MakeAssignMovingAverage(const KernelSpec& spec) {
  const int64_t n = spec.inputs[0].shape.Elements();
  const float decay = GetAttribute<float>(spec.node, "decay");
  return KernelFrom([n, decay](KernelContext& context) {
    Out(context, 0, n).device(context.pools.eigen()) =
        In(context, 0, n) * decay + In(context, 1, n) * (1.0f - decay);
  });
}

}  // namespace cosched::eigen
