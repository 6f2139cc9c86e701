#include "engine/graph/batch_slices.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "engine/graph/fetch.h"
#include "engine/graph/flops.h"
#include "engine/graph/slice_sizes.h"
#include "engine/graph/tensor.h"

namespace cosched {
namespace {

using Ints = std::vector<int64_t>;

// Nodes of all slices: beyond these, what slices save is less than their nodes take to prepare.
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

// Bytes of a node's inputs that are constants, or that are none.
int64_t InputBytes(const Graph& graph, const Node& node, bool constants) {
  int64_t bytes = 0;
  for (const Output& input : node.inputs) {
    if ((graph.At(input.node).op == "Const") == constants) bytes += Bytes(graph.Info(input));
  }
  return bytes;
}

// The part of a graph that works image by image on one placeholder, and how many images each of its
// nodes computes at a time.
class SlicedRegion {
 public:
  SlicedRegion(const Graph& graph, NodeId images, const BatchSlicing& slicing, int64_t most_nodes)
      : graph_(graph),
        slicing_(slicing),
        images_(images),
        batch_(graph.At(images).outputs[0].shape[0]),
        size_(static_cast<size_t>(graph.Size()), 0) {
    Find();
    const SliceLimits limits = Limits(most_nodes);
    const std::vector<int64_t> sizes = SliceSizes(Described(), limits);
    for (size_t i = 0; i < nodes_.size(); ++i)
      size_[static_cast<size_t>(nodes_[i])] = sizes[i] < batch_ ? sizes[i] : 0;
    std::erase_if(nodes_, [this](NodeId id) { return SizeOf(id) == 0; });
  }

  NodeId images() const { return images_; }
  int64_t batch() const { return batch_; }
  const std::vector<NodeId>& nodes() const { return nodes_; }  // In the graph's order.
  // Images of a slice of this node; 0: it is not in the region.
  int64_t SizeOf(NodeId id) const { return size_[static_cast<size_t>(id)]; }
  // Ascending.
  std::vector<int64_t> Sizes() const {
    std::vector<int64_t> sizes;
    for (NodeId id : nodes_) {
      if (sizes.empty() || SizeOf(id) != sizes.back()) sizes.push_back(SizeOf(id));
    }
    return sizes;
  }

 private:
  // The images, a placeholder, and what depends on nothing else but them and constants.
  void Find() {
    std::vector<bool> inside(size_.size(), false);
    for (const Node& node : graph_.Nodes()) {
      if (node.outputs.size() != 1 || !node.control_inputs.empty()) continue;
      const Shape& shape = node.outputs[0].shape;
      if (shape.Rank() == 0 || shape[0] != batch_) continue;
      bool depends = false, others = false;
      for (const Output& input : node.inputs) {
        const bool from_region = input.node == images_ || inside[static_cast<size_t>(input.node)];
        depends = depends || from_region;
        others = others || (!from_region && graph_.At(input.node).op != "Const");
      }
      if (!depends || others || !WorksByImage(graph_, node)) continue;
      inside[static_cast<size_t>(node.id)] = true;
      nodes_.push_back(node.id);
    }
  }

