#include "workloads/mnist_dataset.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "workloads/data_file.h"

namespace cosched {
namespace {

constexpr int kMnistClasses = 10;

uint32_t BigEndian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 |
         uint32_t{bytes[3]};
}

// The sizes of an idx file of unsigned bytes: two zero bytes, type 8, number of dimensions, then
// each size.
std::vector<int64_t> ReadIdxHeader(DataFile* file, size_t dimensions) {
  const std::vector<uint8_t> magic = file->Read(4, "the magic number");
  const uint32_t expected = 0x0800u | static_cast<uint32_t>(dimensions);
  if (BigEndian(magic.data()) != expected) {
    file->Fail("has the wrong magic number " + std::to_string(BigEndian(magic.data())),
               std::to_string(expected) + ", unsigned bytes in " + std::to_string(dimensions) +
                   " dimension(s)");
  }
  const std::vector<uint8_t> header = file->Read(4 * dimensions, "the sizes");
  // Far above every such data set, far below what would overflow or eat the machine.
  constexpr std::array<int64_t, 3> kLargest = {1'000'000, 1024, 1024};
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < dimensions; ++i) {
    sizes.push_back(BigEndian(header.data() + 4 * i));
    if (sizes.back() < 1 || sizes.back() > kLargest[i]) {
      file->Fail("has size " + std::to_string(sizes.back()) + " in dimension " + std::to_string(i),
                 "1 to " + std::to_string(kLargest[i]));
    }
  }
  return sizes;
}

std::vector<uint8_t> ReadIdxBody(DataFile* file, int64_t bytes, const std::string& what) {
  constexpr int64_t kLimit = int64_t{1} << 32;  // A few kilobytes of gzip can hold a terabyte.
  if (bytes > kLimit) {
    file->Fail("promises " + std::to_string(bytes) + " bytes", "up to " + std::to_string(kLimit));
  }
  std::vector<uint8_t> body = file->Read(static_cast<size_t>(bytes), what);
  file->ExpectEnd();
  return body;
}

class MnistDataset : public Dataset {
 public:
  MnistDataset(const std::string& images_path, const std::string& labels_path) {
    DataFile images(images_path);
    const std::vector<int64_t> sizes = ReadIdxHeader(&images, 3);
    shape_ = {sizes[1], sizes[2], 1};
    const std::string count = std::to_string(sizes[0]);
    pixels_ = ReadIdxBody(&images, sizes[0] * shape_.Elements(), count + " images");
    DataFile labels(labels_path);
    const int64_t label_count = ReadIdxHeader(&labels, 1)[0];
    if (label_count != sizes[0]) {
      labels.Fail("has " + std::to_string(label_count) + " labels",
                  count + ", as many as " + images_path + " has images");
    }
    labels_ = ReadIdxBody(&labels, label_count, count + " labels");
    const auto wrong = std::ranges::find_if(labels_, [](uint8_t l) { return l >= kMnistClasses; });
    if (wrong != labels_.end()) labels.Fail("has the label " + std::to_string(*wrong), "0 to 9");
  }

  int64_t Size() const override { return static_cast<int64_t>(labels_.size()); }
  Shape ImageShape() const override { return shape_; }
  int Classes() const override { return kMnistClasses; }

  int Read(int64_t index, float* pixels) const override {
    CHECK(index >= 0 && index < Size()) << "image " << index;
    const int64_t count = shape_.Elements();
    const uint8_t* source = pixels_.data() + index * count;
    for (int64_t i = 0; i < count; ++i) {
      pixels[i] = (static_cast<float>(source[i]) - 255 * 0.1307f) * (1 / (255 * 0.3081f));
    }
    return labels_[static_cast<size_t>(index)];
  }

 private:
  Shape shape_;
  std::vector<uint8_t> pixels_;
  std::vector<uint8_t> labels_;
};

// The plain file if there is one, else the one with .gz, else nothing.
std::string FindFile(const std::filesystem::path& plain) {
  const std::string zipped = plain.string() + ".gz";
  if (std::filesystem::exists(plain)) return plain.string();
  return std::filesystem::exists(zipped) ? zipped : std::string();
}

}  // namespace

std::unique_ptr<Dataset> OpenMnist(const std::string& directory) {
  const std::filesystem::path folder(directory);
  for (const char* part : {"train", "mnist-train", "t10k", "mnist-t10k"}) {
    const std::string images = FindFile(folder / (std::string(part) + "-images-idx3-ubyte"));
    if (images.empty()) continue;
    const std::filesystem::path plain = folder / (std::string(part) + "-labels-idx1-ubyte");
    const std::string labels = FindFile(plain);
    if (labels.empty()) {
      throw InputError({.file = plain.string(), .problem = "is missing, but its images are there"});
    }
    return std::make_unique<MnistDataset>(images, labels);
  }
  throw InputError({.file = directory,
                    .problem = "holds no MNIST files",
                    .allowed = "train-images-idx3-ubyte and train-labels-idx1-ubyte, or t10k-…, "
                               "each plain or .gz"});
}

}  // namespace cosched
