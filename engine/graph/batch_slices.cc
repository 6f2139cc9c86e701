#include "engine/graph/batch_slices.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "engine/graph/fetch.h"
#include "engine/graph/flops.h"
#include "engine/graph/tensor.h"

namespace cosched {
namespace {

using Ints = std::vector<int64_t>;

// Of all slices together: beyond these, what slices save is less than their nodes take to prepare.
constexpr int64_t kMostSlicedNodes = 1 << 14;

int64_t Bytes(const OutputInfo& info) {
  return info.shape.Elements() * static_cast<int64_t>(SizeOf(info.type));
}

// A constant that is the same for all images of this shape: it has no batch of its own.
bool IsForAllImages(const Graph& graph, Output input, const Shape& images) {
  const Shape& shape = graph.Info(input).shape;
  return graph.At(input.node).op == "Const" && (shape.Rank() < images.Rank() || shape[0] == 1);
}

// Ops that compute each image (the first dimension) by itself, from images and constants.
bool WorksByImage(const Graph& graph, const Node& node) {
  constexpr std::string_view kAlways[] = {
      "_FusedConv2D", "_FusedScale", "Conv2D", "BiasAdd",        "MaxPool",   "AvgPool",
      "LRN",          "Relu",        "Relu6",  "Sigmoid",        "HardSwish", "ClipByValue",
      "Sqrt",         "Erf",         "Gelu",   "_FusedLayerNorm"};
  const Shape& output = node.outputs[0].shape;
  const auto is_constant = [&](Output input) { return graph.At(input.node).op == "Const"; };
  // What it adds to its own sums.
  if (node.op == "_FusedConv2D" && node.inputs.size() == 4 && is_constant(node.inputs[3])) {
    return false;
  }
  if (std::find(std::begin(kAlways), std::end(kAlways), node.op) != std::end(kAlways)) return true;
  if (node.op == "ConcatV2") {
    return GetAttribute<int64_t>(node, "axis") > 0 &&
           std::none_of(node.inputs.begin(), node.inputs.end(), is_constant);
  }
  if (node.op == "AddV2" || node.op == "Mul") {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](Output input) {
      return is_constant(input) ? IsForAllImages(graph, input, output)
                                : graph.Info(input).shape == output;
    });
  }
  if (node.op == "Mean") return GetAttribute<Ints>(node, "axes") == Ints{1, 2};
  if (node.op == "Reshape") return GetAttribute<Ints>(node, "shape").front() == output[0];
  return false;
}

class Slicer {
 public:
  Slicer(const Graph& graph, NodeId images, const std::vector<Output>& fetches,
         const BatchSlicing& slicing, int64_t most_nodes)
      : graph_(graph),
        slicing_(slicing),
        most_nodes_(most_nodes),
        inside_(static_cast<size_t>(graph.Size()), false),
        images_(images),
        batch_(graph.At(images).outputs[0].shape[0]) {
    FindRegion();
    slice_ = SliceSize();
    FindBoundary(fetches);
  }

  bool Worthwhile() const { return slice_ < batch_ && !boundary_.empty(); }
  int64_t Nodes() const {
    return batch_ / slice_ * std::count(inside_.begin(), inside_.end(), true);
  }

  void Emit(Graph* result) {
    for (const Node& node : graph_.Nodes()) {
      if (node.op == "Const" || node.op == "Placeholder") Copy(node, result);
    }
    for (int64_t begin = 0; begin < batch_; begin += slice_) EmitSlice(begin, result);
    for (NodeId id : boundary_) {
      const Node& node = graph_.At(id);
      new_id_[{id, 0}] = {result->Add("ConcatV2", node.name, parts_[id], {{"axis", int64_t{0}}}),
                          0};
    }
    for (const Node& node : graph_.Nodes()) {
      const bool done = node.op == "Const" || node.op == "Placeholder" || IsInside(node.id);
      if (!done) Copy(node, result);
    }
  }

 private:
  bool IsInside(NodeId id) const { return inside_[static_cast<size_t>(id)]; }

  // The images, a placeholder, and what depends on nothing else but them and constants.
  void FindRegion() {
    for (const Node& node : graph_.Nodes()) {
      if (node.outputs.size() != 1 || !node.control_inputs.empty()) continue;
      const Shape& shape = node.outputs[0].shape;
      if (shape.Rank() == 0 || shape[0] != batch_) continue;
      bool depends = false, others = false;
      for (const Output& input : node.inputs) {
        const bool from_region = input.node == images_ || IsInside(input.node);
        depends = depends || from_region;
        others = others || (!from_region && graph_.At(input.node).op != "Const");
      }
      inside_[static_cast<size_t>(node.id)] = depends && !others && WorksByImage(graph_, node);
    }
  }

  int64_t SliceSize() const {
    int64_t most = 1, nodes = 0;
    for (const Node& node : graph_.Nodes()) {
      if (!IsInside(node.id)) continue;
      ++nodes;
      int64_t bytes = Bytes(node.outputs[0]);
      for (const Output& input : node.inputs) {
        if (graph_.At(input.node).op != "Const") bytes += Bytes(graph_.Info(input));
      }
      most = std::max(most, bytes / batch_);
    }
    const int64_t wanted = std::max<int64_t>(slicing_.bytes * slicing_.intra / most, 1);
    const int64_t side_by_side = std::max<int64_t>(batch_ / slicing_.inter, 1);
    int64_t size = std::min(wanted, std::max(side_by_side, LeastSize()));
    while (batch_ % size != 0) --size;
    // A large prime number of images would be as many slices.
    return batch_ / size <= most_nodes_ / std::max<int64_t>(nodes, 1) ? size : batch_;
  }