  std::vector<SlicedNode> Described() const {
    std::vector<size_t> last_reader(size_.size(), 0);  // By node: a place in nodes_.
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const Output& input : graph_.At(nodes_[i]).inputs)
        last_reader[static_cast<size_t>(input.node)] = i;
    }
    std::vector<SlicedNode> described;
    std::vector<int64_t> ends(nodes_.size(), 0);  // Bytes that nobody reads behind this place.
    int64_t carried = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = graph_.At(nodes_[i]);
      const int64_t own = Bytes(node.outputs[0]) / batch_;
      const size_t last = last_reader[static_cast<size_t>(node.id)];
      if (last > i) {
        carried += own;
        ends[last] += own;
      }
      carried -= ends[i];
      described.push_back({.images = own + InputBytes(graph_, node, /*constants=*/false) / batch_,
                           .weights = InputBytes(graph_, node, /*constants=*/true),
                           .carried = carried});
    }
    return described;
  }

  SliceLimits Limits(int64_t most_nodes) const {
    int64_t largest = 1;
    for (NodeId id : nodes_) {
      const Node& node = graph_.At(id);
      const int64_t bytes = Bytes(node.outputs[0]) + InputBytes(graph_, node, /*constants=*/false);
      largest = std::max(largest, bytes / batch_);
    }
    // Threads that then have no slice of their own share the nodes of one, if they may.
    constexpr int64_t kShared = 8;
    const int64_t shared = slicing_.intra > 1 ? std::min(kShared, batch_) : 1;
    const int64_t most = std::max({batch_ / slicing_.inter, LeastSize(), shared});
    int64_t least = std::min(std::max<int64_t>(slicing_.bytes / largest, 1), most);
    while (batch_ % least != 0) --least;
    // A large prime number of images would be as many slices.
    const auto count = std::max<int64_t>(static_cast<int64_t>(nodes_.size()), 1);
    if (batch_ / least > most_nodes / count) least = batch_;
    return {.cache = slicing_.bytes, .batch = batch_, .least = least, .most = most};
  }

  // Images that are worth nodes of their own for other threads.
  int64_t LeastSize() const {
    double flops = 0;
    for (NodeId id : nodes_) {
      std::vector<OutputInfo> inputs;
      for (const Output& input : graph_.At(id).inputs) inputs.push_back(graph_.Info(input));
      flops += Flops(graph_.At(id), inputs);
    }
    const double images = slicing_.least_flops * static_cast<double>(batch_) / flops;
    return images < static_cast<double>(batch_) ? static_cast<int64_t>(std::ceil(images)) : batch_;
  }

  const Graph& graph_;
  const BatchSlicing slicing_;
  const NodeId images_;
  const int64_t batch_;
  std::vector<int64_t> size_;  // By node.
  std::vector<NodeId> nodes_;
};

// Writes the graph with the nodes of a region repeated for each of their slices.
class Slicer {
 public:
  Slicer(const Graph& graph, const SlicedRegion& region, int inter)
      : graph_(graph), region_(region), inter_(inter) {}

  void FindBoundaries(const std::vector<Output>& fetches) {
    for (const Output& fetch : fetches) read_outside_.insert(fetch.node);
    for (const Node& node : graph_.Nodes()) {
      const int64_t size = region_.SizeOf(node.id);
      for (const Output& input : node.inputs) {
        if (size == 0) read_outside_.insert(input.node);
        if (region_.SizeOf(input.node) != size) ends_.insert(input.node);
      }
    }
    std::erase_if(read_outside_, [this](NodeId id) { return region_.SizeOf(id) == 0; });
    ends_.insert(read_outside_.begin(), read_outside_.end());
    std::erase_if(ends_, [this](NodeId id) { return region_.SizeOf(id) == 0; });
  }

  void Emit(Graph* result) {
    for (const Node& node : graph_.Nodes()) {
      if (node.op == "Const" || node.op == "Placeholder") Copy(node, result);
    }
    const std::vector<int64_t> sizes = region_.Sizes();
    const int64_t least = sizes.front();
    for (int64_t end = least; end <= region_.batch(); end += least) {
      for (int64_t size : sizes) {
        if (end % size == 0) EmitSlice({size, end / size - 1, end / least}, result);
      }
    }
    for (NodeId id : read_outside_) {
      const Node& node = graph_.At(id);
      new_id_[{id, 0}] = {result->Add("ConcatV2", node.name, parts_[id], {{"axis", int64_t{0}}}),
                          0};
    }
    for (const Node& node : graph_.Nodes()) {
      const bool done =
          node.op == "Const" || node.op == "Placeholder" || region_.SizeOf(node.id) > 0;
      if (!done) Copy(node, result);
    }
  }

 private:
  struct Slice {
    int64_t size, index, turn;
    std::string Suffix() const { return "/slice" + std::to_string(index); }
  };

  void Copy(const Node& node, Graph* result) {
    std::vector<Output> inputs;
    for (const Output& input : node.inputs) inputs.push_back(new_id_.at(input));
    std::vector<NodeId> controls;
    for (NodeId control : node.control_inputs) controls.push_back(new_id_.at({control, 0}).node);
    const NodeId id = result->Add(node.op, node.name, inputs, node.attributes, controls);
    result->SetTurn(id, node.turn);  // A slice of another placeholder's images.
    for (int i = 0; i < static_cast<int>(std::max<size_t>(node.outputs.size(), 1)); ++i)
      new_id_[{node.id, i}] = {id, i};
  }

