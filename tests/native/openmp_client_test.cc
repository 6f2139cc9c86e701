// The library that makes OpenMP programs follow their grants (experiments/client/cosched_openmp.c):
// whatever they do, they compute what they compute without it, while the grant changes all the while.
// With GCC's runtime and with LLVM's, which programs that GCC compiled may have, too.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/os/process_sampler.h"
#include "experiments/tenant/client_page.h"
#include "experiments/tenant/steered_program.h"
#include "tests/native/preloaded_program_fixture.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using Clock = std::chrono::steady_clock;

// Empty where there is no clang with its runtime (Debian: libomp-dev).
#ifdef COSCHED_LLVM_OPENMP
const std::string kLlvmOpenMp = InBuild(COSCHED_LLVM_OPENMP "/");
#else
const std::string kLlvmOpenMp;
#endif

enum class Runtime { kGcc, kLlvm, kGccOnLlvm };
constexpr Runtime kRuntimes[] = {Runtime::kGcc, Runtime::kLlvm, Runtime::kGccOnLlvm};

std::string NameOf(Runtime runtime) {
  switch (runtime) {
    case Runtime::kGcc: return "Gcc";
    case Runtime::kLlvm: return "Llvm";
    case Runtime::kGccOnLlvm: return "GccOnLlvm";
  }
  return "";
}

std::string BinaryOf(Runtime runtime) {
  switch (runtime) {
    case Runtime::kGcc: return InBuild(COSCHED_OPENMP_PROGRAM);
    case Runtime::kLlvm: return kLlvmOpenMp + "program";
    case Runtime::kGccOnLlvm: return kLlvmOpenMp + "program_gomp";
  }
  return "";
}

// A library with regions of the other runtime.
std::string BesideOf(Runtime runtime) {
  return runtime == Runtime::kGcc ? kLlvmOpenMp + "beside.so" : InBuild(COSCHED_OPENMP_BESIDE);
}

// There are more threads than cores, and a runner that looks all the while: waiting threads that spin
// take the cores from those that work, and a region lasts a slice of the scheduler's.
const std::vector<std::string> kPassive = {"OMP_WAIT_POLICY=passive"};

// GCC's wait as they do by default, for the few regions of a way.
std::vector<std::string> VariablesOf(Runtime runtime) {
  if (runtime == Runtime::kGcc) return {};
  return kPassive;
}

#define SKIP_WITHOUT_LLVM(runtime)                     \
  if (runtime != Runtime::kGcc && kLlvmOpenMp.empty()) \
  GTEST_SKIP() << "there is no clang with OpenMP (Debian: clang and libomp-dev)"

class OpenMpClientTest : public PreloadedProgramTest {
 protected:
  static std::vector<std::string> Program(const std::string& way, int regions = 2000,
                                          Runtime runtime = Runtime::kGcc) {
    return {BinaryOf(runtime), way, std::to_string(regions)};
  }
};

using RuntimeAndWay = std::tuple<Runtime, const char*>;
class OpenMpWaysTest : public OpenMpClientTest,
                       public ::testing::WithParamInterface<RuntimeAndWay> {};

std::string NameOfWay(const ::testing::TestParamInfo<RuntimeAndWay>& info) {
  return NameOf(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
}

TEST_P(OpenMpWaysTest, ComputesTheSameWhileItIsResized) {
  const auto& [runtime, way] = GetParam();
  SKIP_WITHOUT_LLVM(runtime);
  more_ = VariablesOf(runtime);
  ExpectSteered(Program(way, 2000, runtime), ResizesOfAWay());
}

INSTANTIATE_TEST_SUITE_P(Ways, OpenMpWaysTest,
                         ::testing::Combine(::testing::ValuesIn(kRuntimes),
                                            ::testing::Values("plain", "scheduled", "nested",
                                                              "dynamic", "bind", "fork", "exec",
                                                              "mixed", "league")),
                         NameOfWay);

class RigidOpenMpTest : public OpenMpClientTest,
                        public ::testing::WithParamInterface<RuntimeAndWay> {};

// What counts on its threads keeps them, and is told so.
TEST_P(RigidOpenMpTest, IsLeftAlone) {
  const auto& [runtime, way] = GetParam();
  SKIP_WITHOUT_LLVM(runtime);
  more_ = VariablesOf(runtime);
  const std::vector<std::string> program = Program(way, 2000, runtime);
  const std::string alone = Alone(program);
  const Ran ran = RunSteered(program);
  ExpectRigid(ran);
  EXPECT_EQ(ran.output, alone);
}

INSTANTIATE_TEST_SUITE_P(Ways, RigidOpenMpTest,
                         ::testing::Combine(::testing::ValuesIn(kRuntimes),
                                            ::testing::Values("ask", "set", "numbered",
                                                              "ask_in_fortran", "set_in_fortran")),
                         NameOfWay);

class OpenMpRuntimesTest : public OpenMpClientTest, public ::testing::WithParamInterface<Runtime> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_LLVM(GetParam());
    more_ = kPassive;
  }
};

