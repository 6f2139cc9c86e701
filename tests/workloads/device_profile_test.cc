#include "workloads/device_profile.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using nlohmann::json;

json Valid() {
  return {{"format", 1},
          {"name", "one"},
          {"provenance", "modelled: by hand"},
          {"models",
           {{"lenet5",
             {{"occupancy_s", {{"1", {0.01, 0.02, 0.06}}, {"4", {0.05}}}},
              {"host_cpu_s", 0.001},
              {"host_wait_s", 0.002},
              {"memory_mib", 7}}}}},
          {"switch_s", 0.5},
          {"memory_mib", 8},
          {"notes", {"none"}}};
}

class DeviceProfileTest : public testing::Test {
 protected:
  DeviceProfile Load(const json& value) {
    std::ofstream(folder_.path() / "d.json") << value;
    return LoadDeviceProfile(folder_.path() / "d.json");
  }
  // The key that is blamed; "" = none.
  std::string Blamed(const std::function<void(json&)>& change) {
    json value = Valid();
    change(value);
    try {
      Load(value);
    } catch (const InputError& error) {
      EXPECT_FALSE(error.details().allowed.empty());
      return error.details().key.empty() ? "the file" : error.details().key;
    }
    return "";
  }
  const TemporaryFolder folder_;
};

TEST_F(DeviceProfileTest, HoldsWhatTheFileSays) {
  const DeviceProfile profile = Load(Valid());
  EXPECT_EQ(profile.name, "one");
  EXPECT_EQ(profile.provenance, "modelled: by hand");
  EXPECT_EQ(profile.switch_s, 0.5);
  const DeviceProfile::Model& model = *profile.Find("lenet5");
  EXPECT_EQ(profile.Find("vgg16"), nullptr);
  EXPECT_EQ(model.host_cpu_s, 0.001);
  EXPECT_EQ(model.host_wait_s, 0.002);
  EXPECT_EQ(model.memory_mib, 7);
  EXPECT_EQ(model.occupancy_s.size(), 2U);
  // Halves lie evenly between 10 and 20, and between 20 and 60 ms.
  EXPECT_NEAR(MeanOf(model.occupancy_s.at(1)), (0.015 + 0.04) / 2, 1e-12);
  EXPECT_EQ(MeanOf(model.occupancy_s.at(4)), 0.05);
}

TEST_F(DeviceProfileTest, SaysWhatIsWrongWhere) {
  EXPECT_EQ(Blamed([](json&) {}), "");
  EXPECT_EQ(Blamed([](json& j) { j["provenance"] = "measured on a GPU"; }), "provenance");
  EXPECT_EQ(Blamed([](json& j) { j["provenance"] = "modelled: "; }), "provenance");
  EXPECT_EQ(Blamed([](json& j) { j.erase("name"); }), "name");
  EXPECT_EQ(Blamed([](json& j) { j["slots"] = 2; }), "slots");
  EXPECT_EQ(Blamed([](json& j) { j["models"] = json::object(); }), "models");
  EXPECT_EQ(Blamed([](json& j) { j["format"] = 2; }), "format");
  EXPECT_EQ(Blamed([](json& j) { j["memory_mib"] = 0; }), "memory_mib");
  const auto model = [this](const std::function<void(json&)>& change) {
    return Blamed([&](json& j) { change(j["models"]["lenet5"]); });
  };
  EXPECT_EQ(model([](json& j) { j["speed"] = 1; }), "models.lenet5.speed");
  EXPECT_EQ(model([](json& j) { j["host_cpu_s"] = -1; }), "models.lenet5.host_cpu_s");
  EXPECT_EQ(model([](json& j) { j["host_wait_s"] = "1"; }), "models.lenet5.host_wait_s");
  EXPECT_EQ(model([](json& j) { j["occupancy_s"].erase("1"); }), "models.lenet5.occupancy_s");
  EXPECT_EQ(model([](json& j) { j["occupancy_s"]["0"] = {1}; }), "models.lenet5.occupancy_s.0");
  EXPECT_EQ(model([](json& j) { j["occupancy_s"]["x"] = {1}; }), "models.lenet5.occupancy_s.x");
  EXPECT_EQ(model([](json& j) { j["occupancy_s"]["4"] = json::array(); }),
            "models.lenet5.occupancy_s.4");
  EXPECT_EQ(model([](json& j) { j["occupancy_s"]["4"] = {0}; }), "models.lenet5.occupancy_s.4");
  EXPECT_EQ(model([](json& j) {
              j["occupancy_s"]["4"] = {2, 1};
            }),
            "models.lenet5.occupancy_s.4.1");
}

TEST_F(DeviceProfileTest, AFileThatIsNoneIsRefused) {
  EXPECT_THROW(LoadDeviceProfile(folder_.path() / "none.json"), InputError);
  std::ofstream(folder_.path() / "d.json") << "{";
  EXPECT_THROW(LoadDeviceProfile(folder_.path() / "d.json"), InputError);
}

TEST_F(DeviceProfileTest, TheProfilesOfTheTreeLoad) {
  const std::filesystem::path folder = InSource("experiments/profiles");
  EXPECT_NE(LoadDeviceProfile(folder / "device_nv6_published.json").Find("googlenet"), nullptr);
  EXPECT_NE(LoadDeviceProfile(folder / "device_example.json").Find("lenet5"), nullptr);
}

}  // namespace
}  // namespace cosched
