#include "workloads/dataset.h"

#include <algorithm>
#include <array>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "workloads/cifar10_dataset.h"
#include "workloads/mnist_dataset.h"
#include "workloads/procedural_dataset.h"

namespace cosched {
namespace {

struct Source {
  std::string_view name;
  std::unique_ptr<Dataset> (*open)(const std::string& directory);  // nullptr: made, not read.
};
constexpr std::array kSources = {Source{"procedural", nullptr}, Source{"mnist", OpenMnist},
                                 Source{"cifar10", OpenCifar10}};

class SliceDataset : public Dataset {
 public:
  SliceDataset(std::unique_ptr<Dataset> own, const Dataset& whole, int64_t first, int64_t count)
      : own_(std::move(own)), whole_(whole), first_(first), count_(count) {
    CHECK(first >= 0 && count > 0 && first + count <= whole.Size())
        << "images " << first << " + " << count << " of " << whole.Size();
  }
  int64_t Size() const override { return count_; }
  Shape ImageShape() const override { return whole_.ImageShape(); }
  int Classes() const override { return whole_.Classes(); }
  int Read(int64_t index, float* pixels) const override {
    CHECK(index >= 0 && index < count_) << "image " << index;
    return whole_.Read(first_ + index, pixels);
  }

 private:
  std::unique_ptr<Dataset> own_;  // Null if the caller keeps it.
  const Dataset& whole_;
  int64_t first_;
  int64_t count_;
};

}  // namespace

std::unique_ptr<Dataset> OpenDataset(std::string_view name, const std::string& directory,
                                     const Shape& shape, int classes, uint64_t seed) {
  const auto source = std::ranges::find(kSources, name, &Source::name);
  if (source == kSources.end()) {
    throw InputError({.key = "dataset",
                      .problem = "unknown data set \"" + std::string(name) + "\"",
                      .allowed = DatasetNames()});
  }
  if (source->open == nullptr) return MakeProceduralDataset(shape, classes, seed);
  if (directory.empty()) {
    throw InputError({.key = "data_directory",
                      .problem = "is missing",
                      .allowed = "the folder that holds the files of " + std::string(name)});
  }
  return source->open(directory);
}

bool IsDatasetName(std::string_view name) {
  return std::ranges::find(kSources, name, &Source::name) != kSources.end();
}

std::string DatasetNames() {
  std::string names;
  for (const Source& source : kSources) {
    names += (names.empty() ? "" : ", ") + std::string(source.name);
  }
  return names;
}

std::unique_ptr<Dataset> Slice(const Dataset& whole, int64_t first, int64_t count) {
  return std::make_unique<SliceDataset>(nullptr, whole, first, count);
}

std::unique_ptr<Dataset> Slice(std::unique_ptr<Dataset> whole, int64_t first, int64_t count) {
  const Dataset& kept = *whole;
  return std::make_unique<SliceDataset>(std::move(whole), kept, first, count);
}

}  // namespace cosched
