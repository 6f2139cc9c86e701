#pragma once
// Runs the command as a user does, in a folder of its own with an experiment file x.toml: for tests
// of exit codes, messages and what is left behind.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {

struct Ended {
  int exit_code = -1;
  std::string out;
  std::string err;
};

inline constexpr int kNotPrepared = 99;

class CliTest : public testing::Test {
 protected:
  CliTest() {
    // Tests may run side by side; their runs do not lock each other out.
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread runs yet.
    setenv("COSCHED_LOCKS", folder_.path().c_str(), 1);
    WriteText(folder_.path() / "x.toml", R"(name = "x"
trials = 1
policies = ["strict"]
[machine]
cores = "0"
[trace]
jobs = 2
gap = { distribution = "fixed", mean_s = 0 }
[[workload]]
model = "lenet5"
batch = 8
steps = 3
)");
  }

  // Starts the command in the test's folder, in a process that `prepare` has changed before.
  pid_t Start(
      std::vector<std::string> arguments,
      const std::function<bool()>& prepare = [] { return true; }) {
    arguments.insert(arguments.begin(), CoschedBinary());
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const std::string out = folder_.path() / "out";
    const std::string err = folder_.path() / "err";
    const pid_t pid = fork();
    if (pid != 0) return pid;
    const bool ready =
        chdir(folder_.path().c_str()) == 0 &&
        dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO) >= 0 &&
        dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO) >= 0;
    if (ready && prepare()) execv(argv[0], argv.data());
    _exit(kNotPrepared);
  }

  Ended Wait(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
            ReadText(folder_.path() / "out"), ReadText(folder_.path() / "err")};
  }

  Ended Run(std::vector<std::string> arguments) { return Wait(Start(std::move(arguments))); }

  // Refused with exit code 2, one message that contains `words`, and nothing left behind.
  void ExpectRefused(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& words) {
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_EQ(ended.out, "");
    for (const std::string& word : words)
      EXPECT_NE(ended.err.find(word), std::string::npos) << ended.err;
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "results"));
  }

  static std::string CoresOfThisMachine() {
    return Topology::ThisMachine().OneThreadPerCore().ToString();
  }

  std::vector<std::filesystem::path> Runs() {
    std::vector<std::filesystem::path> runs;
    for (const auto& entry :
         std::filesystem::directory_iterator(folder_.path() / "results" / "x")) {
      runs.push_back(entry.path());
    }
    return runs;
  }

  const TemporaryFolder folder_;
};

}  // namespace cosched
