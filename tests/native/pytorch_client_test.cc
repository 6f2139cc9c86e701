// PyTorch with the library that makes OpenMP programs follow their grants: it trains as without.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "tests/experiments/temporary_folder.h"
#include "tests/native/preloaded_program.h"
#include "tests/paths.h"

namespace cosched {
namespace {

constexpr const char* kPython = "/usr/bin/python3";

class PyTorchClientTest : public ::testing::Test {
 protected:
  static bool HasPyTorch() {
    return std::system(
               (std::string(kPython) + " -c 'import torch, torchvision' 2> /dev/null").c_str()) ==
           0;
  }
  // Of each step of a small training with two threads; with a page: steered, with the library.
  std::vector<double> Losses(const ClientPage* page) const {
    const std::string script = InSource("experiments/examples/programs/train_pytorch.py");
    SteeredProgram program(PreloadedStart(
        {kPython, script, "--model", "resnet18", "--batch", "2", "--size", "64", "--steps", "5"},
        {"OMP_NUM_THREADS=2", "HOME=/nonexistent"}, page, output_, "/dev/null"));
    EXPECT_EQ(ExitCodeOf(&program), 0);
    const std::string printed = ReadText(output_);
    std::vector<double> losses;
    const std::regex line("loss ([-0-9.e+naif]+)");
    for (std::sregex_iterator it(printed.begin(), printed.end(), line), end; it != end; ++it)
      losses.push_back(std::strtod((*it)[1].str().c_str(), nullptr));
    return losses;
  }

  const TemporaryFolder folder_;
  const std::string output_ = (folder_.path() / "output").string();
};

// With one thread it has no regions, between which it would follow.
TEST_F(PyTorchClientTest, ItGrowsFromOneThread) {
  if (!HasPyTorch()) GTEST_SKIP() << "there is no python3-torch and python3-torchvision";
  ClientPage page;
  page.Grant(1, {0, 1});
  SteeredProgram program(PreloadedStart(
      {kPython, "-c",
       "import torch\nvalues = torch.ones(1000000)\nwhile True: values = torch.tanh(values)"},
      {"OMP_NUM_THREADS=2", "HOME=/nonexistent"}, &page, output_, "/dev/null"));
  for (const int threads : {1, 2, 1, 3}) {
    const uint64_t grant = page.Grant(threads, {0, 1});
    while (page.Read().followed < grant) ASSERT_FALSE(EndsWithin(&program, 1));
    EXPECT_EQ(page.Read().threads, threads);
  }
  EXPECT_FALSE(page.Read().rigid);
}

TEST_F(PyTorchClientTest, ItsLossIsTheSameAtAFixedNumberOfThreads) {
  if (!HasPyTorch()) GTEST_SKIP() << "there is no python3-torch and python3-torchvision";
  const std::vector<double> alone = Losses(nullptr);
  ClientPage page;
  page.Grant(2, {0, 1});
  const std::vector<double> steered = Losses(&page);
  ASSERT_EQ(alone.size(), 5u);
  ASSERT_EQ(steered.size(), alone.size());
  for (size_t step = 0; step < alone.size(); ++step)
    EXPECT_LE(std::abs(steered[step] - alone[step]), 1e-6 * std::abs(alone[step])) << step;
  EXPECT_GT(page.Read().regions, 100);
  EXPECT_FALSE(page.Read().rigid);
}

}  // namespace
}  // namespace cosched