  // Slices of one size follow each other (as many side by side as there are inter-op threads, and
  // in their turn where fewer of these are active), since each is to find its own values in the
  // cache. What is cut out of the images, or joined, for this one waits for the one before.
  void EmitSlice(const Slice& slice, Graph* result) {
    std::vector<NodeId> before;
    if (slice.index >= inter_) {
      for (NodeId id : ends_) {
        if (region_.SizeOf(id) == slice.size)
          before.push_back(parts_[id][static_cast<size_t>(slice.index - inter_)].node);
      }
    }
    std::map<NodeId, Output> taken;  // What nodes of another size, or the images, have for it.
    for (NodeId id : region_.nodes()) {
      if (region_.SizeOf(id) != slice.size) continue;
      const Node& node = graph_.At(id);
      std::vector<Output> inputs;
      for (const Output& input : node.inputs) {
        const int64_t size = region_.SizeOf(input.node);
        if (size == 0 && input.node != region_.images()) {
          inputs.push_back(new_id_.at(input));
        } else if (size == slice.size) {
          inputs.push_back(parts_[input.node][static_cast<size_t>(slice.index)]);
        } else {
          if (!taken.contains(input.node))
            taken[input.node] = Take(input.node, slice, before, result);
          inputs.push_back(taken[input.node]);
        }
      }
      std::map<std::string, Attribute> attributes = node.attributes;
      if (node.op == "Reshape") std::get<Ints>(attributes["shape"]).front() = slice.size;
      const NodeId part = result->Add(node.op, node.name + slice.Suffix(), inputs, attributes);
      result->SetTurn(part, static_cast<int>(slice.turn));
      parts_[id].push_back({part, 0});
    }
  }

  // The slice's part of the images, or smaller slices' results as one.
  Output Take(NodeId id, const Slice& slice, const std::vector<NodeId>& before, Graph* result) {
    const Node& node = graph_.At(id);
    NodeId taken = -1;
    if (id == region_.images()) {
      Ints size = node.outputs[0].shape.Sizes();
      Ints first(size.size(), 0);
      first[0] = slice.index * slice.size;
      size[0] = slice.size;
      const std::string name = NameOfTaken(node.name, slice);
      taken = result->Add("Slice", name, {new_id_.at({id, 0})}, {{"begin", first}, {"size", size}},
                          before);
    } else {
      const auto each = static_cast<std::ptrdiff_t>(slice.size / region_.SizeOf(id));
      const auto first = parts_[id].begin() + static_cast<std::ptrdiff_t>(slice.index) * each;
      taken = result->Add("ConcatV2", NameOfTaken(node.name, slice), {first, first + each},
                          {{"axis", int64_t{0}}}, before);
    }
    result->SetTurn(taken, static_cast<int>(slice.turn));
    return {taken, 0};
  }

  // Slices of two sizes may take of one node.
  std::string NameOfTaken(const std::string& name, const Slice& slice) const {
    if (slice.size == region_.Sizes().front()) return name + slice.Suffix();
    return name + "/by" + std::to_string(slice.size) + slice.Suffix();
  }

  const Graph& graph_;
  const SlicedRegion& region_;
  const int inter_;
  std::set<NodeId> read_outside_;  // Nodes of the region that somebody outside of it reads.
  std::set<NodeId> ends_;          // … that somebody who is not sliced alike reads.
  std::map<NodeId, std::vector<Output>> parts_;  // A region's node, by slice.
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
    const SlicedRegion region(graph, graph.Find(name), slicing, nodes_left);
    if (region.nodes().empty()) continue;
    Slicer slicer(graph, region, slicing.inter);
    slicer.FindBoundaries(outputs);
    Graph sliced;
    slicer.Emit(&sliced);
    nodes_left -= sliced.Size() - graph.Size();
    graph = std::move(sliced);
  }
  return graph;
}

}  // namespace cosched
