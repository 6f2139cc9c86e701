#include "experiments/wire/device_start.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/base/error.h"

namespace cosched {
namespace {

DeviceSpec TwoServices() {
  auto profile = std::make_shared<DeviceProfile>();
  profile->name = "of the file";
  profile->switch_s = 0.1;
  profile->models["lenet5"] = {.occupancy_s = {{1, {0.1}}, {4, {1.0 / 3, 2.0 / 3}}},
                               .host_cpu_s = 0.002,
                               .host_wait_s = 0.07};
  profile->models["resnet20"].occupancy_s = {{2, {0.5}}};
  profile->models["vgg16"].occupancy_s = {{1, {0.5}}};
  TenantSpec digits, images;
  digits.model = "lenet5";
  digits.dataset = "mnist";
  digits.data_directory = "/a folder/\"of\" digits";
  digits.batch = 16;
  images.model = "resnet20";
  images.seed = uint64_t{1} << 60;
  return {.id = {3},
          .name = "accelerator",
          .profile = std::move(profile),
          .cores = CpuSet::Range(0, 4),
          .slots = 2,
          .seed = 99,
          .services = {digits, std::nullopt, images}};
}

TEST(DeviceStartTest, ComesBackAsItWas) {
  const DeviceStart start = ParseDeviceStart(Encode(StartOf(TwoServices(), 5)));
  EXPECT_EQ(start.device, DeviceId{3});
  EXPECT_EQ(start.slots, 2);
  EXPECT_EQ(start.seed, 99u);
  EXPECT_EQ(start.host_threads, 5);
  EXPECT_EQ(start.profile.name, "accelerator");
  EXPECT_EQ(start.profile.switch_s, 0.1);
  ASSERT_EQ(start.profile.models.size(), 2u) << "a model that no service has";
  const DeviceProfile::Model& model = *start.profile.Find("lenet5");
  EXPECT_EQ(model.occupancy_s, TwoServices().profile->Find("lenet5")->occupancy_s);
  EXPECT_EQ(model.host_cpu_s, 0.002);
  EXPECT_EQ(model.host_wait_s, 0.07);
  ASSERT_EQ(start.services.size(), 3u);
  EXPECT_EQ(start.services[0]->model, "lenet5");
  EXPECT_EQ(start.services[0]->dataset, "mnist");
  EXPECT_EQ(start.services[0]->data_directory, "/a folder/\"of\" digits");
  EXPECT_EQ(start.services[0]->batch, 16);
  EXPECT_FALSE(start.services[1]);
  EXPECT_EQ(start.services[2]->seed, uint64_t{1} << 60);
}

TEST(DeviceStartTest, RefusesAnythingElse) {
  const std::string good = Encode(StartOf(TwoServices(), 1));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string bad = good;
    const size_t at = bad.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return bad.replace(at, from.size(), to);
  };
  for (const std::string& bad :
       {std::string(), std::string("[]"), good.substr(1), with("\"slots\":2", "\"slots\":0"),
        with("\"slots\":2", "\"slots\":\"2\""), with("\"slots\":2,", ""),
        with("\"switch_s\":0.1", "\"switch_s\":-1"), with("\"1\":[0.1]", "\"1\":[]"),
        with("\"1\":[0.1]", "\"0\":[0.1]"), with("\"1\":[0.1]", "\"x\":[0.1]"),
        with("\"1\":[0.1]", "\"1\":[-0.1]"), with("\"model\":\"lenet5\"", "\"model\":\"vgg16\"")}) {
    EXPECT_THROW(ParseDeviceStart(bad), InputError) << bad;
  }
}

}  // namespace
}  // namespace cosched
