#include "engine/kernels/machine_peak.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl_threadpool.hpp>
#include <unordered_map>
#include <vector>

#include "engine/kernels/onednn/primitive.h"

namespace cosched {
namespace {

using dnnl::memory;
using onednn::CpuEngine;
using std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// A primitive with memory of its own, as often as wanted.
struct LargeOp {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
  double flops;
};

memory Filled(const memory::desc& descriptor) {
  memory buffer(descriptor, CpuEngine());
  auto* values = static_cast<float*>(buffer.get_data_handle());
  std::fill_n(values, descriptor.get_size() / sizeof(float), 0.5f);
  return buffer;
}

// 3x3, as many channels out as in; ResNet's shapes.
LargeOp LargeConvolution(int64_t images, int64_t channels, int64_t size) {
  const auto any = memory::format_tag::any;
  const auto f32 = memory::data_type::f32;
  const memory::desc image({images, channels, size, size}, f32, any);
  const memory::desc filter({channels, channels, 3, 3}, f32, any);
  const dnnl::convolution_forward::primitive_desc descriptor(
      CpuEngine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, image,
      filter, image, {1, 1}, {1, 1}, {1, 1}, onednn::Attributes());
  return {dnnl::convolution_forward(descriptor),
          {{DNNL_ARG_SRC, Filled(descriptor.src_desc())},
           {DNNL_ARG_WEIGHTS, Filled(descriptor.weights_desc())},
           {DNNL_ARG_DST, Filled(descriptor.dst_desc())},
           {DNNL_ARG_SCRATCHPAD, memory(descriptor.scratchpad_desc(), CpuEngine())}},
          2.0 * 9 * static_cast<double>(images * channels * channels * size * size)};
}

LargeOp LargeProduct(int64_t size) {
  const memory::desc square({size, size}, memory::data_type::f32, memory::format_tag::any);
  const auto descriptor = onednn::BatchReduced(square, {}, [&](const memory::desc& packed) {
    return dnnl::matmul::primitive_desc(CpuEngine(), square, packed, square, onednn::Attributes());
  });
  const auto n = static_cast<double>(size);
  return {dnnl::matmul(descriptor),
          {{DNNL_ARG_SRC, Filled(descriptor.src_desc())},
           {DNNL_ARG_WEIGHTS, Filled(descriptor.weights_desc())},
           {DNNL_ARG_DST, Filled(descriptor.dst_desc())},
           {DNNL_ARG_SCRATCHPAD, memory(descriptor.scratchpad_desc(), CpuEngine())}},
          2 * n * n * n};
}

}  // namespace

double MeasurePeakFlops(ThreadPools& pools, std::chrono::duration<double> time) {
  const onednn::CapacityScope scope(pools.Capacity().intra);
  // Large enough for many threads, small enough to stay in the caches.
  std::vector<LargeOp> ops;
  ops.push_back(LargeConvolution(8, 128, 28));
  ops.push_back(LargeConvolution(8, 256, 14));
  ops.push_back(LargeConvolution(8, 512, 7));
  ops.push_back(LargeProduct(1024));
  auto stream = dnnl::threadpool_interop::make_stream(CpuEngine(), &pools.onednn(scope.Tasks()));
  const auto run = [&](const LargeOp& op) {
    op.primitive.execute(stream, op.arguments);
    stream.wait();
  };
  for (const LargeOp& op : ops) run(op);  // What is generated or allocated at first.
  constexpr int kTurns = 5;
  const Seconds turn = time / (kTurns * static_cast<double>(ops.size()));
  double best = 0;
  for (int i = 0; i < kTurns; ++i) {
    for (const LargeOp& op : ops) {
      const auto start = steady_clock::now();
      Seconds elapsed{0};
      double flops = 0;
      do {
        run(op);
        flops += op.flops;
        elapsed = steady_clock::now() - start;
      } while (elapsed < turn);
      best = std::max(best, flops / elapsed.count());
    }
  }
  return best;
}

}  // namespace cosched
