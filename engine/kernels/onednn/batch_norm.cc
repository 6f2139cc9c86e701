// FusedBatchNormV3 and its training gradient. In training the primitives are not cut, as statistics
// are of the whole batch, and add up all rows of a thread one after the other in single precision:
// those of long ops and of many rows are eigen/batch_norm.cc's.

#include <algorithm>

#include "engine/kernels/factories.h"
#include "engine/kernels/onednn/primitive.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {
namespace {

using Forward = dnnl::batch_normalization_forward;
using Backward = dnnl::batch_normalization_backward;
using dnnl::normalization_flags;

const auto kAffine = normalization_flags::use_scale | normalization_flags::use_shift;

dnnl::memory::desc Image(const OutputInfo& info) {
  const Shape& shape = info.shape;
  return Nhwc(shape[0], shape[1], shape[2], shape[3], info.type);
}

// Whether sums over chunks of rows, in double precision after that, are wanted. For their accuracy
// where there are many rows: with 50,000 of them the primitive's statistics are off by 2e-6, which
// a deep network's next layers magnify. And for pieces, which cost a third of the forward pass
// where a cache holds the batch: the estimate, from tensors that are read or written, is for
// memory; from the cache it takes a quarter. So what stays whole lasts two pieces at most.
bool WantsChunks(const KernelSpec& spec, int tensors) {
  constexpr int64_t kManyRows = 1024;
  const Shape& shape = spec.inputs[0].shape;
  if (shape[0] * shape[1] * shape[2] > kManyRows) return true;
  const auto bytes = static_cast<double>(SizeOf(spec.inputs[0].type));
  return Work{0, static_cast<double>(shape.Elements()) * tensors * bytes}.Seconds(spec.rates) >
         2 * PieceSeconds(spec.piece_time, spec.Threads());
}

std::unique_ptr<Kernel> MakeTraining(const KernelSpec& spec, const CapacityScope& scope,
                                     const dnnl::memory::desc& image,
                                     const dnnl::memory::desc& channels, float epsilon) {
  const Forward::primitive_desc descriptor(CpuEngine(), dnnl::prop_kind::forward_training, image,
                                           image, epsilon, kAffine, Attributes());
  return std::make_unique<PrimitiveKernel>(
      spec, scope, descriptor,
      std::vector{Input(0, DNNL_ARG_SRC, image), Input(1, DNNL_ARG_SCALE, channels),
                  Input(2, DNNL_ARG_SHIFT, channels), Result(0, DNNL_ARG_DST, image),
                  Result(1, DNNL_ARG_MEAN, channels), Result(2, DNNL_ARG_VARIANCE, channels)});
}

std::unique_ptr<Kernel> MakeInference(const KernelSpec& spec, const CapacityScope& scope,
                                      const dnnl::memory::desc& image,
                                      const dnnl::memory::desc& channels, float epsilon) {
  const Forward::primitive_desc descriptor(
      CpuEngine(), dnnl::prop_kind::forward_inference, image, image, epsilon,
      kAffine | normalization_flags::use_global_stats, Attributes());
  auto normalise = std::make_unique<PrimitiveKernel>(
      spec, scope, descriptor,
      std::vector{Input(0, DNNL_ARG_SRC, image), Input(1, DNNL_ARG_SCALE, channels),
                  Input(2, DNNL_ARG_SHIFT, channels), Input(3, DNNL_ARG_MEAN, channels),
                  Input(4, DNNL_ARG_VARIANCE, channels), Result(0, DNNL_ARG_DST, image)});
  return KernelFrom([normalise = std::move(normalise)](KernelContext& context) {
    normalise->Compute(context);
    for (size_t statistic : {1, 2}) {
      const Tensor& running = *context.inputs[statistic + 2];
      std::copy_n(running.Floats(), running.Elements(), context.outputs[statistic].Floats());
    }
  });
}

}  // namespace

std::unique_ptr<Kernel> MakeFusedBatchNorm(const KernelSpec& spec) {
  const dnnl::memory::desc image = Image(spec.inputs[0]);
  const CapacityScope scope(spec, SecondsToMove(image, image, spec.rates));
  const dnnl::memory::desc channels = Flat(spec.inputs[1].shape.Elements());
  const float epsilon = GetAttribute<float>(spec.node, "epsilon");
  if (!GetAttribute<bool>(spec.node, "is_training"))
    return MakeInference(spec, scope, image, channels, epsilon);
  return WantsChunks(spec, 3) ? eigen::MakeBatchNormChunks(spec)
                              : MakeTraining(spec, scope, image, channels, epsilon);
}

std::unique_ptr<Kernel> MakeFusedBatchNormGrad(const KernelSpec& spec) {
  if (WantsChunks(spec, 5)) return eigen::MakeBatchNormGradChunks(spec);
  const dnnl::memory::desc image = Image(spec.inputs[0]);
  const CapacityScope scope(spec, SecondsToMove(image, image, spec.rates));
  const dnnl::memory::desc channels = Flat(spec.inputs[2].shape.Elements());
  const float epsilon = GetAttribute<float>(spec.node, "epsilon");
  const Forward::primitive_desc forward(CpuEngine(), dnnl::prop_kind::forward_training, image,
                                        image, epsilon, kAffine, Attributes());
  const Backward::primitive_desc descriptor(CpuEngine(), dnnl::prop_kind::backward, image, image,
                                            image, epsilon, kAffine, forward, Attributes());
  return std::make_unique<PrimitiveKernel>(
      spec, scope, descriptor,
      std::vector{Input(0, DNNL_ARG_DIFF_DST, image), Input(1, DNNL_ARG_SRC, image),
                  Input(2, DNNL_ARG_SCALE, channels), Input(3, DNNL_ARG_MEAN, channels),
                  Input(4, DNNL_ARG_VARIANCE, channels), Result(0, DNNL_ARG_DIFF_SRC, image),
                  Result(1, DNNL_ARG_DIFF_SCALE, channels),
                  Result(2, DNNL_ARG_DIFF_SHIFT, channels)});
}

}  // namespace cosched::onednn
