#include "engine/base/topology.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "tests/engine/base/thread_end.h"
#include "tests/engine/base/xml_core_kinds.h"

namespace cosched {
namespace {

CpuSet AffinityOfThisThread() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  EXPECT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  CpuSet cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.Add(cpu);
  }
  return cpus;
}

TEST(TopologyTest, ThisMachineHoldsExactlyTheAllowedCpus) {
  const Topology topology = Topology::ThisMachine();
  EXPECT_TRUE(topology.IsThisSystem());
  EXPECT_EQ(topology.Cpus(), AffinityOfThisThread());
}

TEST(TopologyTest, ThisMachineFollowsTheAffinityOfTheProcess) {
  ASSERT_EQ(getpid(), gettid());  // The main thread's mask stands for the process.
  const Topology all = Topology::ThisMachine();
  const CpuSet last{all.Cpus().ToVector().back()};
  ASSERT_TRUE(all.BindThread(0, last));
  const CpuSet seen = Topology::ThisMachine().Cpus();
  ASSERT_TRUE(all.BindThread(0, all.Cpus()));
  EXPECT_EQ(seen, last);
}

TEST(TopologyTest, BindsThisAndOtherThreads) {
  const Topology topology = Topology::ThisMachine();
  std::thread([&] {
    for (int cpu : topology.Cpus()) {
      EXPECT_TRUE(topology.BindThread(0, {cpu}));
      EXPECT_EQ(AffinityOfThisThread(), CpuSet{cpu});
      std::thread([&, tid = gettid()] {
        EXPECT_TRUE(topology.BindThread(tid, topology.Cpus()));
        EXPECT_EQ(topology.ThreadBinding(tid), topology.Cpus());
      }).join();
      EXPECT_EQ(AffinityOfThisThread(), topology.Cpus());
    }
  }).join();
}

TEST(TopologyTest, BindingOutsideTheMachineIsRefused) {
  const Topology topology = Topology::ThisMachine();
  ASSERT_FALSE(topology.Cpus().Contains(CpuSet::kMaxCpu));
  EXPECT_FALSE(topology.BindThread(0, {CpuSet::kMaxCpu}));
  EXPECT_FALSE(topology.BindThread(0, {}));
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(AffinityOfThisThread(), topology.Cpus());
}

TEST(TopologyTest, BindingOfAThreadThatIsGoneIsEmpty) {
  const Topology topology = Topology::ThisMachine();
  pid_t tid = 0;
  std::thread([&] { tid = gettid(); }).join();
  AwaitEnd(tid);
  EXPECT_TRUE(topology.ThreadBinding(tid).Empty());
}

TEST(TopologyTest, SeesCpusThatTheProcessGotLater) {
  const Topology before = Topology::ThisMachine();
  if (before.Cpus().Count() < 2) GTEST_SKIP() << "needs two cores";
  ASSERT_TRUE(before.BindThread(getpid(), {before.Cpus().First()}));
  const Topology narrow = Topology::ThisMachine();
  ASSERT_TRUE(before.BindThread(getpid(), before.Cpus()));
  EXPECT_EQ(narrow.Cpus().Count(), 1);
  EXPECT_EQ(narrow.ThreadBinding(getpid()), before.Cpus());
}

TEST(TopologyTest, LocatesCpusOfASyntheticMachine) {
  const Topology topology = Topology::Synthetic("pack:2 [numa] l3:4 core:8 pu:2");
  EXPECT_FALSE(topology.IsThisSystem());
  EXPECT_EQ(topology.Cpus(), CpuSet::Range(0, 127));
  for (int cpu : topology.Cpus()) {
    const Topology::Location location = topology.Locate(cpu);
    EXPECT_EQ(location.core, cpu / 2);
    EXPECT_EQ(location.l3, cpu / 16);
    EXPECT_EQ(location.numa, cpu / 64);
    EXPECT_EQ(location.package, cpu / 64);
  }
  EXPECT_EQ(topology.Summary(), "2 packages, 2 NUMA nodes, 8 L3, 64 cores, 128 CPUs");
}

