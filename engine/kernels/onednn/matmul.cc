// MatMul; a transposed operand is only another pair of strides.

#include "engine/kernels/factories.h"
#include "engine/kernels/onednn/primitive.h"
#include "engine/kernels/parameters.h"

namespace cosched::onednn {
namespace {

dnnl::memory::desc Stored(int64_t rows, int64_t columns, bool transposed) {
  using Tag = dnnl::memory::format_tag;
  return {{rows, columns}, dnnl::memory::data_type::f32, transposed ? Tag::ba : Tag::ab};
}

}  // namespace

std::unique_ptr<Kernel> MakeMatMul(const KernelSpec& spec) {
  const CapacityScope scope(spec.pools);
  const MatMulParameters p = ReadMatMul(spec.node, spec.inputs[0].shape, spec.inputs[1].shape);
  const dnnl::memory::desc a = Stored(p.m, p.k, p.transpose_a);
  const dnnl::memory::desc b = Stored(p.k, p.n, p.transpose_b);
  const dnnl::memory::desc product = Stored(p.m, p.n, false);
  const dnnl::matmul::primitive_desc descriptor(CpuEngine(), a, b, product, Attributes());
  return std::make_unique<PrimitiveKernel>(
      spec.pools, descriptor,
      std::vector{Input(0, DNNL_ARG_SRC, a), Input(1, DNNL_ARG_WEIGHTS, b),
                  Result(0, DNNL_ARG_DST, product)});
}

}  // namespace cosched::onednn
