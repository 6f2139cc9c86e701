// _FusedMatMul: constant weights packed once, bias and activation applied to the product while it
// is in the cache. Long ones are cut by columns, each with a packed part of the weights of its own,
// and by rows.

#include <algorithm>

#include "engine/base/cache_sizes.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/onednn/activation.h"
#include "engine/kernels/parameters.h"
#include "engine/kernels/pieces.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {
namespace {

using dnnl::memory;
constexpr size_t kRows = 0, kWeights = 1, kBias = 2;

memory::desc Stored(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride = 1,
                    memory::data_type type = memory::data_type::f32) {
  return {{rows, columns}, type, memory::dims{row_stride, column_stride}};
}

}  // namespace

std::unique_ptr<Kernel> MakeFusedMatMul(const KernelSpec& spec) {
  const MatMulParameters p = ReadMatMul(spec.node, spec.inputs[0].shape, spec.inputs[1].shape);
  const int64_t m = p.m, k = p.k, n = p.n;
  // The type of the rows, and of packed weights; products are floats.
  const memory::data_type type = TypeOf(spec.inputs[kRows].type);
  const auto cached = ThisMachinesSecondLevelCache().bytes / static_cast<int64_t>(sizeof(float));
  if (m == 1 && k * n > cached && type == memory::data_type::f32)
    return eigen::MakeFusedVectorProduct(spec);
  const double operations = 2 * static_cast<double>(m) * static_cast<double>(k);
  // Columns are moved whole; so many rows are computed in the time that they take.
  constexpr int64_t kColumnUnit = 64, kRowUnit = 16;
  const auto element = static_cast<double>(SizeOf(spec.inputs[kRows].type));
  const Work column{operations, element * static_cast<double>(k + m)};
  const CapacityScope scope(spec, column.Seconds(spec.rates) * static_cast<double>(n));
  const double seconds = PieceSeconds(spec.piece_time, scope.Tasks());
  const int64_t units = std::max<int64_t>(n / kColumnUnit, 1);
  const auto unit_seconds =
      column.Seconds(spec.rates) * static_cast<double>(n) / static_cast<double>(units);
  const Division columns = Division::Of(units, unit_seconds, seconds);
  const int64_t row_units = std::max<int64_t>(m / kRowUnit, 1);
  const Division rows = Division::Of(
      row_units,
      unit_seconds * static_cast<double>(columns.Size(0)) / static_cast<double>(row_units),
      seconds);
  const auto begin_column = [&](int64_t part) {
    return part == columns.parts ? n : columns.Begin(part) * kColumnUnit;
  };
  const auto begin_row = [&](int64_t part) {
    return part == rows.parts ? m : rows.Begin(part) * kRowUnit;
  };
  dnnl::post_ops post_ops;
  AppendActivation(ReadActivation(spec.node), &post_ops);
  dnnl::primitive_attr attributes = Attributes();
  attributes.set_post_ops(post_ops);
  auto kernel = std::make_unique<PrimitiveKernel>(spec, scope);
  for (int64_t j = 0; j < columns.parts; ++j) {
    const int64_t column_at = begin_column(j), width = begin_column(j + 1) - column_at;
    memory packed;
    for (int64_t i = 0; i < rows.parts; ++i) {
      const int64_t row_at = begin_row(i), height = begin_row(i + 1) - row_at;
      const memory::desc a = Stored(height, k, k, 1, type),
                         b = p.transpose_b ? Stored(k, width, 1, k) : Stored(k, width, n);
      const memory::desc bias({1, width}, memory::data_type::f32, memory::format_tag::ab);
      const memory::desc product = Stored(height, width, n);
      const auto descriptor = BatchReduced(
          memory::desc(b.get_dims(), type, memory::format_tag::any),
          packed ? packed.get_desc() : memory::desc(), [&](const memory::desc& weights) {
            return dnnl::matmul::primitive_desc(CpuEngine(), a, weights, bias, product, attributes);
          });
      if (!packed)
        packed = kernel->Constant(spec, kWeights, p.transpose_b ? column_at * k : column_at, b,
                                  descriptor.weights_desc());
      PrimitiveKernel::Piece piece = kernel->Prepare(
          descriptor, {Input(kRows, DNNL_ARG_SRC, a), Result(0, DNNL_ARG_DST, product),
                       Input(kBias, DNNL_ARG_BIAS, bias), Constant(DNNL_ARG_WEIGHTS, packed)});
      piece.bindings[0].offset = row_at * k;
      piece.bindings[1].offset = row_at * n + column_at;
      piece.bindings[2].offset = column_at;
      kernel->AddPiece(std::move(piece));
    }
  }
  return kernel;
}

}  // namespace cosched::onednn