INSTANTIATE_TEST_SUITE_P(Runtimes, OpenMpRuntimesTest, ::testing::ValuesIn(kRuntimes),
                         [](const auto& info) { return NameOf(info.param); });

TEST_P(OpenMpRuntimesTest, ItCrashesAsItWould) {
  const Ran ran = RunSteered(Program("crash", 2000, GetParam()));
  EXPECT_EQ(ran.exit_code, 128 + SIGABRT);
}

// LLVM's runtime has both GCC's entries and a tool's; regions within regions are not followed.
TEST_P(OpenMpRuntimesTest, ARegionIsCountedOnce) {
  for (const char* const way : {"plain", "nested"}) {
    const Ran ran = RunSteered(Program(way, 2000, GetParam()));
    EXPECT_EQ(ran.said.regions, 2000) << way;
  }
}

// One copy of GCC's runtime comes later and out of sight; another one, or LLVM's, is linked.
TEST_P(OpenMpRuntimesTest, ASecondRuntimeIsNoMatter) {
  const std::filesystem::path copy = folder_.path() / "libgomp-copy.so.1";
  std::filesystem::copy_file(COSCHED_LIBGOMP, copy);
  ExpectSteered(With(Program("dlopen", 2000, GetParam()), copy), 50);
}

TEST_P(OpenMpRuntimesTest, RegionsOfAnotherRuntimeFollowToo) {
  SKIP_WITHOUT_LLVM(Runtime::kLlvm);
  more_ = kPassive;
  const std::string beside = BesideOf(GetParam());
  ExpectSteered(With(Program("beside", 2000, GetParam()), beside), 50);
  const std::vector<std::string> sizes = With(Program("sizes", 10, GetParam()), beside);
  EXPECT_EQ(Alone(sizes), "2 2\n");
  for (const int threads : {1, 3}) {
    ClientPage page;
    page.Grant(threads, {0, 1});
    SteeredProgram program(StartOf(sizes, &page));
    ExitCodeOf(&program);
    EXPECT_EQ(ReadText(folder_.path() / "output"), threads == 1 ? "1 1\n" : "3 3\n");
  }
}

// Also where the runtime of the program is in everybody's sight, and the caller's is not.
TEST_P(OpenMpRuntimesTest, ACallReachesTheRuntimeOfItsCaller) {
  SKIP_WITHOUT_LLVM(Runtime::kLlvm);
  const std::vector<std::string> program =
      With(Program("set_beside", 10, GetParam()), BesideOf(GetParam()));
  const std::string alone = Alone(program);
  EXPECT_EQ(alone, GetParam() == Runtime::kGcc ? "2 1\n" : "1 1\n");
  more_.push_back("LD_PRELOAD=" + InBuild(COSCHED_OPENMP_LIBRARY));
  EXPECT_EQ(Alone(program), alone);
}

// LLVM's takes several times as long as GCC's.
TEST_P(OpenMpRuntimesTest, ManyResizes) {
  const int resizes = GetParam() == Runtime::kGcc ? 10000 : std::max(1000, ResizesOfAWay());
  ExpectSteered(Program("plain", 30000, GetParam()), resizes);
}

