// oneDNN's and Eigen's own kernels on the malleable pool: right at every number of helpers, and
// bit-identical however often it is resized while they run.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <latch>
#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_threadpool.hpp>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/random.h"
#include "engine/pool/eigen_adapter.h"
#include "engine/pool/onednn_adapter.h"
#include "engine/pool/thread_pools.h"

namespace cosched {
namespace {

constexpr int kThreads = 8;  // Capacity of the session under test; 0 to 7 helpers.

std::vector<float> RandomValues(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Uniform(-1, 1));
  return values;
}

// Runs `kernel` with 0, 1, 2 and 7 helpers and then while they change at random; expects the same
// bits each time.
template <typename Kernel>
void ExpectSameBitsAtEverySize(Kernel kernel) {
  ThreadPools pools({1, kThreads}, ThreadPools::Binding::kNone, nullptr);
  const std::vector<float> expected = kernel(&pools);
  const auto expect_same = [&] {
    const std::vector<float> result = kernel(&pools);
    ASSERT_EQ(result.size(), expected.size());
    ASSERT_EQ(std::memcmp(result.data(), expected.data(), result.size() * sizeof(float)), 0);
  };
  for (int helpers : {0, 1, 2, 7}) {
    pools.intra().Resize(helpers);
    while (!pools.intra().Settled()) std::this_thread::yield();
    ASSERT_NO_FATAL_FAILURE(expect_same()) << helpers << " helpers";
  }
  std::atomic<bool> stop{false};
  std::thread resizer([&] {
    Random random(1);
    while (!stop) {
      pools.intra().Resize(static_cast<int>(random.Below(kThreads)));
      std::this_thread::yield();
    }
  });
  for (int round = 0; round < 30 && !testing::Test::HasFatalFailure(); ++round) expect_same();
  stop = true;
  resizer.join();
}

TEST(OnednnAdapterTest, ReportsTheCapacityAndTheDepth) {
  ThreadPools pools({1, kThreads}, ThreadPools::Binding::kNone, nullptr);
  auto& onednn = pools.onednn(pools.Capacity().intra);
  EXPECT_EQ(onednn.get_num_threads(), kThreads);
  EXPECT_EQ(onednn.get_flags(), 0u);
  EXPECT_FALSE(onednn.get_in_parallel());
  pools.intra().Resize(2);
  std::vector<std::atomic<int>> runs(100);
  onednn.parallel_for(100, [&](int i, int n) {
    EXPECT_EQ(n, 100);
    EXPECT_TRUE(onednn.get_in_parallel());
    if (i == 50) onednn.parallel_for(2, [](int, int) {});
    EXPECT_TRUE(onednn.get_in_parallel());
    ++runs[static_cast<size_t>(i)];
  });
  EXPECT_FALSE(onednn.get_in_parallel());
  for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
  // In a loop of ours primitives are divided as anywhere.
  pools.intra().ParallelFor(100, [&](int) {
    EXPECT_FALSE(onednn.get_in_parallel());
    onednn.parallel_for(3, [&](int, int) { EXPECT_TRUE(onednn.get_in_parallel()); });
    EXPECT_FALSE(onednn.get_in_parallel());
  });
}

using dnnl::memory;

memory Memory(const dnnl::engine& engine, const memory::dims& dims, memory::format_tag tag,
              std::vector<float>* values) {
  return memory(memory::desc(dims, memory::data_type::f32, tag), engine, values->data());
}

TEST(OnednnAdapterTest, ConvolutionIsRightAndBitIdentical) {
  constexpr int kImages = 2, kChannels = 16, kSize = 14;
  std::vector<float> input = RandomValues(kImages * kChannels * kSize * kSize, 1);
  std::vector<float> weights = RandomValues(kChannels * kChannels * 9, 2);
  const auto kernel = [&](ThreadPools* pools) {
    std::vector<float> output(input.size());
    dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl_threadpool_interop_set_max_concurrency(kThreads);
    auto stream =
        dnnl::threadpool_interop::make_stream(engine, &pools->onednn(pools->Capacity().intra));
    memory source =
        Memory(engine, {kImages, kChannels, kSize, kSize}, memory::format_tag::nchw, &input);
    memory filter =
        Memory(engine, {kChannels, kChannels, 3, 3}, memory::format_tag::oihw, &weights);
    memory target =
        Memory(engine, {kImages, kChannels, kSize, kSize}, memory::format_tag::nchw, &output);
    dnnl::convolution_forward::primitive_desc description(
        engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        source.get_desc(), filter.get_desc(), target.get_desc(), {1, 1}, {1, 1}, {1, 1});
    dnnl::convolution_forward(description)
        .execute(stream,
                 {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, filter}, {DNNL_ARG_DST, target}});
    stream.wait();
    return output;
  };
  ExpectSameBitsAtEverySize(kernel);

