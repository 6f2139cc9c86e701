// What is made of oneDNN's primitives: reorders in parts give what one of the whole gives, for
// layouts that differ and for one that does not; products are never left to reference code.

#include <oneapi/dnnl/dnnl_threadpool.hpp>

#include "engine/kernels/onednn/primitive.h"
#include "engine/kernels/onednn/reorder_parts.h"
#include "tests/engine/kernels/kernel_fixture.h"

namespace cosched::onednn {
namespace {

using dnnl::memory;

TEST(ReorderParts, GiveTheWhole) {
  ThreadPools pools({1, 2}, ThreadPools::Binding::kNone, nullptr);
  pools.Resize(CpuSet::Range(0, 1), {1, 2});
  const CapacityScope scope(2);
  auto stream = dnnl::threadpool_interop::make_stream(CpuEngine(), &pools.onednn(scope.Tasks()));
  constexpr int64_t kPoints = 5, kRows = 192, kColumns = 144;
  const memory::dims sizes = {kPoints, kRows, kColumns};
  const auto f32 = memory::data_type::f32;
  const memory::desc plain(sizes, f32, memory::format_tag::abc);
  const Node node;
  const KernelSpec spec{node, {}, pools, std::chrono::microseconds(1)};
  Tensor from = testing::RandomTensor({kPoints * kRows * kColumns}, 1);
  for (const auto layout : {memory::format_tag::abc, memory::format_tag::acb,
                            memory::format_tag::aBC16b16c, memory::format_tag::aCB16b16c}) {
    const memory::desc wanted(sizes, f32, layout);
    Tensor in_parts(from.GetShape()), whole(from.GetShape());
    const memory target(wanted, CpuEngine(), in_parts.Data());
    ReorderParts parts(plain, target, spec);
    EXPECT_GT(parts.Count(), 1);
    for (int part = 0; part < parts.Count(); ++part) parts.Execute(part, from.Data(), &stream);
    memory source(plain, CpuEngine(), from.Data()), expected(wanted, CpuEngine(), whole.Data());
    dnnl::reorder(source, expected).execute(stream, source, expected);
    testing::ExpectClose(whole, in_parts, 0);
  }
}

TEST(BatchReduced, ProductsOfAnyRowsShareWeightsAndAreGenerated) {
  const auto f32 = memory::data_type::f32;
  const auto plain = memory::format_tag::abc;
  for (const int64_t channels : {16, 48, 80, 128, 208, 512}) {
    memory::desc packed;
    const memory::desc weights({36, 64, channels}, f32, memory::format_tag::any);
    for (const int64_t rows : {85, 84, 16, 1}) {
      const memory::desc left({36, rows, 64}, f32, plain), result({36, rows, channels}, f32, plain);
      const auto product = BatchReduced(weights, packed, [&](const memory::desc& layout) {
        return dnnl::matmul::primitive_desc(CpuEngine(), left, layout, result, Attributes());
      });
      const std::string_view name = product.impl_info_str();
      EXPECT_TRUE(name.starts_with("brg") || name.starts_with("gemm"))
          << name << " " << rows << " " << channels;
      if (!packed.is_zero()) {
        EXPECT_EQ(product.weights_desc(), packed);
      }
      packed = product.weights_desc();
    }
  }
}

}  // namespace
}  // namespace cosched::onednn
