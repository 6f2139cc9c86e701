#pragma once
// MNIST and its drop-in replacements (Fashion-MNIST, …) from idx files: train-images-idx3-ubyte and
// train-labels-idx1-ubyte, or, where those are missing, t10k-…; each plain or with .gz, each also
// with the prefix "mnist-". Pixels are normalised with MNIST's mean 0.1307 and deviation 0.3081.

#include <memory>
#include <string>

#include "workloads/dataset.h"

namespace cosched {

std::unique_ptr<Dataset> OpenMnist(const std::string& directory);

}  // namespace cosched
