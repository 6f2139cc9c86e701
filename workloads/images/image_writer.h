#pragma once
// Encodes images as files are: for those that a pipeline makes itself, and for tests. Thread-safe.

#include <string>

#include "workloads/images/pixels.h"

namespace cosched {

// Both throw std::runtime_error where the library can't. REQUIRES: 3 x width x height bytes, none of
// the two 0.
std::string EncodeJpeg(const Pixels& pixels, int quality);  // 1 to 100
std::string EncodePng(const Pixels& pixels);

}  // namespace cosched
