#include "experiments/hosts/machine_conditions.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

namespace cosched {
namespace {

bool TellOfOtherPrograms(const std::vector<std::string>& marks) {
  return std::ranges::any_of(marks, [](const std::string& mark) {
    return mark == "other programs used more than 10 % of the experiment's cores meanwhile";
  });
}

TEST(MachineConditionsTest, AProgramThatIsNotOursIsTold) {
  const Topology here = Topology::ThisMachine();
  const CpuSet core{here.Cpus().First()};
  const MachineConditions conditions(core, here);
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // However this test ends.
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(static_cast<size_t>(core.First()), &mask);
    sched_setaffinity(0, sizeof(mask), &mask);
    for (volatile bool burns = true; burns;) {
    }
    _exit(0);
  }
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  // As soon as it has got a tenth of the core: the kernel's account can only be asked, now and again.
  bool told = false;
  while (!told && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    told = TellOfOtherPrograms(conditions.Marks(Duration(0)));
  }
  EXPECT_TRUE(told);
  EXPECT_FALSE(TellOfOtherPrograms(conditions.Marks(std::chrono::hours(1)))) << "all of it is ours";
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

TEST(MachineConditionsTest, CoresThatAreNotOnlineAreTold) {
  const Topology many = Topology::Synthetic("core:4096 pu:1");
  const auto tells = [](const std::string& mark) {
    return mark.starts_with("CPU 4095 is not online any more");
  };
  EXPECT_TRUE(
      std::ranges::any_of(MachineConditions({CpuSet::kMaxCpu}, many).Marks(Duration(0)), tells));
  const Topology here = Topology::ThisMachine();
  EXPECT_FALSE(std::ranges::any_of(MachineConditions(here.Cpus(), here).Marks(Duration(0)), tells));
}

}  // namespace
}  // namespace cosched