TEST(TopologyTest, KnowsTheHardwareThreadsOfACore) {
  const Topology topology = Topology::Synthetic("pack:1 core:4 pu:2");
  EXPECT_EQ(topology.ThreadsPerCore(), 2);
  EXPECT_TRUE(topology.HasSiblings());
  EXPECT_EQ(topology.OneThreadPerCore().ToString(), "0,2,4,6");
  EXPECT_EQ(topology.SiblingsOf({0, 5}).ToString(), "1,4");
  EXPECT_TRUE(topology.SiblingsOf({0, 1}).Empty());
  const Topology plain = Topology::Synthetic("pack:1 core:4 pu:1");
  EXPECT_EQ(plain.ThreadsPerCore(), 1);
  EXPECT_EQ(plain.OneThreadPerCore(), plain.Cpus());
  EXPECT_TRUE(plain.SiblingsOf({0}).Empty());
}

std::vector<CpuSet> KindsOf(const std::vector<XmlCoreKind>& kinds) {
  const Topology plain = Topology::Synthetic("pack:1 core:8 pu:1");
  const Topology topology = Topology::FromXmlText(XmlWithCoreKinds(plain, kinds));
  return {topology.CoreKinds().begin(), topology.CoreKinds().end()};
}

TEST(TopologyTest, KindsOfCoresAreThoseThatTheCpuOrTheKernelNames) {
  const CpuSet low = CpuSet::Range(0, 3), high = CpuSet::Range(4, 7);
  const std::vector<CpuSet> one = {CpuSet::Range(0, 7)};
  EXPECT_EQ(KindsOf({}), one);
  EXPECT_EQ(KindsOf({{low, "CoreType", "IntelCore"}, {high, "CoreType", "IntelAtom"}}),
            (std::vector<CpuSet>{low, high}));
  EXPECT_EQ(KindsOf({{low, "CoreType", "IntelAtom"}, {high, "CoreType", "IntelCore"}}),
            (std::vector<CpuSet>{high, low}));
  EXPECT_EQ(KindsOf({{{0, 1}, "LinuxCapacity", "160"},
                     {{2, 3, 4, 5}, "LinuxCapacity", "498"},
                     {{6, 7}, "LinuxCapacity", "1024"}}),
            (std::vector<CpuSet>{{6, 7}, {2, 3, 4, 5}, {0, 1}}));
}

TEST(TopologyTest, CoresThatDifferInFrequencyOrByAFewPercentAreOfOneKind) {
  const std::vector<CpuSet> one = {CpuSet::Range(0, 7)};
  EXPECT_EQ(KindsOf({{CpuSet::Range(0, 5), "FrequencyMaxMHz", "5352"},
                     {CpuSet::Range(6, 7), "FrequencyMaxMHz", "7000"}}),
            one);
  EXPECT_EQ(KindsOf({{CpuSet::Range(0, 2), "LinuxCapacity", "1007"},
                     {CpuSet::Range(3, 7), "LinuxCapacity", "1024"}}),
            one);
  EXPECT_EQ(KindsOf({{CpuSet::Range(0, 3), "CoreType", "IntelCore"}}), one) << "half is unknown";
}

TEST(TopologyTest, APartHasTheKindsOfItsCores) {
  const Topology plain = Topology::Synthetic("pack:1 core:8 pu:1");
  const Topology whole = Topology::FromXmlText(XmlWithCoreKinds(
      plain, {{{0, 1, 2, 3}, "CoreType", "IntelAtom"}, {{4, 5, 6, 7}, "CoreType", "IntelCore"}}));
  const Topology part = whole.Within({3, 4, 5});
  ASSERT_EQ(part.CoreKinds().size(), 2U);
  EXPECT_EQ(part.CoreKinds()[0].ToString(), "4-5");
  EXPECT_EQ(part.CoreKinds()[1].ToString(), "3");
  EXPECT_EQ(whole.Within({0, 1}).CoreKinds().size(), 1U);
  EXPECT_FALSE(whole.IsLike(plain));
  EXPECT_TRUE(whole.IsLike(Topology::FromXmlText(whole.Xml())));
}

