#pragma once
// CIFAR-10's binary version: data_batch_1.bin … data_batch_5.bin, the 50,000 training images. Each
// image is standardised by its own mean and deviation, as the studies' TensorFlow job does; no
// augmentation, so that an epoch is the same work.

#include <memory>
#include <string>

#include "workloads/dataset.h"

namespace cosched {

// All five files must be there; shorter ones than the original 10,000 images are accepted if they
// hold whole records.
std::unique_ptr<Dataset> OpenCifar10(const std::string& directory);

}  // namespace cosched
