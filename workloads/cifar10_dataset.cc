#include "workloads/cifar10_dataset.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "engine/base/check.h"
#include "workloads/data_file.h"

namespace cosched {
namespace {

constexpr int kCifar10Classes = 10;
constexpr int kFiles = 5;
constexpr int kImagesPerFile = 10000;
constexpr int kPlane = 32 * 32;
constexpr int kChannels = 3;
constexpr int kPixels = kPlane * kChannels;
constexpr int kRecord = 1 + kPixels;  // Label, then the red, green and blue planes.

class Cifar10Dataset : public Dataset {
 public:
  explicit Cifar10Dataset(const std::filesystem::path& folder) {
    for (int i = 1; i <= kFiles; ++i) {
      Append((folder / ("data_batch_" + std::to_string(i) + ".bin")).string());
    }
  }

  int64_t Size() const override { return static_cast<int64_t>(records_.size() / kRecord); }
  Shape ImageShape() const override { return {32, 32, kChannels}; }
  int Classes() const override { return kCifar10Classes; }

  int Read(int64_t index, float* pixels) const override {
    CHECK(index >= 0 && index < Size()) << "image " << index;
    const uint8_t* record = records_.data() + index * kRecord;
    const uint8_t* planes = record + 1;
    int64_t sum = 0, squares = 0;
    for (int i = 0; i < kPixels; ++i) {
      sum += planes[i];
      squares += int64_t{planes[i]} * planes[i];
    }
    const double mean = static_cast<double>(sum) / kPixels;
    const double variance = static_cast<double>(squares) / kPixels - mean * mean;
    // TensorFlow's per_image_standardization: a flat image must not divide by zero.
    const double smallest = 255 / std::sqrt(static_cast<double>(kPixels));
    const auto scale =
        static_cast<float>(1 / std::max(std::sqrt(std::max(variance, 0.0)), smallest));
    for (int i = 0; i < kPlane; ++i) {
      for (int c = 0; c < kChannels; ++c) {
        pixels[i * kChannels + c] =
            (static_cast<float>(planes[c * kPlane + i]) - static_cast<float>(mean)) * scale;
      }
    }
    return record[0];
  }

 private:
  void Append(const std::string& path) {
    DataFile file(path);
    const std::vector<uint8_t> bytes = file.ReadAll(size_t{kImagesPerFile} * kRecord);
    if (bytes.empty() || bytes.size() % kRecord != 0) {
      file.Fail("has " + std::to_string(bytes.size()) + " bytes", "whole records of 3073 bytes");
    }
    for (size_t i = 0; i < bytes.size(); i += kRecord) {
      if (bytes[i] >= kCifar10Classes)
        file.Fail("has the label " + std::to_string(bytes[i]), "0 to 9");
    }
    records_.insert(records_.end(), bytes.begin(), bytes.end());
  }

  std::vector<uint8_t> records_;
};

}  // namespace

std::unique_ptr<Dataset> OpenCifar10(const std::string& directory) {
  return std::make_unique<Cifar10Dataset>(directory);
}

}  // namespace cosched