class OmptTest : public OpenMpClientTest {
 protected:
  void SetUp() override { SKIP_WITHOUT_LLVM(Runtime::kLlvm); }
};

// A runtime has one tool: one that the user has is not taken away.
TEST_F(OmptTest, AnotherToolIsLeftInPlace) {
  const std::vector<std::string> program = Program("plain", 300, Runtime::kLlvm);
  const std::string alone = Alone(program);
  for (const std::string& variable :
       {"OMP_TOOL_LIBRARIES=" + InBuild(COSCHED_OMPT_TOOL),
        "LD_PRELOAD=" + InBuild(COSCHED_OPENMP_LIBRARY) + ":" + InBuild(COSCHED_OMPT_TOOL),
        "LD_PRELOAD=" + InBuild(COSCHED_OMPT_TOOL) + ":" + InBuild(COSCHED_OPENMP_LIBRARY)}) {
    more_ = {variable};
    const Ran ran = RunSteered(program);
    ExpectRigid(ran);
    EXPECT_EQ(ran.output, "the user's tool\n" + alone) << variable;
    EXPECT_EQ(ran.said.threads, 2);
  }
}

TEST_F(OmptTest, DisabledToolsStayDisabled) {
  const std::vector<std::string> program = Program("plain", 300, Runtime::kLlvm);
  more_ = {"OMP_TOOL=disabled"};
  const Ran ran = RunSteered(program);
  ExpectRigid(ran);
  EXPECT_EQ(ran.output, Alone(program));
}

// How many of its threads may run on so many cores.
size_t ThreadsOn(pid_t process, int cores) {
  ProcessSampler sampler(process);
  sampler.Read();
  size_t count = 0;
  for (const ProcessSampler::Thread& thread : sampler.Threads()) {
    cpu_set_t mask;
    count += sched_getaffinity(thread.tid, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) == cores;
  }
  return count;
}

