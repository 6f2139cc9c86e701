#include "workloads/device_profile.h"
namespace cosched {
const DeviceProfile::Model* DeviceProfile::Find(const std::string& m) const { auto f = models.find(m); return f == models.end() ? nullptr : &f->second; }
double MeanOf(const DelayQuantiles&) { return 0; }
DeviceProfile LoadDeviceProfile(const std::filesystem::path&) { return {}; }
}