  ThreadPools pools({1, kThreads}, ThreadPools::Binding::kNone, nullptr);
  const std::vector<float> output = kernel(&pools);
  double sum = 0;  // One output pixel by hand: image 1, channel 3, row 4, column 5.
  for (int c = 0; c < kChannels; ++c) {
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 3; ++x) {
        sum += input[static_cast<size_t>(((kChannels + c) * kSize + 3 + y) * kSize + 4 + x)] *
               weights[static_cast<size_t>(((3 * kChannels + c) * 3 + y) * 3 + x)];
      }
    }
  }
  EXPECT_NEAR(output[static_cast<size_t>(((kChannels + 3) * kSize + 4) * kSize + 5)], sum, 1e-4);
}

TEST(OnednnAdapterTest, BatchNormIsBitIdentical) {
  constexpr int kImages = 8, kChannels = 32, kSize = 14;
  std::vector<float> input = RandomValues(kImages * kChannels * kSize * kSize, 3);
  ExpectSameBitsAtEverySize([&](ThreadPools* pools) {
    std::vector<float> output(input.size()), mean(kChannels), variance(kChannels);
    dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl_threadpool_interop_set_max_concurrency(kThreads);
    auto stream =
        dnnl::threadpool_interop::make_stream(engine, &pools->onednn(pools->Capacity().intra));
    const memory::dims dims{kImages, kChannels, kSize, kSize};
    memory source = Memory(engine, dims, memory::format_tag::nchw, &input);
    memory target = Memory(engine, dims, memory::format_tag::nchw, &output);
    dnnl::batch_normalization_forward::primitive_desc description(
        engine, dnnl::prop_kind::forward_training, source.get_desc(), target.get_desc(), 1e-5f,
        dnnl::normalization_flags::none);
    dnnl::batch_normalization_forward(description)
        .execute(
            stream,
            {{DNNL_ARG_SRC, source},
             {DNNL_ARG_DST, target},
             {DNNL_ARG_MEAN, Memory(engine, {kChannels}, memory::format_tag::a, &mean)},
             {DNNL_ARG_VARIANCE, Memory(engine, {kChannels}, memory::format_tag::a, &variance)}});
    stream.wait();
    output.insert(output.end(), mean.begin(), mean.end());
    output.insert(output.end(), variance.begin(), variance.end());
    return output;
  });
}

TEST(EigenAdapterTest, ReportsTheCapacity) {
  ThreadPools pools({1, kThreads}, ThreadPools::Binding::kNone, nullptr);
  EXPECT_EQ(pools.eigen().numThreads(), kThreads);
  EXPECT_EQ(pools.eigen().numThreadsInPool(), kThreads);
  EXPECT_EQ(pools.eigen().currentThreadId(), -1);
}

using Matrix = Eigen::Tensor<float, 2, Eigen::RowMajor>;
using ConstMap = Eigen::TensorMap<const Matrix>;
using Map = Eigen::TensorMap<Matrix>;

