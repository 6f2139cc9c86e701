// What a loop costs in steps for which threads wait for each other, counted, so that it can be told
// on a machine of few cores what pools of many threads would do: the locks taken and the sleepers
// woken for a loop, by threads. Beside it the locks of Eigen's own pool, which is TensorFlow's, for
// as many tasks.
//
//   awake/THREADS    one loop after the other, two tasks of 50 us a thread
//   asleep/THREADS   the same with a pause between loops, in which all workers go to sleep
//
// The counters: locks, Eigen's locks and wakes a loop, and locks_a_thread, which must not grow with
// the threads. Times mean nothing where there are more threads than cores.

#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "engine/pool/eigen_adapter.h"
#include "engine/pool/malleable_pool.h"

namespace {

std::atomic<int64_t> locks{0}, wakes{0};

}  // namespace

// In place of libc's (CMakeLists.txt).
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
  constexpr long kWake = 1;
  if (number == SYS_futex && (values[1] & kOperation) == kWake)
    wakes.fetch_add(1, std::memory_order_relaxed);
  return __real_syscall(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}
}

namespace cosched {
namespace {

using std::chrono::steady_clock;

constexpr int kTasksAThread = 2;

void Task(int) {
  const auto end = steady_clock::now() + std::chrono::microseconds(50);
  while (steady_clock::now() < end) {
  }
}

// Locks that `loop` takes, a loop, after one that warms up.
double LocksOf(benchmark::State& state, bool asleep, const std::function<void()>& loop) {
  const auto pause = [asleep] {
    if (asleep) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  };
  loop();
  pause();
  locks = wakes = 0;
  int64_t loops = 0;
  for (auto _ : state) {
    loop();
    pause();
    ++loops;
  }
  return static_cast<double>(locks) / static_cast<double>(loops);
}

void Count(benchmark::State& state, int threads, bool asleep) {
  const int tasks = kTasksAThread * threads;
  double ours = 0;
  {
    MalleablePool pool({.name = "bench",
                        .capacity = threads - 1,
                        .when_empty = MalleablePool::WhenEmpty::kRunInCaller});
    pool.Resize(threads - 1);
    while (!pool.Settled()) std::this_thread::yield();
    ours = LocksOf(state, asleep, [&] { pool.ParallelFor(tasks, [](int task) { Task(task); }); });
    state.counters["wakes"] = static_cast<double>(wakes) / static_cast<double>(state.iterations());
  }
  state.counters["locks"] = ours;
  state.counters["locks_a_thread"] = ours / threads;
}

void CountEigen(benchmark::State& state, int threads, bool asleep) {
  const int tasks = kTasksAThread * threads;
  Eigen::ThreadPool pool(threads);
  const Eigen::ThreadPoolDevice device(&pool, threads);
  const double theirs = LocksOf(state, asleep, [&] {
    Eigen::Barrier done(static_cast<unsigned>(tasks));
    for (int i = 0; i < tasks; ++i) {
      device.enqueueNoNotification([&done, i] {
        Task(i);
        done.Notify();
      });
    }
    done.Wait();
  });
  state.counters["locks"] = theirs;
  state.counters["locks_a_thread"] = theirs / threads;
}

void Register() {
  for (const bool asleep : {false, true}) {
    for (const int threads : {2, 8, 32, 64, 128}) {
      const std::string name = (asleep ? "asleep/" : "awake/") + std::to_string(threads) + "/";
      for (const auto& [pool, count] : {std::pair("cosched", &Count), {"eigen", &CountEigen}}) {
        benchmark::RegisterBenchmark((name + pool).c_str(),
                                     [threads, asleep, count = count](benchmark::State& state) {
                                       count(state, threads, asleep);
                                     })
            ->Iterations(100)
            ->Unit(benchmark::kMillisecond)
            ->UseRealTime();
      }
    }
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
