#include "workloads/device_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "workloads/json_reader.h"

namespace cosched {
namespace {

constexpr int kDeviceProfileFormat = 1;
constexpr int kMaxBatch = 4096;
constexpr int kMaxMemoryMib = 1 << 24;
constexpr std::string_view kModelled = "modelled: ";

JsonReader In(const JsonReader& at, const std::string& key) {
  return at.At(key, "device_profile.h");
}

int ReadBatch(const std::string& text, const JsonReader& at) {
  int batch = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), batch);
  if (error != std::errc() || end != text.data() + text.size() || batch < 1 || batch > kMaxBatch)
    at.Fail("is no batch", fmt::format("a whole number, 1 to {}", kMaxBatch));
  return batch;
}

std::map<int, DelayQuantiles> ReadOccupancy(const JsonReader& at) {
  std::map<int, DelayQuantiles> occupancy;
  for (const auto& [key, quantiles] : at.Entries()) {
    DelayQuantiles delays = quantiles.Delays();
    if (delays.empty() || delays.front() <= 0)
      quantiles.Fail("holds no slot for some of its batches", "one or more seconds above 0");
    occupancy.emplace(ReadBatch(key, quantiles), std::move(delays));
  }
  if (!occupancy.contains(1)) at.Fail("has no batch of 1", "that one, and others");
  return occupancy;
}

DeviceProfile::Model ReadModel(const JsonReader& at) {
  at.Only({"occupancy_s", "host_cpu_s", "host_wait_s", "memory_mib"});
  return {.occupancy_s = ReadOccupancy(In(at, "occupancy_s")),
          .host_cpu_s = In(at, "host_cpu_s").Number(0, 3600),
          .host_wait_s = In(at, "host_wait_s").Number(0, 3600),
          .memory_mib = In(at, "memory_mib").Integer(0, kMaxMemoryMib)};
}

}  // namespace

const DeviceProfile::Model* DeviceProfile::Find(const std::string& model) const {
  const auto found = models.find(model);
  return found == models.end() ? nullptr : &found->second;
}

// Between two quantiles the distribution is uniform, as DrawDelay takes it.
double MeanOf(const DelayQuantiles& quantiles) {
  if (quantiles.empty()) return 0;
  if (quantiles.size() == 1) return quantiles.front();
  double sum = 0;
  for (size_t i = 1; i < quantiles.size(); ++i) sum += (quantiles[i - 1] + quantiles[i]) / 2;
  return sum / static_cast<double>(quantiles.size() - 1);
}

DeviceProfile LoadDeviceProfile(const std::filesystem::path& file) {
  const nlohmann::json value =
      ParseJson(file, "a profile of a modelled device (workloads/device_profile.h)");
  const JsonReader root(file.string(), value);
  root.Only({"format", "name", "provenance", "models", "switch_s", "memory_mib", "notes"});
  In(root, "format").Integer(kDeviceProfileFormat, kDeviceProfileFormat);
  DeviceProfile profile;
  profile.name = In(root, "name").String();
  profile.provenance = In(root, "provenance").String();
  if (!profile.provenance.starts_with(kModelled) || profile.provenance.size() == kModelled.size())
    In(root, "provenance")
        .Fail(fmt::format("is \"{}\"", profile.provenance),
              fmt::format("\"{}<source>\": devices are modelled, and readers are told so",
                          kModelled));
  for (const auto& [model, figures] : In(root, "models").Entries())
    profile.models.emplace(model, ReadModel(figures));
  if (profile.models.empty()) In(root, "models").Fail("is empty", "one or more models");
  profile.switch_s = In(root, "switch_s").Number(0, 3600);
  profile.memory_mib = In(root, "memory_mib").Integer(1, kMaxMemoryMib);
  if (root.Has("notes"))
    for (const JsonReader& note : root.At("notes").List()) note.String();
  return profile;
}

}  // namespace cosched
