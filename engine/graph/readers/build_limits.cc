#include "engine/graph/readers/build_limits.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "engine/base/check.h"
#include "engine/graph/flops.h"
#include "engine/graph/ops.h"

namespace cosched {
namespace {

// Exact up to 2^53, and a number of that size beyond; no integer type holds all of them.
std::string Rounded(double value) {
  std::string text = std::to_string(value);
  return text.substr(0, text.find('.'));
}

std::string Name(const std::string& name) { return "\"" + name.substr(0, 256) + "\""; }

// How much longer a multiplication of this convolution takes than one that fills its vectors: these
// run along the channels that a group gives, or along the groups if each has one.
double Slowness(const Node& node, const std::vector<OutputInfo>& inputs) {
  constexpr int64_t kLanes = 16;
  constexpr double kPlainLoop = 1000;  // oneDNN's, for what it generates no code for.
  const bool back = node.op == "Conv2DBackpropInput";
  if (!back && node.op != "Conv2D") return 1;
  if (back && GetAttribute<std::vector<int64_t>>(node, "dilations") != std::vector<int64_t>{1, 1}) {
    return kPlainLoop;
  }
  const Shape& image = back ? node.outputs[0].shape : inputs[0].shape;
  const Shape& filter = inputs[back ? 0 : 1].shape;
  const int64_t groups = image[3] / filter[2];
  const int64_t given = back ? filter[2] : filter[3] / groups;
  const int64_t channels = filter[2] == 1 && groups > 1 ? image[3] : given;
  const int64_t vectors = (channels + kLanes - 1) / kLanes;
  return static_cast<double>(vectors * kLanes) / static_cast<double>(channels);
}

double Operations(const Graph& graph, const Node& node) {
  constexpr double kElement = 50;
  std::vector<OutputInfo> inputs;
  for (const Output& input : node.inputs) inputs.push_back(graph.Info(input));
  double elements = ElementsRead(node, inputs);
  for (const OutputInfo& output : node.outputs) {
    elements += static_cast<double>(output.shape.Elements());
  }
  return Flops(node, inputs) * Slowness(node, inputs) + kElement * elements;
}

// The bytes of one image where the file takes any batch, which is -1.
double Bytes(const SourceInput& input) {
  double elements = 1;
  for (const int64_t size : input.sizes) elements *= static_cast<double>(std::abs(size));
  return 4 * elements;
}

}  // namespace

void CheckInterface(const SourceModel& model) {
  if (std::max(model.inputs.size(), model.outputs.size()) > kMostInterfaces) {
    FailFile(model.file,
             "has " + std::to_string(model.inputs.size()) + " inputs and " +
                 std::to_string(model.outputs.size()) + " outputs",
             std::to_string(kMostInterfaces) + " at most of each");
  }
  double bytes = 0;
  for (const SourceInput& input : model.inputs) {
    bytes += Bytes(input);
    if (bytes <= static_cast<double>(kMostInterfaceBytes)) continue;
    FailFile(model.file,
             "input " + Name(input.name) + " of " + DimsText(input.sizes) +
                 " is large: with it, inputs take " + Rounded(bytes) + " bytes an image",
             std::to_string(kMostInterfaceBytes) + " bytes at most");
  }
}

void BuildLimits::Count(const SourceNode& node) {
  const NodeId begin = ends_.empty() ? first_ : ends_.back().first;
  ends_.emplace_back(graph_.Size(), &node);
  if (graph_.Size() - first_ > kMostNodes) {
    FailSource(model_.file, node,
               "with it, the graph has more than " + std::to_string(kMostNodes) +
                   " nodes, weights among them");
  }
  for (NodeId id = begin; id < graph_.Size(); ++id) {
    const Node& added = graph_.At(id);
    if (!IsSource(added.op) && added.op != "Reshape") operations_ += Operations(graph_, added);
  }
  if (operations_ / batch_ <= kMostOperations) return;
  FailSource(model_.file, node,
             "with it, an image needs " + Rounded(operations_ / batch_ / 1e9) +
                 "e9 operations (an element that is read counts as 50)",
             Rounded(kMostOperations / 1e9) + "e9 at most");
}

void BuildLimits::CheckMemory(const std::vector<Output>& outputs, bool training) const {
  double given = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto elements = static_cast<double>(graph_.Info(outputs[i]).shape.Elements());
    given += 4 * elements / batch_;
    if (given <= static_cast<double>(kMostInterfaceBytes)) continue;
    FailFile(model_.file,
             "output " + Name(model_.outputs[i]) + " is large: with it, outputs take " +
                 Rounded(given) + " bytes an image",
             std::to_string(kMostInterfaceBytes) + " bytes at most");
  }
  const int64_t most = training ? kMostTrainingBytes : kMostLiveBytes;
  std::vector<NodeId> last = LastReaders(outputs, training);
  std::vector<double> freed(last.size(), 0);  // By node: of the values that it is the last to read.
  double live = 0;
  for (const SourceInput& input : model_.inputs) live += Bytes(input);
  for (NodeId id = first_; id < graph_.Size(); ++id) {
    const auto i = static_cast<size_t>(id - first_);
    const double bytes = BytesOfImage(graph_.At(id));
    live += bytes;
    if (live > static_cast<double>(most)) {
      FailSource(model_.file, SourceOf(id),
                 std::string(training ? "with its results, those of all nodes"
                                      : "with its results, values that are still to be read") +
                     " take " + Rounded(live) + " bytes an image",
                 std::to_string(most) + " bytes at most");
    }
    if (last[i] < graph_.Size()) freed[static_cast<size_t>(last[i] - first_)] += bytes;
    live -= freed[i];
  }
}

// By node of the build: who reads its value last, perhaps through Reshapes, which are views; itself
// if nobody does, and one behind all nodes where it is read after the run or in the backward pass.
std::vector<NodeId> BuildLimits::LastReaders(const std::vector<Output>& outputs,
                                             bool training) const {
  std::vector<NodeId> last;
  std::vector<NodeId> owners;
  for (NodeId id = first_; id < graph_.Size(); ++id) {
    const Node& node = graph_.At(id);
    NodeId owner = id;
    for (const Output& input : node.inputs) {
      if (input.node < first_) continue;
      const NodeId read = owners[static_cast<size_t>(input.node - first_)];
      if (!training) last[static_cast<size_t>(read - first_)] = id;
      if (node.op == "Reshape") owner = read;
    }
    owners.push_back(owner);
    last.push_back(training ? graph_.Size() : id);
  }
  for (const Output& output : outputs) {
    if (output.node < first_) continue;
    const NodeId owner = owners[static_cast<size_t>(output.node - first_)];
    last[static_cast<size_t>(owner - first_)] = graph_.Size();
  }
  return last;
}

const SourceNode& BuildLimits::SourceOf(NodeId id) const {
  CHECK(!ends_.empty()) << "no node of " << model_.file << " takes memory";
  const auto found = std::upper_bound(ends_.begin(), ends_.end(), id,
                                      [](NodeId at, const auto& end) { return at < end.first; });
  return found == ends_.end() ? *ends_.back().second : *found->second;
}

double BuildLimits::BytesOfImage(const Node& node) const {
  if (IsSource(node.op) || node.op == "Reshape") return 0;
  double elements = 0;
  for (const OutputInfo& output : node.outputs) {
    elements += static_cast<double>(output.shape.Elements());
  }
  return 4 * elements / batch_;
}

}  // namespace cosched
