// What malleability costs: the same kernels on MalleablePool and on a plain pool of a fixed size,
// which is all that a framework's own pool would be. Both have the same threads and look for work
// equally long before they sleep. Samples alternate between the two, so that a noisy machine
// disturbs both alike; `ratio` is the median of the ratios of neighbouring samples, malleable /
// fixed: 1.02 means 2 % slower. `spread` is half their interquartile range.
//
//   bench_pool [--benchmark_filter=compare]     the ratio, by kernel
//   bench_pool --benchmark_filter='resize|limit'   how long a Resize takes until the threads are in
//                                               place; beside it a bare futex wake, the kernel's
//                                               share of a grow

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_threadpool.hpp>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/topology.h"
#include "engine/pool/eigen_adapter.h"
#include "engine/pool/malleable_pool.h"
#include "engine/pool/onednn_adapter.h"
#include "engine/pool/thread_pools.h"
#include "tests/bench/futex_limit.h"

namespace cosched {
namespace {

using dnnl::memory;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using ThreadPool = dnnl::threadpool_interop::threadpool_iface;

// The peer: `helpers` threads that never change, one loop at a time, tasks handed out by a counter.
class FixedPool final : public ThreadPool {
 public:
  explicit FixedPool(int helpers) {
    for (int i = 0; i < helpers; ++i) threads_.emplace_back([this] { Help(); });
  }
  ~FixedPool() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
      ++generation_;
    }
    begun_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  int get_num_threads() const override { return static_cast<int>(threads_.size()) + 1; }
  bool get_in_parallel() const override { return in_task; }
  uint64_t get_flags() const override { return 0; }
  void parallel_for(int n, const std::function<void(int, int)>& fn) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      fn_ = &fn;
      tasks_ = n;
      next_.store(0, std::memory_order_relaxed);
      generation_.fetch_add(1, std::memory_order_relaxed);
    }
    begun_.notify_all();
    Work(fn, n);
    Look([this] { return helping_.load(std::memory_order_relaxed) == 0; });
    std::unique_lock<std::mutex> lock(mutex_);
    fn_ = nullptr;
    ended_.wait(lock, [this] { return helping_ == 0; });
  }

 private:
  void Help() {
    std::unique_lock<std::mutex> lock(mutex_);
    uint64_t seen = 0;
    while (!stop_) {
      if (generation_ == seen) {
        lock.unlock();
        Look([&] { return generation_.load(std::memory_order_relaxed) != seen; });
        lock.lock();
      }
      begun_.wait(lock, [&] { return generation_ != seen; });
      seen = generation_;
      if (fn_ == nullptr) continue;
      ++helping_;
      const auto* fn = fn_;
      const int tasks = tasks_;
      lock.unlock();
      Work(*fn, tasks);
      lock.lock();
      if (--helping_ == 0) ended_.notify_one();
    }
  }

  template <typename Predicate>
  static void Look(Predicate done) {
    const auto end = steady_clock::now() + std::chrono::microseconds(15);
    while (!done() && steady_clock::now() < end) {
    }
  }

  void Work(const std::function<void(int, int)>& fn, int tasks) {
    in_task = true;
    for (int i = next_.fetch_add(1, std::memory_order_relaxed); i < tasks;
         i = next_.fetch_add(1, std::memory_order_relaxed)) {
      fn(i, tasks);
    }
    in_task = false;
  }

  static inline thread_local bool in_task = false;
  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  std::atomic<uint64_t> generation_{0};
  const std::function<void(int, int)>* fn_ = nullptr;
  int tasks_ = 0;
  std::atomic<int> helping_{0};
  bool stop_ = false;
  std::atomic<int> next_{0};
  std::vector<std::thread> threads_;
};

// One kernel, ready to run on either pool as often as wanted.
using Kernel = std::function<void(ThreadPool*)>;

struct Shape {
  int images, channels, size;
  memory::dims Dims() const { return {images, channels, size, size}; }
};

memory Filled(const dnnl::engine& engine, const memory::desc& desc) {
  memory buffer(desc, engine);
  auto* values = static_cast<float*>(buffer.get_data_handle());
  for (size_t i = 0; i < desc.get_size() / sizeof(float); ++i) {
    values[i] = static_cast<float>(i % 17) / 17 - 0.5f;
  }
  return buffer;
}

// Wraps a primitive; streams are cheap and made for each run, as the adapter's users do.
Kernel Runner(const dnnl::engine& engine, const dnnl::primitive& primitive,
              std::unordered_map<int, memory> arguments) {
  return [engine, primitive, arguments = std::move(arguments)](ThreadPool* pool) {
    auto stream = dnnl::threadpool_interop::make_stream(engine, pool);
    primitive.execute(stream, arguments);
    stream.wait();
  };
}