TEST(TopologyTest, APartKeepsThePlacesOfItsCpus) {
  const Topology whole = Topology::Synthetic("pack:2 [numa] l3:2 core:2 pu:2");
  const Topology part = whole.Within({1, 6, 7, 12});
  EXPECT_EQ(part.Cpus().ToString(), "1,6-7,12");
  for (const int cpu : part.Cpus()) EXPECT_EQ(part.Locate(cpu), whole.Locate(cpu));
  EXPECT_EQ(part.OneThreadPerCore().ToString(), "1,6,12");
  EXPECT_TRUE(part.SiblingsOf({1}).Empty()) << "its sibling is not there";
  EXPECT_EQ(part.SiblingsOf({6}).ToString(), "7");
  EXPECT_EQ(part.Domains().size(), 3U);
  EXPECT_FALSE(part.Within({1, 6, 12}).HasSiblings());
  EXPECT_FALSE(part.IsThisSystem());
}

TEST(TopologyTest, LevelsThatAreNotThereAreMinusOne) {
  const Topology topology = Topology::Synthetic("core:4 pu:1");
  EXPECT_EQ(topology.Locate(3).core, 3);
  EXPECT_EQ(topology.Locate(3).l3, -1);
  EXPECT_EQ(topology.Locate(3).package, -1);
  EXPECT_EQ(topology.Locate(3).numa, 0);  // hwloc always has memory somewhere.
}

TEST(TopologyTest, BindingOnASyntheticMachineIsRefused) {
  const Topology topology = Topology::Synthetic("core:2 pu:1");
  const CpuSet before = AffinityOfThisThread();
  EXPECT_FALSE(topology.BindThread(0, {0}));
  EXPECT_TRUE(topology.ThreadBinding(0).Empty());
  EXPECT_EQ(AffinityOfThisThread(), before);
}

TEST(TopologyTest, MoreCpusThanASetHoldsAreRefused) {
  EXPECT_EQ(Topology::Synthetic("pack:64 core:64 pu:1").Cpus().Count(), CpuSet::kMaxCpu + 1);
  try {
    Topology::Synthetic("pack:64 core:65 pu:1");
    ADD_FAILURE() << "4160 CPUs were taken";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("has a CPU 4159"), std::string::npos) << error.what();
  }
}

TEST(TopologyTest, MalformedDescriptionNamesTheText) {
  for (const char* text : {"", "nonsense", "core:x", "pack:2 banana:3", "core:0 pu:1"}) {
    try {
      Topology::Synthetic(text);
      ADD_FAILURE() << '"' << text << "\" was taken";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find('"' + std::string(text) + '"'), std::string::npos);
    }
  }
}

TEST(TopologyTest, XmlAndSummaryDescribeThisMachine) {
  const Topology topology = Topology::ThisMachine();
  EXPECT_NE(topology.Xml().find("<topology"), std::string::npos);
  EXPECT_NE(topology.Summary().find("CPU"), std::string::npos);
}

// Whoever reads the machine stays where it is, and where somebody moves it meanwhile.
TEST(TopologyTest, ReadingThisMachineMovesNoThread) {
  const Topology topology = Topology::ThisMachine();
  if (topology.Cpus().Count() < 2) GTEST_SKIP() << "needs two cores";
  const CpuSet before = AffinityOfThisThread();
  std::jthread watcher([&, tid = gettid()](const std::stop_token& stop) {
    while (!stop.stop_requested()) ASSERT_EQ(topology.ThreadBinding(tid), before);
  });
  for (int i = 0; i < 100; ++i) Topology::ThisMachine();
}

TEST(TopologyDeathTest, LocatingAnotherMachinesCpuIsABug) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(Topology::Synthetic("core:2 pu:1").Locate(2), "CPU 2 is not in 0-1");
}

}  // namespace
}  // namespace cosched
