#pragma once
// Tensors by name in one file: the weights of a model, and what is compared with other frameworks.
// Called by jobs and commands. Thread-safe: no state.
//
// FORMAT, all numbers little-endian:
//   "COSCHEDW", then uint32 version = 1 and uint32 the number of tensors;
//   each tensor: uint32 the name's length and the name (1 to 1024 printable ASCII characters),
//     uint32 type (0 = float32, 1 = int32), uint32 rank (0 to 8), int64 each size (1 or more),
//     uint64 the number of bytes of its values, the values in row-major order;
//   last, uint32 CRC-32 (zlib's) of every byte before it.
// A model's variables are named as in its graph: images are [N,H,W,C], convolution filters
// [height,width,inputs/groups,outputs], weights [inputs,outputs] (experiments/peers/weights_file.py
// reads and writes such files from Python).

#include <map>
#include <string>

#include "engine/graph/graph.h"

namespace cosched {

using NamedTensors = std::map<std::string, Tensor>;

// Under a temporary name beside it until it is whole. Throws OutputError if it can't be written.
void SaveTensors(const NamedTensors& tensors, const std::string& file);
// Throws InputError naming the file if it can't be read, is cut off, damaged or no such file. Needs
// no more memory than the file has bytes.
NamedTensors LoadTensors(const std::string& file);

// Throws InputError unless these are the graph's variables by name and shape; the optimizer's own
// (momentum) are not asked for.
void CheckWeights(const NamedTensors& weights, const std::string& file, const Graph& graph);
// The names of those variables, in the graph's order.
std::vector<std::string> WeightNames(const Graph& graph);

}  // namespace cosched
