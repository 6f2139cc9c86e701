#pragma once
// What a model file holds, whatever its format, with nothing of protobuf left: nodes in an order in
// which every input is ready, constants, inputs and outputs. Made by onnx_file.cc and
// graphdef_file.cc, read by the importer. Plain data.

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "engine/graph/readers/constant.h"

namespace cosched {

// An attribute of a kind that no op here uses, such as a subgraph.
struct OtherAttribute {};
using SourceAttribute = std::variant<OtherAttribute, int64_t, float, std::string,
                                     std::vector<int64_t>, std::vector<float>, ConstantPtr>;

struct SourceNode {
  std::string name;
  std::string op;
  std::vector<std::string> inputs;  // Names of values; empty: left out.
  std::vector<std::string> outputs;
  std::map<std::string, SourceAttribute> attributes = {};
};

struct SourceInput {
  std::string name;
  std::vector<int64_t> sizes;  // -1: the batch asked for; only the first can be.
  // In a file of channels-first images: one of rank 4 that all of its users transpose from
  // channels-last.
  bool channels_last = false;
};

struct SourceModel {
  std::string file;
  std::string format;  // "ONNX opset 13", "GraphDef"; for messages.
  int opset = 0;       // ONNX's.
  bool channels_first = false;
  std::vector<SourceNode> nodes;
  std::map<std::string, std::shared_ptr<Constant>> constants;
  std::vector<SourceInput> inputs;
  std::vector<std::string> outputs;
};

// A file's tensors hold at most this together, whatever its size on disk says.
inline constexpr int64_t kMostWeightBytes = int64_t{4} << 30;

[[noreturn]] void FailFile(const std::string& file, const std::string& problem,
                           const std::string& allowed = "");
[[noreturn]] void FailSource(const std::string& file, const SourceNode& node,
                             const std::string& problem, const std::string& allowed = "");

// Throws InputError unless it is a regular file that can be read.
void CheckRegularFile(const std::string& file);

// Keeps what the outputs need, each node after those that it reads from. Throws InputError for a
// value that two nodes produce, that nobody does, or that depends on itself.
void SortNodes(SourceModel* model);

// x * HardSigmoid(x) of slope 1/6, which is how exporters write HardSwish before opset 14, becomes
// one node. Called before SortNodes, which drops what nobody reads any more.
void FuseHardSwish(SourceModel* model);

}  // namespace cosched
