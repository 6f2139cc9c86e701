// What crowding costs: N processes of two threads each on the same two cores run loops as ResNet-20
// (batch 32) and LeNet-5 (batch 64) do in training, on our pools, on oneTBB and on libgomp with
// OMP_WAIT_POLICY=passive. A loop has two pieces; who waits for a piece whose thread is not running
// should not keep the core from those that could run.
//
//   bench_crowding [--benchmark_filter=resnet20] --benchmark_repetitions=5
//                  --benchmark_enable_random_interleaving=true
//
// sumN = thousands of loops a second of all N processes together; lost_% = what the most processes
// do less than the best N; cpuN_us = CPU time of a loop. Wants an idle machine: 4 s a repetition.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/check.h"
#include "tests/bench/resize_peer.h"

namespace cosched {
namespace {

using std::chrono::duration;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr int kThreads = 2;
constexpr std::array kCrowds = {1, 2, 4, 6};
constexpr auto kWindow = std::chrono::milliseconds(700);

struct Program {
  const char* name;
  std::vector<double> pieces;  // Microseconds of a piece of each loop, as measured of the model.
  double serial;               // Microseconds between two loops.
};

const std::vector<Program>& Programs() {
  static const std::vector<Program> programs = {
      {"resnet20", {41, 1, 75, 300, 21, 57, 7, 143, 30, 1000, 14, 110}, 2},
      {"lenet5", {12, 1, 60, 2, 334, 6, 20, 1, 174, 3, 40, 1}, 2},
  };
  return programs;
}

struct Peer {
  const char* name;
  std::unique_ptr<ResizePeer> (*make)(int most);
};
constexpr std::array<Peer, 3> kPeers = {{{"cosched", MakeCoschedPeer},
                                         {"onetbb", MakeOneTbbPeer},
                                         {"libgomp_passive", MakeOpenMpPeer}}};

// Arithmetic on a buffer that stays in the first cache: the same work, however long it takes.
void Pass() {
  thread_local std::array<float, 4096> values{};
  for (float& value : values) value = value * 0.5f + 1;
  benchmark::DoNotOptimize(values.data());
  benchmark::ClobberMemory();
}

void Work(double passes) {
  static thread_local double owed = 0;  // Pieces may be shorter than a pass.
  for (owed += passes; owed >= 1; --owed) Pass();
}

double PassesPerMicrosecond() {
  constexpr int kPasses = 1000;
  nanoseconds best = nanoseconds::max();
  for (int i = 0; i < 100; ++i) {
    const auto start = steady_clock::now();
    Work(kPasses);
    best = std::min<nanoseconds>(best, steady_clock::now() - start);
  }
  return kPasses / duration<double, std::micro>(best).count();
}

struct Outcome {
  double loops = 0;
  double cpu_seconds = 0;
};

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// One process of the crowd, begun anew so that no runtime inherits threads: warms up, counts loops
// from `begin` on for kWindow, and goes on a little, because the others may still count.
int RunTenant(std::span<char*> arguments) {
  const Peer& peer = kPeers.at(static_cast<size_t>(std::atoi(arguments[0])));
  const Program& program = Programs().at(static_cast<size_t>(std::atoi(arguments[1])));
  const double passes = std::atof(arguments[2]);  // A microsecond.
  const steady_clock::time_point begin{nanoseconds(std::atoll(arguments[3]))};
  const auto end = begin + kWindow;
  const auto pool = peer.make(kThreads);
  Outcome outcome;
  size_t next = 0;
  double piece = 1;  // A piece of the loop that runs; read by its pieces, written between loops.
  double cpu_at_begin = 0, cpu_at_end = 0;
  pool->Compute(
      kThreads, [&] { Work(piece); }, [] {},
      [&] {
        const auto now = steady_clock::now();
        if (now < begin) cpu_at_begin = CpuSeconds();
        if (now >= begin && now < end) ++outcome.loops;
        if (now >= end && cpu_at_end == 0) cpu_at_end = CpuSeconds();
        Work(program.serial * passes);
        piece = program.pieces[next++ % program.pieces.size()] * passes;
        return now >= end + kWindow / 10;
      });
  std::printf("%.0f %.6f\n", outcome.loops, cpu_at_end - cpu_at_begin);
  return 0;
}

std::FILE* StartTenant(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  CHECK(pipe2(ends.data(), O_CLOEXEC) == 0) << "no pipe";
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::string policy = "OMP_WAIT_POLICY=passive";  // Read by libgomp when a process starts.
  std::vector<char*> environment = {policy.data()};
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  environment.push_back(nullptr);
  const pid_t pid = fork();
  CHECK(pid >= 0) << "no process";
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execve("/proc/self/exe", arguments.data(), environment.data());
    _exit(127);
  }
  close(ends[1]);
  return fdopen(ends[0], "r");
}

Outcome RunCrowd(size_t peer, size_t program, double passes, int processes) {
  const auto begin = steady_clock::now() + kWindow / 4;
  std::vector<std::FILE*> tenants;
  for (int i = 0; i < processes; ++i) {
    tenants.push_back(
        StartTenant({"bench_crowding", "--tenant", std::to_string(peer), std::to_string(program),
                     std::to_string(passes), std::to_string(begin.time_since_epoch().count())}));
  }
  Outcome sum;
  for (std::FILE* tenant : tenants) {
    Outcome one;
    CHECK(std::fscanf(tenant, "%lf %lf", &one.loops, &one.cpu_seconds) == 2)
        << "a tenant has failed";
    sum.loops += one.loops;
    sum.cpu_seconds += one.cpu_seconds;
    std::fclose(tenant);
  }
  while (wait(nullptr) > 0) {
  }
  return sum;
}

void Crowd(benchmark::State& state, size_t peer, size_t program, double passes) {
  for (auto _ : state) {
    double best = 0, last = 0;
    for (const int processes : kCrowds) {
      const Outcome sum = RunCrowd(peer, program, passes, processes);
      const std::string suffix = std::to_string(processes);
      last = sum.loops / duration<double, std::milli>(kWindow).count();
      best = std::max(best, last);
      state.counters["sum" + suffix] = last;
      state.counters["cpu" + suffix + "_us"] = sum.cpu_seconds * 1e6 / std::max(1.0, sum.loops);
    }
    state.counters["lost_%"] = 100 * (1 - last / best);
  }
}

// The first two of the CPUs that this process may use; those it starts inherit them.
void KeepTwoCpus() {
  cpu_set_t allowed, kept;
  CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0) << "no affinity";
  CPU_ZERO(&kept);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&kept) < kThreads; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &kept);
  }
  CHECK(sched_setaffinity(0, sizeof kept, &kept) == 0) << "no affinity";
}

void Register() {
  const double passes = PassesPerMicrosecond();
  for (size_t program = 0; program < Programs().size(); ++program) {
    for (size_t peer = 0; peer < kPeers.size(); ++peer) {
      const std::string name =
          std::string("crowd/") + Programs()[program].name + "/" + kPeers.at(peer).name;
      benchmark::RegisterBenchmark(
          name.c_str(), [=](benchmark::State& state) { Crowd(state, peer, program, passes); })
          ->Iterations(1)
          ->Unit(benchmark::kSecond)
          ->UseRealTime();
    }
  }
}

}  // namespace
}  // namespace cosched

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "--tenant")
    return cosched::RunTenant({argv + 2, static_cast<size_t>(argc - 2)});
  cosched::KeepTwoCpus();
  cosched::Register();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