Kernel Convolution(const dnnl::engine& engine, Shape shape) {
  const auto any = memory::format_tag::any;
  const auto f32 = memory::data_type::f32;
  const memory::desc data(shape.Dims(), f32, any);
  const memory::desc weights({shape.channels, shape.channels, 3, 3}, f32, any);
  const dnnl::convolution_forward::primitive_desc desc(engine, dnnl::prop_kind::forward_inference,
                                                       dnnl::algorithm::convolution_direct, data,
                                                       weights, data, {1, 1}, {1, 1}, {1, 1});
  return Runner(engine, dnnl::convolution_forward(desc),
                {{DNNL_ARG_SRC, Filled(engine, desc.src_desc())},
                 {DNNL_ARG_WEIGHTS, Filled(engine, desc.weights_desc())},
                 {DNNL_ARG_DST, Filled(engine, desc.dst_desc())}});
}

Kernel BatchNorm(const dnnl::engine& engine, Shape shape) {
  const memory::desc data(shape.Dims(), memory::data_type::f32, memory::format_tag::nChw16c);
  const dnnl::batch_normalization_forward::primitive_desc desc(
      engine, dnnl::prop_kind::forward_training, data, data, 1e-5f,
      dnnl::normalization_flags::none);
  return Runner(engine, dnnl::batch_normalization_forward(desc),
                {{DNNL_ARG_SRC, Filled(engine, data)},
                 {DNNL_ARG_DST, Filled(engine, data)},
                 {DNNL_ARG_MEAN, Filled(engine, desc.mean_desc())},
                 {DNNL_ARG_VARIANCE, Filled(engine, desc.variance_desc())}});
}

Kernel Relu(const dnnl::engine& engine, Shape shape) {
  const memory::desc data(shape.Dims(), memory::data_type::f32, memory::format_tag::nChw16c);
  const dnnl::eltwise_forward::primitive_desc desc(engine, dnnl::prop_kind::forward_inference,
                                                   dnnl::algorithm::eltwise_relu, data, data, 0.0f);
  return Runner(engine, dnnl::eltwise_forward(desc),
                {{DNNL_ARG_SRC, Filled(engine, data)}, {DNNL_ARG_DST, Filled(engine, data)}});
}

Kernel EmptyLoop(int tasks) {
  return [tasks](ThreadPool* pool) {
    pool->parallel_for(tasks, [](int i, int) { benchmark::DoNotOptimize(i); });
  };
}

nanoseconds Time(const std::function<void()>& run, int calls) {
  const auto start = steady_clock::now();
  for (int i = 0; i < calls; ++i) run();
  return steady_clock::now() - start;
}

