#pragma once
// numpy's .npy files (numpy.lib.format, version 1.0 to 3.0): arrays of floats, as `cosched model`
// reads and writes them. Called by experiments/cli/model.

#include <filesystem>

#include "engine/graph/tensor.h"

namespace cosched {

// float32, or float64 which is rounded; little-endian, in C order. Throws InputError naming the
// file for anything else, and where the file's size and its shape do not fit.
Tensor ReadNpy(const std::filesystem::path& file);
// Replaces the file. Throws OutputError.
void WriteNpy(const std::filesystem::path& file, const Tensor& tensor);

}  // namespace cosched
