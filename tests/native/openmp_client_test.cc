// The library that makes OpenMP programs follow their grants (experiments/client/cosched_openmp.c):
// whatever they do, they compute what they compute without it, while the grant changes all the while.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/os/process_sampler.h"
#include "experiments/tenant/client_page.h"
#include "experiments/tenant/steered_program.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using Clock = std::chrono::steady_clock;

// 50, or what the environment says: 10,000 of each take minutes.
int ResizesOfAWay() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it.
  const char* const many = std::getenv("COSCHED_OPENMP_RESIZES");
  return many == nullptr ? 50 : std::atoi(many);
}

struct Ran {
  int exit_code = -1;
  std::string output;
  int grants = 0;    // Made while it ran, …
  int followed = 0;  // … and seen to be followed.
  ClientPage::Said said;
};

class OpenMpClientTest : public ::testing::Test {
 protected:
  // The program's variables, and the preloaded library with its page if there is one.
  std::vector<std::string> Environment(const ClientPage* page) const {
    std::vector<std::string> environment = {"OMP_NUM_THREADS=2", "OMP_SCHEDULE=dynamic",
                                            "PATH=/usr/bin:/bin"};
    if (page != nullptr) {
      environment.push_back(page->Variable());
      environment.push_back("LD_PRELOAD=" COSCHED_OPENMP_LIBRARY);
    }
    return environment;
  }
  ProgramStart StartOf(const std::vector<std::string>& arguments, const ClientPage* page) const {
    ProgramStart start;
    start.arguments = {"sh", "-c", "exec \"$@\" > \"$0\" 2>" + (folder_.path() / "errors").string(),
                       (folder_.path() / "output").string()};
    start.arguments.insert(start.arguments.end(), arguments.begin(), arguments.end());
    start.environment = Environment(page);
    if (page != nullptr) start.inherited.push_back(page->fd());
    return start;
  }
  // The next grant comes when the last one was followed, so that none is skipped.
  Ran RunSteered(const std::vector<std::string>& arguments, int most_threads = 3) {
    Ran ran;
    ClientPage page;
    uint64_t grant = page.Grant(2, {0, 1});
    SteeredProgram program(StartOf(arguments, &page));
    while (!program.Ended()) {
      ran.said = page.Read();
      if (ran.said.followed < grant && !ran.said.rigid) {
        std::this_thread::yield();
        continue;
      }
      ran.followed += ran.said.followed == grant ? 1 : 0;
      grant = page.Grant(1 + ++ran.grants % most_threads, {0, 1});
      if (ran.said.rigid) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ran.said = page.Read();
    ran.exit_code = program.Ended()->exit_code;
    ran.output = ReadText(folder_.path() / "output");
    return ran;
  }
  std::string Alone(const std::vector<std::string>& arguments) {
    SteeredProgram program(StartOf(arguments, nullptr));
    while (!program.Ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ReadText(folder_.path() / "output");
  }
  // As often as it takes until so many grants were followed; what it computes never differs.
  void ExpectSteered(const std::vector<std::string>& arguments, int followed) {
    const std::string alone = Alone(arguments);
    ASSERT_FALSE(alone.empty());
    while (followed > 0) {
      const Ran ran = RunSteered(arguments);
      ASSERT_EQ(ran.exit_code, 0);
      ASSERT_EQ(ran.output, alone);
      ASSERT_FALSE(ran.said.rigid) << Errors();
      ASSERT_GE(ran.said.regions, 2000);
      followed -= ran.followed;
    }
  }
  static std::vector<std::string> Program(const std::string& way, int regions = 2000) {
    return {COSCHED_OPENMP_PROGRAM, way, std::to_string(regions)};
  }
  std::string Errors() const { return ReadText(folder_.path() / "errors"); }

  const TemporaryFolder folder_;
};

class OpenMpWaysTest : public OpenMpClientTest,
                       public ::testing::WithParamInterface<const char*> {};

TEST_P(OpenMpWaysTest, ComputesTheSameWhileItIsResized) {
  ExpectSteered(Program(GetParam()), ResizesOfAWay());
}

INSTANTIATE_TEST_SUITE_P(Ways, OpenMpWaysTest,
                         ::testing::Values("plain", "scheduled", "nested", "dynamic", "bind",
                                           "fork", "exec"),
                         [](const auto& way) { return std::string(way.param); });

class RigidOpenMpTest : public OpenMpClientTest,
                        public ::testing::WithParamInterface<const char*> {};

// What counts on its threads keeps them, and is told so.
TEST_P(RigidOpenMpTest, IsLeftAlone) {
  const std::string alone = Alone(Program(GetParam()));
  const Ran ran = RunSteered(Program(GetParam()));
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.output, alone);
  EXPECT_TRUE(ran.said.rigid);
  EXPECT_NE(Errors().find("its OpenMP threads stay as they are"), std::string::npos) << Errors();
}

INSTANTIATE_TEST_SUITE_P(Ways, RigidOpenMpTest, ::testing::Values("ask", "set", "numbered"),
                         [](const auto& way) { return std::string(way.param); });

TEST_F(OpenMpClientTest, ItCrashesAsItWould) {
  const Ran ran = RunSteered(Program("crash"));
  EXPECT_EQ(ran.exit_code, 128 + SIGABRT);
}

// One copy of the runtime is linked, another one comes later and out of sight.
TEST_F(OpenMpClientTest, ASecondRuntimeIsNoMatter) {
  const std::filesystem::path copy = folder_.path() / "libgomp-copy.so.1";
  std::filesystem::copy_file(COSCHED_LIBGOMP, copy);
  std::vector<std::string> arguments = Program("dlopen");
  arguments.push_back(copy);
  ExpectSteered(arguments, 50);
}

TEST_F(OpenMpClientTest, AStencilHasTheSameBits) {
  const std::vector<std::string> arguments = {COSCHED_STENCIL, "--size", "200", "--sweeps", "3000"};
  ExpectSteered(arguments, 50);
}

TEST_F(OpenMpClientTest, TenThousandResizes) { ExpectSteered(Program("plain", 30000), 10000); }

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
// team of several libgomp ends the others, of one it lets them sleep.
TEST_F(OpenMpClientTest, SurplusThreadsRestWhenItHasFollowed) {
  ClientPage page;
  page.Grant(3, {0, 1});
  SteeredProgram program(StartOf(Program("plain", 1'000'000'000), &page));
  for (const int threads : {3, 1, 2, 1, 3}) {
    const uint64_t grant = page.Grant(threads, {0, 1});
    while (page.Read().followed < grant) std::this_thread::yield();
    EXPECT_EQ(page.Read().threads, threads);
    // A region that has begun since has that many.
    const int64_t regions = page.Read().regions;
    while (page.Read().regions < regions + 2) std::this_thread::yield();
    const auto until = Clock::now() + std::chrono::seconds(60);
    const auto surplus = static_cast<size_t>(threads) + 1;
    while (RunningThreads(program.pid(), std::chrono::milliseconds(20)) >= surplus &&
           Clock::now() < until) {
    }
    EXPECT_LT(RunningThreads(program.pid(), std::chrono::milliseconds(20)), surplus);
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
  std::vector<std::string> arguments = {"env", "LD_PRELOAD=" COSCHED_OPENMP_LIBRARY};
  for (const std::string& argument : Program("plain")) arguments.push_back(argument);
  EXPECT_EQ(Alone(arguments), Alone(Program("plain")));
  EXPECT_EQ(Errors(), "");
}

}  // namespace
}  // namespace cosched
