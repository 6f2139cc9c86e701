// `cosched tenant` as a person uses it.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/topology.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {
namespace {

struct Outcome {
  int exit_code = -1;
  std::string output, errors;
};

std::string Contents(FILE* file) {
  std::string text;
  std::rewind(file);
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
  std::fclose(file);
  return text;
}

size_t Size(FILE* file) {
  std::fseek(file, 0, SEEK_END);
  return static_cast<size_t>(std::ftell(file));
}

// Interrupts the command once it has written something to stderr, if asked to.
Outcome RunTenant(std::vector<const char*> arguments, bool interrupt = false) {
  FILE* const output = std::tmpfile();
  FILE* const errors = std::tmpfile();
  arguments.insert(arguments.begin(),
                   {CoschedBinary(), "tenant", "--model", "lenet5", "--batch", "8"});
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(fileno(output), 1);
    dup2(fileno(errors), 2);
    execv(CoschedBinary(), const_cast<char* const*>(arguments.data()));
    _exit(127);
  }
  while (interrupt && Size(errors) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (interrupt) kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Contents(output), Contents(errors)};
}

// "" where there are not so many.
std::string TwoCores() {
  const CpuSet cores = Topology::ThisMachine().OneThreadPerCore();
  return cores.Count() < 2 ? "" : cores.Lowest(2).ToString();
}

TEST(TenantBinaryTest, ResizesInTheMiddleOfARunAndSumsItUp) {
  const std::string cores = TwoCores();
  if (cores.empty()) GTEST_SKIP() << "needs two cores";
  const Outcome run = RunTenant(
      {"--cores", cores.c_str(), "--steps", "30", "--resize-at", "10:1", "--resize-at", "20:2"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(run.output.rfind("lenet5 train batch 8: 30 steps, ", 0), 0u) << run.output;
  EXPECT_NE(run.output.find("2 resizes (longest settle "), std::string::npos) << run.output;
  const size_t first = run.output.find("2 threads"), second = run.output.find("-> 1 thread ");
  EXPECT_LT(first, second) << run.output;
  EXPECT_LT(second, run.output.find("-> 2 threads")) << run.output;
  EXPECT_NE(run.output.find("\ngrow "), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("\nshrink "), std::string::npos) << run.output;
  EXPECT_NE(run.output.find(" 1 times, p50 "), std::string::npos) << run.output;
  EXPECT_NE(run.errors.find("step 10: 2 -> 1 thread (1x1) on core "), std::string::npos)
      << run.errors;
  EXPECT_NE(run.errors.find(", by counter, settled in "), std::string::npos) << run.errors;
  EXPECT_NE(run.errors.find("step 30/30  loss "), std::string::npos) << run.errors;
}

// A step of lenet5 has some tens of nodes: the 100th and the 700th are in different steps.
TEST(TenantBinaryTest, ResizesWhenTheNthNodeBegins) {
  const std::string cores = TwoCores();
  if (cores.empty()) GTEST_SKIP() << "needs two cores";
  const Outcome run = RunTenant({"--cores", cores.c_str(), "--steps", "30", "--resize-at",
                                 "node:100:1", "--resize-at", "node:700:2"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_NE(run.output.find("2 resizes (longest settle "), std::string::npos) << run.output;
  const size_t shrink = run.errors.find(": 2 -> 1 thread (1x1) on core ");
  const size_t grow = run.errors.find(": 1 -> 2 threads (1x2) on cores ");
  ASSERT_NE(shrink, std::string::npos) << run.errors;
  ASSERT_NE(grow, std::string::npos) << run.errors;
  EXPECT_LT(shrink, grow) << run.errors;
  // The cause is the node that begins, so an op is named.
  for (const size_t line : {shrink, grow}) {
    const std::string told = run.errors.substr(line, run.errors.find('\n', line) - line);
    EXPECT_NE(told.find(", by counter, settled in "), std::string::npos) << told;
  }
}

// Later than the run's last node: it never happens.
TEST(TenantBinaryTest, NodeThatNeverComesResizesNothing) {
  const Outcome run = RunTenant({"--steps", "3", "--resize-at", "node:1000000:1"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(run.errors.find("by counter"), std::string::npos) << run.errors;
}

TEST(TenantBinaryTest, ResizedRunComputesTheSame) {
  if (Topology::ThisMachine().OneThreadPerCore().Count() < 2) GTEST_SKIP() << "needs two cores";
  const auto loss = [](const Outcome& run) {
    const size_t found = run.output.find("final loss ");
    return found == std::string::npos ? run.errors : run.output.substr(found, 17);
  };
  EXPECT_EQ(loss(RunTenant({"--steps", "12"})),
            loss(RunTenant({"--steps", "12", "--resize-at", "3:1", "--resize-at", "7:2"})));
}

TEST(TenantBinaryTest, InterruptStopsItWithASummary) {
  const Outcome run = RunTenant({"--steps", "1000"}, /*interrupt=*/true);
  EXPECT_EQ(run.exit_code, 130);
  EXPECT_EQ(run.output.rfind("lenet5 train batch 8: ", 0), 0u) << run.output << run.errors;
}

TEST(TenantBinaryTest, ServesRequestsOfItsOwnAndSumsThemUp) {
  const Outcome run =
      RunTenant({"--mode", "serve", "--max-batch", "4", "--requests", "300", "--rate", "2000"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(run.output.rfind("lenet5 serve up to 4 at once: 300 requests answered, ", 0), 0u)
      << run.output;
  EXPECT_NE(run.output.find("latency from when it was due: p50 "), std::string::npos) << run.output;
  EXPECT_NE(run.output.find(" p99 "), std::string::npos) << run.output;
}

TEST(TenantBinaryTest, ServesWithTheWeightsThatItWasTrainedTo) {
  const TemporaryFolder folder;
  const std::string weights = (folder.path() / "weights").string();
  const Outcome trained = RunTenant({"--steps", "2", "--save-weights", weights.c_str()});
  ASSERT_EQ(trained.exit_code, 0) << trained.errors;
  const std::vector<const char*> serve = {"--mode", "serve", "--requests",     "20",
                                          "--rate", "2000",  "--load-weights", weights.c_str()};
  const Outcome served = RunTenant(serve);
  EXPECT_EQ(served.exit_code, 0) << served.errors;
  EXPECT_NE(served.output.find("20 requests answered"), std::string::npos) << served.output;
  std::ofstream(weights) << "no weights";
  const Outcome refused = RunTenant(serve);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.errors.find(weights), std::string::npos) << refused.errors;
}

TEST(TenantBinaryTest, BadValueExitsWithTwo) {
  const Outcome run = RunTenant({"--steps", "-1"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.errors.find("--steps: \"-1\"; allowed: an integer from 0"), std::string::npos)
      << run.errors;
}

}  // namespace
}  // namespace cosched
