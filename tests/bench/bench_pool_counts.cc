// What a loop costs in steps for which threads wait for each other, counted, so that it can be told
// on a machine of few cores what pools of many threads would do: the locks taken and the sleepers
// woken for a loop, by threads. Beside it the locks of Eigen's own pool, which is TensorFlow's, for
// as many tasks.
//
//   awake/THREADS    one loop after the other, two tasks of 50 us a thread
//   asleep/THREADS   the same with a pause between loops, in which all workers go to sleep
//   resize/THREADS   from one thread to all and back
//   nodes/THREADS    the executor's run of a graph of eight nodes of 50 us for each of so many inter-op
//                    workers: four that can all run at once, then four more
//
// The counters: locks, and of ours the system calls that wake sleepers or go to sleep (wakes, waits),
// a loop or a resize; and locks_a_thread, which must not grow with the threads. Times mean nothing
// where there are more threads than cores.

#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "engine/pool/eigen_adapter.h"
#include "engine/pool/malleable_pool.h"
#include "engine/session/executor.h"
#include "engine/session/ready_queue.h"
#include "engine/session/task_graph.h"

namespace {

std::atomic<int64_t> locks{0}, wakes{0}, waits{0};

}  // namespace

// In place of libc's (CMakeLists.txt); names and types are the linker's and libc's.
// NOLINTBEGIN(bugprone-reserved-identifier,google-runtime-int)
extern "C" {

int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  locks.fetch_add(1, std::memory_order_relaxed);
  return __real_pthread_mutex_lock(mutex);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  va_list arguments;
  va_start(arguments, number);
  long values[6];
  for (long& value : values) value = va_arg(arguments, long);
  va_end(arguments);
  constexpr long kOperation = 127;  // Without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME.
  constexpr long kWait = 0, kWake = 1, kWaitBitset = 9;
  const long operation = number == SYS_futex ? values[1] & kOperation : -1;
  if (operation == kWake) wakes.fetch_add(1, std::memory_order_relaxed);
  if (operation == kWait || operation == kWaitBitset) waits.fetch_add(1, std::memory_order_relaxed);
  return __real_syscall(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}
}
// NOLINTEND(bugprone-reserved-identifier,google-runtime-int)

namespace cosched {
namespace {

using std::chrono::steady_clock;

constexpr int kTasksAThread = 2;

void Task(int) {
  const auto end = steady_clock::now() + std::chrono::microseconds(50);
  while (steady_clock::now() < end) {
  }
}

// What `step` takes each time, after one that warms up; by threads, too.
void CountSteps(benchmark::State& state, int threads, bool asleep, bool ours,
                const std::function<void()>& step) {
  const auto pause = [asleep] {
    if (asleep) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  };
  step();
  pause();
  locks = wakes = waits = 0;
  for (auto _ : state) {
    step();
    pause();
  }
  const auto a_step = [&state](const std::atomic<int64_t>& count) {
    return static_cast<double>(count) / static_cast<double>(state.iterations());
  };
  state.counters["locks"] = a_step(locks);
  state.counters["locks_a_thread"] = a_step(locks) / threads;
  if (!ours) return;  // Its system calls are libc's.
  state.counters["wakes"] = a_step(wakes);
  state.counters["waits"] = a_step(waits);
}

std::unique_ptr<MalleablePool> PoolOf(int threads) {
  auto pool = std::make_unique<MalleablePool>(
      MalleablePool::Options{.name = "bench",
                             .capacity = threads - 1,
                             .when_empty = MalleablePool::WhenEmpty::kRunInCaller});
  pool->Resize(threads - 1);
  while (!pool->Settled()) std::this_thread::yield();
  return pool;
}

void CountLoops(benchmark::State& state, int threads, bool asleep) {
  const std::unique_ptr<MalleablePool> pool = PoolOf(threads);
  CountSteps(state, threads, asleep, /*ours=*/true,
             [&] { pool->ParallelFor(kTasksAThread * threads, [](int task) { Task(task); }); });
}

void CountResizes(benchmark::State& state, int threads) {
  const std::unique_ptr<MalleablePool> pool = PoolOf(threads);
  pool->ParallelFor(kTasksAThread * threads, [](int task) { Task(task); });  // Makes its threads.
  CountSteps(state, threads, /*asleep=*/false, /*ours=*/true, [&] {
    for (const int size : {0, threads - 1}) {
      pool->Resize(size);
      while (!pool->Settled()) std::this_thread::yield();
    }
  });
}

constexpr int kNodesAThread = 8;

void CountNodes(benchmark::State& state, int threads) {
  TaskGraph graph;
  for (int chain = 0; chain < kNodesAThread / 2 * threads; ++chain) {
    const int first = graph.Add(/*cheap=*/false, 1);
    graph.AddEdge(first, graph.Add(/*cheap=*/false, 1));
  }
  graph.Seal();
  ReadyQueue queue(&graph);
  std::unique_ptr<Executor> executor;  // Is there as long as the pool.
  MalleablePool pool({.name = "bench", .capacity = threads});
  executor = std::make_unique<Executor>(&pool);
  pool.Resize(threads);
  CountSteps(state, threads, /*asleep=*/false, /*ours=*/true, [&] {
    executor->Run(&queue, [](TaskAtPiece next) {
      Task(next.task);
      return false;
    });
  });
}

void CountEigen(benchmark::State& state, int threads, bool asleep) {
  const int tasks = kTasksAThread * threads;
  Eigen::ThreadPool pool(threads);
  const Eigen::ThreadPoolDevice device(&pool, threads);
  CountSteps(state, threads, asleep, /*ours=*/false, [&] {
    Eigen::Barrier done(static_cast<unsigned>(tasks));
    for (int i = 0; i < tasks; ++i) {
      device.enqueueNoNotification([&done, i] {
        Task(i);
        done.Notify();
      });
    }
    done.Wait();
  });
}

void Register(const std::string& name, const std::function<void(benchmark::State&)>& count) {
  benchmark::RegisterBenchmark(name.c_str(), count)
      ->Iterations(100)
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

void RegisterAll() {
  for (const int threads : {2, 8, 32, 64, 128}) {
    const std::string size = "/" + std::to_string(threads) + "/";
    for (const bool asleep : {false, true}) {
      const std::string name = (asleep ? "asleep" : "awake") + size;
      Register(name + "cosched",
               [=](benchmark::State& state) { CountLoops(state, threads, asleep); });
      Register(name + "eigen",
               [=](benchmark::State& state) { CountEigen(state, threads, asleep); });
    }
    Register("resize" + size + "cosched",
             [=](benchmark::State& state) { CountResizes(state, threads); });
    Register("nodes" + size + "cosched",
             [=](benchmark::State& state) { CountNodes(state, threads); });
  }
}

}  // namespace
}  // namespace cosched

int main(int argc, char** argv) {
  cosched::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
