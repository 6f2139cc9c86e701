// What /proc/cpuinfo says of the first CPU, as x86 and Arm kernels write it.

#include "engine/base/cpu_description.h"

#include <gtest/gtest.h>

#include <sstream>

namespace cosched {
namespace {

using Description = std::map<std::string, std::string>;

Description Read(const std::string& text) {
  std::istringstream stream(text);
  return ReadCpuDescription(stream);
}

TEST(CpuDescription, IsOfTheFirstCpu) {
  EXPECT_EQ(
      Read("processor\t: 0\nmodel name\t: AMD EPYC: 64 cores\ncpu family\t: 26\npower management:\n"
           "\nprocessor\t: 1\nmodel name\t: another\n"),
      (Description{{"processor", "0"},
                   {"model name", "AMD EPYC: 64 cores"},
                   {"cpu family", "26"},
                   {"power management", ""}}));
  EXPECT_EQ(Read("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"),
            (Description{{"processor", "0"}, {"CPU implementer", "0x41"}, {"CPU part", "0xd0c"}}));
}

TEST(CpuDescription, LinesOfAnotherKindAreLeftOut) {
  EXPECT_EQ(Read(""), Description());
  EXPECT_EQ(Read("no colon\nCPU part\t: 0xd0c\n"), (Description{{"CPU part", "0xd0c"}}));
}

TEST(CpuDescription, ThisMachineHasOne) {
  EXPECT_FALSE(ThisCpuDescription().empty());
  EXPECT_FALSE(ThisCpuModel().empty());
}

}  // namespace
}  // namespace cosched
