// Transpose, and Mean over axes that take turns with others: oneDNN's reorder and reduction over
// tensors of any rank.

#include "engine/kernels/factories.h"
#include "engine/kernels/onednn/primitive.h"
#include "engine/kernels/parameters.h"

namespace cosched::onednn {
namespace {

using dnnl::memory;

memory::dims DenseStrides(const memory::dims& sizes) {
  memory::dims strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

// oneDNN has no tensors of rank 0.
memory::desc Dense(const Shape& shape, DataType type = DataType::kFloat) {
  if (shape.Rank() == 0) return Flat(1, type);
  return {shape.Sizes(), TypeOf(type), DenseStrides(shape.Sizes())};
}

}  // namespace

std::unique_ptr<Kernel> MakeTranspose(const KernelSpec& spec) {
  const memory::desc output = Dense(spec.node.outputs[0].shape, spec.inputs[0].type);
  const CapacityScope scope(spec, SecondsToMove(output, output, spec.rates));
  const memory::dims from = DenseStrides(spec.inputs[0].shape.Sizes());
  memory::dims strides;
  for (int64_t dimension : GetAttribute<std::vector<int64_t>>(spec.node, "perm"))
    strides.push_back(from[static_cast<size_t>(dimension)]);
  const memory::desc input =
      strides.empty() ? output : memory::desc(output.get_dims(), output.get_data_type(), strides);
  const dnnl::reorder::primitive_desc descriptor(CpuEngine(), input, CpuEngine(), output,
                                                 Attributes());
  return std::make_unique<PrimitiveKernel>(
      spec, scope, descriptor,
      std::vector{Input(0, DNNL_ARG_FROM, input), Result(0, DNNL_ARG_TO, output)});
}

std::unique_ptr<Kernel> MakeMean(const KernelSpec& spec) {
  const Reduction reduction = ReadMean(spec.node, spec.inputs[0].shape);
  const memory::desc input = Dense(reduction.input), output = Dense(reduction.kept);
  const CapacityScope scope(spec, SecondsToMove(input, output, spec.rates));
  const dnnl::reduction::primitive_desc descriptor(CpuEngine(), dnnl::algorithm::reduction_mean,
                                                   input, output, 0.0f, 0.0f, Attributes());
  return std::make_unique<PrimitiveKernel>(
      spec, scope, descriptor,
      std::vector{Input(0, DNNL_ARG_SRC, input), Result(0, DNNL_ARG_DST, output)});
}

}  // namespace cosched::onednn