double Quantile(std::vector<double> values, double quantile) {
  const auto at = values.begin() + static_cast<ptrdiff_t>(quantile * (values.size() - 1.0));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// One iteration times a batch of calls on each pool, in alternating order. A batch lasts about two
// milliseconds, so that the other pool's thread, which looks for work a moment longer, does not
// matter.
void Compare(benchmark::State& state, const std::function<void()>& on_malleable,
             const std::function<void()>& on_fixed) {
  Time(on_malleable, 10);
  const nanoseconds once = Time(on_fixed, 10) / 10;
  const int calls =
      static_cast<int>(std::clamp<int64_t>(2'000'000 / (once.count() + 1), 1, 20'000));
  std::vector<double> malleable_times, fixed_times, ratios;
  bool malleable_first = false;
  for (auto _ : state) {
    malleable_first = !malleable_first;
    nanoseconds ours{}, theirs{};
    if (malleable_first) ours = Time(on_malleable, calls);
    theirs = Time(on_fixed, calls);
    if (!malleable_first) ours = Time(on_malleable, calls);
    malleable_times.push_back(static_cast<double>(ours.count()) / calls / 1e3);
    fixed_times.push_back(static_cast<double>(theirs.count()) / calls / 1e3);
    ratios.push_back(malleable_times.back() / fixed_times.back());
  }
  state.counters["malleable_us"] = Quantile(malleable_times, 0.5);
  state.counters["fixed_us"] = Quantile(fixed_times, 0.5);
  state.counters["ratio"] = Quantile(ratios, 0.5);
  state.counters["spread"] = (Quantile(ratios, 0.75) - Quantile(ratios, 0.25)) / 2;
}

void CompareKernel(benchmark::State& state, const Kernel& kernel, int threads) {
  MalleablePool malleable({.name = "bench",
                           .capacity = threads - 1,
                           .when_empty = MalleablePool::WhenEmpty::kRunInCaller});
  malleable.Resize(threads - 1);
  OnednnThreadPool adapter(&malleable, threads);
  FixedPool fixed(threads - 1);
  Compare(
      state, [&] { kernel(&adapter); }, [&] { kernel(&fixed); });
}

// An Eigen expression on our pool and on Eigen's own, which has one thread more because its caller
// only waits.
void CompareEigen(benchmark::State& state, int size, int threads) {
  ThreadPools pools({1, threads}, ThreadPools::Binding::kNone, nullptr);
  pools.Resize({0}, {1, threads});
  Eigen::ThreadPool own_pool(threads);
  const Eigen::ThreadPoolDevice own(&own_pool, threads);
  const Eigen::Tensor<float, 1> input = Eigen::Tensor<float, 1>(size).setConstant(0.5f);
  Eigen::Tensor<float, 1> output(size);
  const auto run = [&](const Eigen::ThreadPoolDevice& device) {
    output.device(device) = input.exp() * input;
  };
  Compare(
      state, [&] { run(pools.eigen()); }, [&] { run(own); });
}

// Grows to all cores and shrinks to one again, idle or with a loop of tasks of some microseconds
// running all the time.
void Resize(benchmark::State& state, bool busy) {
  const Topology topology = Topology::ThisMachine();
  const int cores = topology.Cpus().Count();
  ThreadPools pools({1, cores}, ThreadPools::Binding::kEachToItsCore, &topology);
  std::atomic<bool> stop{false};
  const CpuSet one{topology.Cpus().First()};
  pools.Resize(one, {1, 1});
  pools.inter().Schedule([&] {
    const auto spin = [](int) {
      const auto end = steady_clock::now() + std::chrono::microseconds(20);
      while (steady_clock::now() < end) {
      }
    };
    while (busy && !stop) pools.intra().ParallelFor(256, spin);
  });
  for (auto _ : state) {
    pools.Resize(topology.Cpus(), {1, cores});
    pools.WaitSettled(std::chrono::seconds(10));
    pools.Resize(one, {1, 1});
    pools.WaitSettled(std::chrono::seconds(10));
  }
  stop = true;
  const ThreadPools::ResizeTimes times = pools.Times();
  for (const double quantile : {0.5, 0.9, 0.99}) {
    const std::string suffix = "_p" + std::to_string(static_cast<int>(quantile * 100)) + "_us";
    state.counters["grow" + suffix] =
        static_cast<double>(times.grow.Quantile(quantile).count()) / 1e3;
    state.counters["shrink" + suffix] =
        static_cast<double>(times.shrink.Quantile(quantile).count()) / 1e3;
  }
}

// As often as `resize/idle` wakes a worker.
void WakeOneThread(benchmark::State& state) {
  FutexLimit limit;
  std::vector<double> times;
  for (auto _ : state) times.push_back(static_cast<double>(limit.Wake().count()) / 1e3);
  for (const int percent : {50, 90, 99}) {
    state.counters["wake_p" + std::to_string(percent) + "_us"] = Quantile(times, percent / 100.0);
  }
}

void Register() {
  const int cores = std::max(2, Topology::ThisMachine().Cpus().Count());
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl_threadpool_interop_set_max_concurrency(cores);
  const std::vector<std::pair<std::string, Kernel>> kernels = {
      {"conv3x3/8x64x56", Convolution(engine, {8, 64, 56})},
      {"conv3x3/1x64x14", Convolution(engine, {1, 64, 14})},
      {"batch_norm/8x64x56", BatchNorm(engine, {8, 64, 56})},
      {"batch_norm/1x64x14", BatchNorm(engine, {1, 64, 14})},
      {"relu/8x64x56", Relu(engine, {8, 64, 56})},
      {"relu/1x64x14", Relu(engine, {1, 64, 14})},
      {"empty/one_task_a_thread", EmptyLoop(cores)},
      {"empty/64_tasks", EmptyLoop(64)},
  };
  for (const auto& [name, kernel] : kernels) {
    benchmark::RegisterBenchmark(
        ("compare/" + name).c_str(),
        [kernel = kernel, cores](benchmark::State& state) { CompareKernel(state, kernel, cores); })
        ->Iterations(300)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  for (const int size : {20'000, 1'000'000}) {
    benchmark::RegisterBenchmark(
        ("compare/eigen/" + std::to_string(size)).c_str(),
        [size, cores](benchmark::State& state) { CompareEigen(state, size, cores); })
        ->Iterations(300)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  benchmark::RegisterBenchmark("limit/futex_wake", WakeOneThread)
      ->Iterations(2000)
      ->Unit(benchmark::kMicrosecond)
      ->UseRealTime();
  for (const bool busy : {false, true}) {
    benchmark::RegisterBenchmark(busy ? "resize/busy" : "resize/idle",
                                 [busy](benchmark::State& state) { Resize(state, busy); })
        ->Iterations(2000)
        ->Unit(benchmark::kMicrosecond)
        ->UseRealTime();
  }
}

}  // namespace
}  // namespace cosched

int main(int argc, char** argv) {
  cosched::Register();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
