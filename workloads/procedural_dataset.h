#pragma once
// A data set made by formula, so that every experiment runs with nothing downloaded: each class is
// a sum of coloured sine gratings; an image is its class's pattern, shifted and scaled in contrast
// at random, under as much noise as signal. A CNN learns it, a few images do not give it away.
// Image i of one seed is always the same; nothing is stored.

#include <cstdint>
#include <memory>

#include "workloads/dataset.h"

namespace cosched {

constexpr int64_t kProceduralSize = 8192;  // Images; labels go round, so every slice is balanced.

// REQUIRES: shape {height, width, channels} of sizes > 0; classes > 0.
std::unique_ptr<Dataset> MakeProceduralDataset(const Shape& shape, int classes, uint64_t seed);

}  // namespace cosched
