#include "engine/base/numa.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cosched {
namespace {

namespace fs = std::filesystem;

NumaNodes Nodes(const char* text) { return {*CpuSet::Parse(text)}; }

// hwloc numbers the CPUs of a synthetic machine from the first node's on.
TEST(NumaMapTest, NodesOfASyntheticMachine) {
  for (const char* text : {"NUMANode:2 core:4 pu:2", "pack:2 [numa] core:4 pu:2"}) {
    const NumaMap map = NumaMap::Of(Topology::Synthetic(text));
    EXPECT_FALSE(map.ThisSystem());
    EXPECT_EQ(map.Count(), 2);
    EXPECT_EQ(map.NodesOf(CpuSet::Range(0, 7)), Nodes("0"));
    EXPECT_EQ(map.NodesOf({8}), Nodes("1"));
    EXPECT_EQ(map.NodesOf({7, 8}), Nodes("0-1"));
    EXPECT_EQ(map.NodesOf({}), Nodes(""));
  }
}

TEST(NumaMapTest, NodesOfAnotherMachine) {
  const Topology there = Topology::Synthetic("pack:4 [numa] core:2 pu:1");
  const NumaMap map = NumaMap::Of(Topology::FromXmlText(there.Xml()));
  EXPECT_FALSE(map.ThisSystem());
  EXPECT_EQ(map.Count(), 4);
  EXPECT_EQ(map.NodesOf({0, 5, 7}), Nodes("0,2-3"));
}

// Of a part only the nodes of its CPUs count.
TEST(NumaMapTest, NodesOfAPart) {
  const Topology whole = Topology::Synthetic("pack:2 [numa] core:2 pu:1");
  EXPECT_EQ(NumaMap::Of(whole.Within({2, 3})).Count(), 1);
  EXPECT_EQ(NumaMap::Of(whole.Within({2, 3})).NodesOf({2}), Nodes("1"));
}

TEST(NumaMapTest, EveryCpuOfThisMachineIsOfANodeThatTheKernelHas) {
  const Topology here = Topology::ThisMachine();
  const NumaMap map = NumaMap::Of(here);
  EXPECT_TRUE(map.ThisSystem());
  if (!fs::exists("/sys/devices/system/node")) GTEST_SKIP() << "this kernel knows no nodes";
  for (const int cpu : here.Cpus()) {
    const std::string node = "/node" + std::to_string(map.NodeOf(cpu));
    const fs::path link = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + node;
    EXPECT_TRUE(fs::exists(link)) << link;
  }
}

class SysfsTest : public ::testing::Test {
 protected:
  SysfsTest() { folder_ = mkdtemp(name_.data()); }
  ~SysfsTest() override { fs::remove_all(folder_); }
  void AddNode(const std::string& name, const std::string& cpus) const {
    fs::create_directories(folder_ / name);
    std::ofstream(folder_ / name / "cpulist") << cpus << "\n";
  }

  fs::path folder_;

 private:
  std::string name_ = (fs::temp_directory_path() / "cosched-numa-XXXXXX").string();
};

// Numbers need not be dense, and memory may have no CPUs (what is behind a link).
TEST_F(SysfsTest, NodesAreTheKernels) {
  AddNode("node0", "0-1,8");
  AddNode("node4", "2-3");
  AddNode("node5", "");
  AddNode("nodes", "4");
  const NumaMap map = NumaMap::FromSysfs(folder_);
  EXPECT_TRUE(map.ThisSystem());
  EXPECT_EQ(map.Count(), 2);
  EXPECT_EQ(map.NodesOf({8, 2}), Nodes("0,4"));
  EXPECT_EQ(map.NodeOf(9), 0);
  EXPECT_EQ(map.NodeOf(5), 0);
}

TEST_F(SysfsTest, AKernelWithoutNodesHasOne) {
  const NumaMap map = NumaMap::FromSysfs(folder_ / "none");
  EXPECT_EQ(map.Count(), 1);
  EXPECT_EQ(map.NodesOf({0, 7}), Nodes("0"));
}

TEST(NumaNodesTest, AreSets) {
  EXPECT_EQ(Nodes("0-3") - Nodes("1"), Nodes("0,2-3"));
  EXPECT_EQ(Nodes("0") | Nodes("2"), Nodes("0,2"));
  EXPECT_TRUE(Nodes("0-1").Contains(Nodes("1")));
  EXPECT_EQ(Nodes("0,2-3").ToString(), "0,2-3");
}

}  // namespace
}  // namespace cosched
