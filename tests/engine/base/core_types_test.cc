#include "engine/base/core_types.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace cosched {
namespace {

class CoreTypesTest : public testing::Test {
 protected:
  CoreTypesTest() { std::filesystem::create_directories(devices_); }
  ~CoreTypesTest() override { std::filesystem::remove_all(devices_); }
  void Write(const std::string& folder, const std::string& cpus) const {
    std::filesystem::create_directories(devices_ / folder);
    std::ofstream(devices_ / folder / "cpus") << cpus;
  }

  const std::filesystem::path devices_ =
      std::filesystem::path(testing::TempDir()) / ("devices-" + std::to_string(getpid()));
};

TEST_F(CoreTypesTest, AreThoseOfTheKernelsCounters) {
  Write("cpu_core", "0-7\n");
  Write("cpu_atom", "8-11,14\n");
  const std::vector<CoreType> types = IntelCoreTypes(devices_);
  ASSERT_EQ(types.size(), 2U);
  EXPECT_EQ(types[0].name, "IntelCore");
  EXPECT_EQ(types[0].cpus.ToString(), "0-7");
  EXPECT_EQ(types[1].name, "IntelAtom");
  EXPECT_EQ(types[1].cpus.ToString(), "8-11,14");
}

TEST_F(CoreTypesTest, AreNoneWhereThereIsOneTypeOrNoFileOrNonsense) {
  EXPECT_TRUE(IntelCoreTypes(devices_).empty());
  Write("cpu_core", "0-7\n");
  EXPECT_TRUE(IntelCoreTypes(devices_).empty());
  Write("cpu_atom", "none\n");
  EXPECT_TRUE(IntelCoreTypes(devices_).empty());
}

}  // namespace
}  // namespace cosched