  // Images that are worth nodes of their own for other threads.
  int64_t LeastSize() const {
    double flops = 0;
    for (const Node& node : graph_.Nodes()) {
      if (!IsInside(node.id)) continue;
      std::vector<OutputInfo> inputs;
      for (const Output& input : node.inputs) inputs.push_back(graph_.Info(input));
      flops += Flops(node, inputs);
    }
    const double images = slicing_.least_flops * static_cast<double>(batch_) / flops;
    return images < static_cast<double>(batch_) ? static_cast<int64_t>(std::ceil(images)) : batch_;
  }

  // Nodes of the region that somebody outside of it reads.
  void FindBoundary(const std::vector<Output>& fetches) {
    std::vector<bool> read(inside_.size(), false);
    for (const Node& node : graph_.Nodes()) {
      if (IsInside(node.id)) continue;
      for (const Output& input : node.inputs) read[static_cast<size_t>(input.node)] = true;
    }
    for (const Output& fetch : fetches) read[static_cast<size_t>(fetch.node)] = true;
    for (const Node& node : graph_.Nodes()) {
      if (IsInside(node.id) && read[static_cast<size_t>(node.id)]) boundary_.push_back(node.id);
    }
  }

  void Copy(const Node& node, Graph* result) {
    std::vector<Output> inputs;
    for (const Output& input : node.inputs) inputs.push_back(NewOf(input));
    std::vector<NodeId> controls;
    for (NodeId control : node.control_inputs) controls.push_back(NewOf({control, 0}).node);
    const NodeId id = result->Add(node.op, node.name, inputs, node.attributes, controls);
    for (int i = 0; i < static_cast<int>(std::max<size_t>(node.outputs.size(), 1)); ++i)
      new_id_[{node.id, i}] = {id, i};
  }

  // Slices follow each other (as many side by side as there are inter-op threads, and in their turn
  // where fewer of these are active), since each is to find its own values in the cache.
  void EmitSlice(int64_t begin, Graph* result) {
    const int64_t index = begin / slice_;
    const std::string suffix = "/slice" + std::to_string(index);
    std::vector<NodeId> before;
    if (index >= slicing_.inter) {
      for (NodeId id : boundary_)
        before.push_back(parts_[id][static_cast<size_t>(index - slicing_.inter)].node);
    }
    Ints size = graph_.At(images_).outputs[0].shape.Sizes();
    Ints first(size.size(), 0);
    first[0] = begin;
    size[0] = slice_;
    const Output images = NewOf({images_, 0});
    std::map<NodeId, Output> mine;
    mine[images_] = {result->Add("Slice", graph_.At(images_).name + suffix, {images},
                                 {{"begin", first}, {"size", size}}, before),
                     0};
    result->SetTurn(mine[images_].node, static_cast<int>(index));
    for (const Node& node : graph_.Nodes()) {
      if (!IsInside(node.id)) continue;
      std::vector<Output> inputs;
      for (const Output& input : node.inputs) {
        const auto found = mine.find(input.node);
        inputs.push_back(found == mine.end() ? NewOf(input) : found->second);
      }
      std::map<std::string, Attribute> attributes = node.attributes;
      if (node.op == "Reshape") std::get<Ints>(attributes["shape"]).front() = slice_;
      mine[node.id] = {result->Add(node.op, node.name + suffix, inputs, attributes), 0};
      result->SetTurn(mine[node.id].node, static_cast<int>(index));
    }
    for (NodeId id : boundary_) parts_[id].push_back(mine[id]);
  }

  Output NewOf(Output output) const { return new_id_.at(output); }

  const Graph& graph_;
  const BatchSlicing slicing_;
  const int64_t most_nodes_;
  std::vector<bool> inside_;  // By node: in the region that works by image.
  const NodeId images_;
  const int64_t batch_;
  int64_t slice_ = 0;
  std::vector<NodeId> boundary_;
  std::map<NodeId, std::vector<Output>> parts_;  // Of a boundary node, by slice.
  std::map<Output, Output> new_id_;
};

}  // namespace

Graph SliceBatches(Graph graph, const std::vector<std::string>& fetches,
                   const BatchSlicing& slicing) {
  std::vector<std::string> placeholders;
  for (const Node& node : graph.Nodes()) {
    const bool images = node.op == "Placeholder" && node.outputs[0].shape.Rank() == 4;
    if (images) placeholders.push_back(node.name);
  }
  int64_t nodes_left = kMostSlicedNodes;
  for (const std::string& name : placeholders) {
    std::vector<Output> outputs;
    for (const std::string& fetch : fetches) outputs.push_back(ParseFetch(graph, fetch));
    Slicer slicer(graph, graph.Find(name), outputs, slicing, nodes_left);
    if (!slicer.Worthwhile()) continue;
    nodes_left -= slicer.Nodes();
    Graph sliced;
    slicer.Emit(&sliced);
    graph = std::move(sliced);
  }
  return graph;
}

}  // namespace cosched