class OpenMpCoresTest : public OpenMpRuntimesTest {
 protected:
  // Of a program that begins with one thread on one core, and goes on with three on two cores: threads
  // that may run on both.
  size_t ThreadsOnBoth(const Topology& topology) {
    const CpuSet two = topology.Cpus().Lowest(2), one = two.Lowest(1);
    ClientPage page;
    page.Grant(1, one);
    std::vector<std::string> arguments = {"taskset", "-c", one.ToString()};
    for (const std::string& argument : Program("plain", 1'000'000'000, GetParam()))
      arguments.push_back(argument);
    SteeredProgram program(StartOf(arguments, &page));
    while (page.Read().regions < 100) std::this_thread::yield();
    EXPECT_EQ(ThreadsOn(program.pid(), 2), 0);
    program.ConfineTo(two, topology);
    const uint64_t grant = page.Grant(3, two);
    while (page.Read().followed < grant) std::this_thread::yield();
    const int64_t regions = page.Read().regions;
    while (page.Read().regions < regions + 2) std::this_thread::yield();
    EXPECT_EQ(ThreadsOn(program.pid(), 1) + ThreadsOn(program.pid(), 2), 3);
    return ThreadsOn(program.pid(), 2);
  }
};

INSTANTIATE_TEST_SUITE_P(Runtimes, OpenMpCoresTest, ::testing::ValuesIn(kRuntimes),
                         [](const auto& info) { return NameOf(info.param); });

// LLVM's runtime would put a new worker on the cores that the process began with.
TEST_P(OpenMpCoresTest, AThreadThatComesLaterRunsOnTheGrantedCores) {
  const Topology topology = Topology::ThisMachine();
  if (topology.Cpus().Count() < 2) GTEST_SKIP() << "needs two cores";
  EXPECT_EQ(ThreadsOnBoth(topology), 3);
}

// Where the user says that it shall, it does.
TEST_P(OpenMpCoresTest, AThreadThatIsBoundStaysBound) {
  const Topology topology = Topology::ThisMachine();
  if (topology.Cpus().Count() < 2) GTEST_SKIP() << "needs two cores";
  more_.push_back(GetParam() == Runtime::kGcc ? "OMP_PROC_BIND=true" : "KMP_AFFINITY=compact");
  EXPECT_EQ(ThreadsOnBoth(topology), 1);
}

TEST_F(OpenMpClientTest, AStencilHasTheSameBits) {
  const std::vector<std::string> arguments = {InBuild(COSCHED_STENCIL), "--size", "200", "--sweeps",
                                              "3000"};
  ExpectSteered(arguments, 50);
}

// The same grid by the client library and oneTBB: three lines, and nothing that is preloaded.
TEST_F(OpenMpClientTest, AStencilOfOneTbbHasThemToo) {
  const std::vector<std::string> size = {"--size", "200", "--sweeps", "3000"};
  std::vector<std::string> ours = {InBuild(COSCHED_STENCIL_TBB)},
                           theirs = {InBuild(COSCHED_STENCIL)};
  ours.insert(ours.end(), size.begin(), size.end());
  theirs.insert(theirs.end(), size.begin(), size.end());
  more_ = {"LD_PRELOAD="};
  ExpectSteered(ours, 50, 0);
  EXPECT_EQ(Alone(ours), Alone(theirs));
}

// Threads of the process that run meanwhile.
size_t RunningThreads(pid_t process, std::chrono::milliseconds time) {
  ProcessSampler sampler(process);
  sampler.Read();
  std::map<pid_t, Duration> before;
  for (const ProcessSampler::Thread& thread : sampler.Threads())
    before[thread.tid] = thread.run_time;
  std::this_thread::sleep_for(time);
  sampler.Read();
  size_t running = 0;
  for (const ProcessSampler::Thread& thread : sampler.Threads())
    running += thread.run_time != before[thread.tid] ? 1 : 0;
  return running;
}

// A shrink leaves no thread that runs beyond the grant, once the region that was running is over: of a
// team of several libgomp ends the others, of one it lets them sleep, as LLVM's does after 0.2 s.
TEST_P(OpenMpRuntimesTest, SurplusThreadsRestWhenItHasFollowed) {
  more_.clear();
  // One that spins may have to wait for a core meanwhile, and looks as if it rested.
  const std::chrono::milliseconds window(GetParam() == Runtime::kGcc ? 20 : 300);
  ClientPage page;
  page.Grant(3, {0, 1});
  SteeredProgram program(StartOf(Program("plain", 1'000'000'000, GetParam()), &page));
  for (const int threads : {3, 1, 2, 1, 3}) {
    const uint64_t grant = page.Grant(threads, {0, 1});
    while (page.Read().followed < grant) std::this_thread::yield();
    EXPECT_EQ(page.Read().threads, threads);
    // A region that has begun since has that many.
    const int64_t regions = page.Read().regions;
    while (page.Read().regions < regions + 2) std::this_thread::yield();
    const auto until = Clock::now() + std::chrono::seconds(60);
    const auto surplus = static_cast<size_t>(threads) + 1;
    while (RunningThreads(program.pid(), window) >= surplus && Clock::now() < until) {
    }
    EXPECT_LT(RunningThreads(program.pid(), window), surplus);
  }
}

// It looks whether there is OpenMP, as some do.
TEST_F(OpenMpClientTest, AProgramWithoutOpenMpIsNoMatter) {
  const Ran ran = RunSteered({"/usr/bin/python3", "-c",
                              "import ctypes; all = ctypes.CDLL(None); all.omp_set_num_threads(3)\n"
                              "print(all.omp_get_max_threads())"});
  EXPECT_EQ(ran.exit_code, 0) << Errors();
  EXPECT_EQ(ran.output, "1\n");
}

TEST_F(OpenMpClientTest, WithoutATenantItDoesNothing) {
  std::vector<std::string> arguments = {"env", "LD_PRELOAD=" + InBuild(COSCHED_OPENMP_LIBRARY)};
  for (const std::string& argument : Program("plain")) arguments.push_back(argument);
  EXPECT_EQ(Alone(arguments), Alone(Program("plain")));
  EXPECT_EQ(Errors(), "");
}

}  // namespace
}  // namespace cosched
