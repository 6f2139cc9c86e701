#pragma once
// Labelled images for training and inference. Implementations: procedural (built in, learnable,
// nothing to download), MNIST idx files (plain or gzip) and CIFAR-10 binary batches from a folder.
// Immutable after opening; thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/graph/tensor.h"

namespace cosched {

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t Size() const = 0;
  virtual Shape ImageShape() const = 0;  // {height, width, channels}
  virtual int Classes() const = 0;
  // Writes image `index` (floats, roughly zero mean and unit variance) to pixels, and returns its
  // label.
  virtual int Read(int64_t index, float* pixels) const = 0;
};

// name: "procedural" | "mnist" | "cifar10". directory is needed for the latter two. Throws
// InputError for an unknown name, a missing or malformed file (naming it). shape and classes are
// used by "procedural" only.
std::unique_ptr<Dataset> OpenDataset(std::string_view name, const std::string& directory,
                                     const Shape& shape, int classes, uint64_t seed);
bool IsDatasetName(std::string_view name);
std::string DatasetNames();  // "procedural, mnist, cifar10", for messages.

// A contiguous part of another data set, e.g. the first 8,000 images to train and the rest held
// out. Keeps a reference.
std::unique_ptr<Dataset> Slice(const Dataset& whole, int64_t first, int64_t count);
// The same; keeps the whole.
std::unique_ptr<Dataset> Slice(std::unique_ptr<Dataset> whole, int64_t first, int64_t count);

}  // namespace cosched