TEST(EigenAdapterTest, ContractionIsRightAndBitIdentical) {
  for (const auto [rows, depth, columns] : {std::array{200, 150, 180}, std::array{8, 20000, 8}}) {
    const std::vector<float> a = RandomValues(static_cast<size_t>(rows * depth), 4);
    const std::vector<float> b = RandomValues(static_cast<size_t>(depth * columns), 5);
    const auto kernel = [&, rows = rows, depth = depth, columns = columns](ThreadPools* pools) {
      std::vector<float> output(static_cast<size_t>(rows * columns));
      const Eigen::array<Eigen::IndexPair<int>, 1> inner{Eigen::IndexPair<int>(1, 0)};
      Map(output.data(), rows, columns).device(pools->eigen()) =
          ConstMap(a.data(), rows, depth).contract(ConstMap(b.data(), depth, columns), inner);
      return output;
    };
    ExpectSameBitsAtEverySize(kernel);
    ThreadPools pools({1, kThreads}, ThreadPools::Binding::kNone, nullptr);
    double sum = 0;
    for (int k = 0; k < depth; ++k) {
      sum += a[static_cast<size_t>(3 * depth + k)] * b[static_cast<size_t>(k * columns + 5)];
    }
    EXPECT_NEAR(kernel(&pools)[static_cast<size_t>(3 * columns + 5)], sum, 1e-2);
  }
}

TEST(EigenAdapterTest, ReductionsAreRightAndBitIdentical) {
  constexpr int kRows = 300, kColumns = 2000;
  const std::vector<float> values = RandomValues(kRows * kColumns, 6);
  const auto kernel = [&](ThreadPools* pools) {
    std::vector<float> output(kRows + kColumns + 1);
    const ConstMap input(values.data(), kRows, kColumns);
    using Vector = Eigen::TensorMap<Eigen::Tensor<float, 1, Eigen::RowMajor>>;
    const Eigen::array<int, 1> along_rows{0}, along_columns{1};
    Vector(output.data(), kRows).device(pools->eigen()) = input.sum(along_columns);
    Vector(output.data() + kRows, kColumns).device(pools->eigen()) = input.sum(along_rows);
    Eigen::TensorMap<Eigen::Tensor<float, 0, Eigen::RowMajor>>(output.data() + kRows + kColumns)
        .device(pools->eigen()) = input.sum();
    return output;
  };
  ExpectSameBitsAtEverySize(kernel);
  ThreadPools pools({1, kThreads}, ThreadPools::Binding::kNone, nullptr);
  double sum = 0;
  for (float value : values) sum += value;
  EXPECT_NEAR(kernel(&pools).back(), sum, 0.1);
}

TEST(EigenAdapterTest, ElementwiseIsRightAndBitIdentical) {
  constexpr int kRows = 500, kColumns = 1000;
  const std::vector<float> values = RandomValues(kRows * kColumns, 7);
  const auto kernel = [&](ThreadPools* pools) {
    std::vector<float> output(values.size());
    const ConstMap input(values.data(), kRows, kColumns);
    Map(output.data(), kRows, kColumns).device(pools->eigen()) = input.tanh() * 2.0f + input;
    return output;
  };
  ExpectSameBitsAtEverySize(kernel);
  ThreadPools pools({1, kThreads}, ThreadPools::Binding::kNone, nullptr);
  const std::vector<float> output = kernel(&pools);
  for (size_t i = 0; i < output.size(); i += 997) {
    EXPECT_NEAR(output[i], std::tanh(values[i]) * 2 + values[i], 1e-5);
  }
}

// Two nodes at once on one intra-op pool (inter-op 2), each with its own Eigen barrier.
TEST(EigenAdapterTest, ConcurrentCallersAreNeverStranded) {
  ThreadPools pools({2, kThreads}, ThreadPools::Binding::kNone, nullptr);
  const std::vector<float> values = RandomValues(400 * 400, 8);
  std::latch done(20);
  const auto node = [&] {
    std::vector<float> output(values.size());
    Map(output.data(), 400, 400).device(pools.eigen()) =
        ConstMap(values.data(), 400, 400).exp().sqrt();
    EXPECT_NEAR(output[7], std::sqrt(std::exp(values[7])), 1e-5);
    done.count_down();
  };
  for (int i = 0; i < 20; ++i) pools.inter().Schedule(node);
  Random random(2);
  while (!done.try_wait()) {
    pools.Resize({0},
                 {1 + static_cast<int>(random.Below(2)), 1 + static_cast<int>(random.Below(8))});
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace cosched
