#include "engine/graph/partition.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/graph/fetch.h"

namespace cosched {
namespace {

size_t At(NodeId id) { return static_cast<size_t>(id); }

// Where a network can be cut: behind this tensor. Costs are of the nodes up to it.
struct CutPoint {
  Output tensor;
  double cost_before = 0;
};

// A network's nodes between its ends, and its points from the input to the fetch, both of which are
// among them.
class NetworkPath {
 public:
  NetworkPath(const Graph& graph, const NetworkEnds& ends)
      : graph_(graph), ends_(ends), fetch_(ParseFetch(graph, ends.fetch)) {
    const NodeId input = graph.Find(ends.input);
    if (input == -1 || graph.At(input).op != "Placeholder") {
      throw InputError({.key = "input \"" + ends.input + "\"",
                        .problem = "the graph has no such placeholder",
                        .allowed = "the name of one"});
    }
    input_ = {input, 0};
    MarkNeeded();
    MarkBetween();
  }

  std::vector<CutPoint> Points(const NodeCost& cost) const {
    std::vector<CutPoint> points;
    // Last reader of each node between the ends that has been passed, and of its outputs.
    std::set<Output> open;
    const std::vector<NodeId> last = LastReaders();
    double before = 0;
    for (const Node& node : graph_.Nodes()) {
      if (!between_[At(node.id)]) continue;
      before += CostOf(node, cost);
      std::erase_if(open, [&](Output output) { return last[At(output.node)] <= node.id; });
      for (const Output output : read_) {
        if (output.node == node.id) open.insert(output);
      }
      const bool ends = node.id == fetch_.node;
      if (ends) open = {fetch_};
      if (open.size() != 1 || open.begin()->node != node.id) continue;
      if (ends || node.id == input_.node || (CanBeInput(*open.begin()) && !held_[At(node.id)])) {
        points.push_back({*open.begin(), before});
      }
    }
    return points;
  }

 private:
  void MarkNeeded() {
    needed_.assign(At(graph_.Size()), false);
    needed_[At(fetch_.node)] = true;
    for (NodeId id = fetch_.node; id >= 0; --id) {
      if (!needed_[At(id)]) continue;
      for (const Output input : graph_.At(id).inputs) needed_[At(input.node)] = true;
      for (const NodeId control : graph_.At(id).control_inputs) needed_[At(control)] = true;
    }
  }

  void MarkBetween() {
    between_.assign(At(graph_.Size()), false);
    held_.assign(At(graph_.Size()), false);
    between_[At(input_.node)] = needed_[At(input_.node)];
    for (const Node& node : graph_.Nodes()) {
      if (!needed_[At(node.id)]) continue;
      if (node.op == "Placeholder" && node.id != input_.node) {
        throw InputError({.key = "fetch \"" + ends_.fetch + "\"",
                          .problem = "it needs placeholder \"" + node.name + "\", too",
                          .allowed = "what follows from \"" + ends_.input + "\" alone"});
      }
      for (const Output input : node.inputs) {
        if (!between_[At(input.node)]) continue;
        between_[At(node.id)] = true;
        read_.insert(input);
      }
      for (const NodeId control : node.control_inputs) {
        if (between_[At(control)]) between_[At(node.id)] = true;
      }
      HoldBetweenControls(node);
    }
    if (fetch_.index == -1 || !between_[At(fetch_.node)] || fetch_.node == input_.node) {
      throw InputError({.key = "fetch \"" + ends_.fetch + "\"",
                        .problem = "its value does not follow from \"" + ends_.input + "\"",
                        .allowed = "a node that is computed from it"});
    }
  }

  // A tensor tells a later part nothing of what has run in an earlier one.
  void HoldBetweenControls(const Node& node) {
    for (const NodeId control : node.control_inputs) {
      if (!between_[At(control)]) continue;
      std::fill(held_.begin() + control, held_.begin() + node.id, true);
    }
  }

  std::vector<NodeId> LastReaders() const {
    std::vector<NodeId> last(At(graph_.Size()), -1);
    for (const Node& node : graph_.Nodes()) {
      if (!needed_[At(node.id)]) continue;
      for (const Output input : node.inputs) last[At(input.node)] = node.id;
    }
    return last;
  }

  double CostOf(const Node& node, const NodeCost& cost) const {
    if (node.id == input_.node) return 0;
    std::vector<OutputInfo> inputs;
    for (const Output input : node.inputs) inputs.push_back(graph_.Info(input));
    return cost(node, inputs);
  }

  bool CanBeInput(Output output) const {
    if (graph_.Info(output).type == DataType::kBFloat16) return false;  // No placeholder is.
    const Shape& images = graph_.Info(input_).shape;
    const Shape& shape = graph_.Info(output).shape;
    return images.Rank() > 0 && shape.Rank() > 0 && shape[0] == images[0];
  }

  const Graph& graph_;
  const NetworkEnds& ends_;
  const Output fetch_;
  Output input_;
  std::vector<bool> needed_;   // By the fetch.
  std::vector<bool> between_;  // Those of them that the input leads to.
  std::vector<bool> held_;     // No cut right behind it.
  std::set<Output> read_;      // Outputs of nodes between the ends that another one reads.
};

bool DiffersInBatchOnly(const OutputInfo& a, const OutputInfo& b) {
  if (a.type != b.type || a.shape.Rank() != b.shape.Rank()) return false;
  for (int i = 1; i < a.shape.Rank(); ++i) {
    if (a.shape[i] != b.shape[i]) return false;
  }
  return true;
}

// By network, as many of each.
std::vector<std::vector<CutPoint>> PointsOf(const Graph& graph,
                                            const std::vector<NetworkEnds>& networks,
                                            const NodeCost& cost) {
  CHECK(!networks.empty()) << "no network to cut";
  std::vector<std::vector<CutPoint>> all;
  for (const NetworkEnds& ends : networks) {
    all.push_back(NetworkPath(graph, ends).Points(cost));
    const bool alike =
        std::ranges::equal(all.front(), all.back(), [&](const CutPoint& a, const CutPoint& b) {
          return graph.At(a.tensor.node).op == graph.At(b.tensor.node).op &&
                 DiffersInBatchOnly(graph.Info(a.tensor), graph.Info(b.tensor));
        });
    if (!alike) {
      throw InputError({.key = "fetch \"" + ends.fetch + "\"",
                        .problem = "its network and that of \"" + networks.front().fetch +
                                   "\" can be cut at other points",
                        .allowed = "networks that differ in their batch only"});
    }
  }
  return all;
}

int MostPartsOf(const std::vector<CutPoint>& points) {
  return static_cast<int>(points.size()) - 1;  // Of its ends, each is a point, too.
}

// Costs of parts: the most, and where that is equal the squares' sum, which even ones keep low.
struct Imbalance {
  double most = 0;
  double squares = 0;
  friend auto operator<=>(const Imbalance&, const Imbalance&) = default;
};

// Indices of the points around each part, from the first point to the last; `costs` are those up to
// each point.
std::vector<size_t> BalancedCuts(const std::vector<double>& costs, size_t parts) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const size_t points = costs.size();
  struct Best {
    Imbalance imbalance = {kNever, kNever};
    size_t from = 0;  // Where its last part begins.
  };
  // Of the first parts, so many, that end at this point.
  std::vector<std::vector<Best>> best(parts + 1, std::vector<Best>(points));
  best[0][0].imbalance = {};
  for (size_t part = 1; part <= parts; ++part) {
    for (size_t end = part; end < points; ++end) {
      for (size_t from = part - 1; from < end; ++from) {
        const Imbalance before = best[part - 1][from].imbalance;
        const double cost = costs[end] - costs[from];
        const Imbalance now = {std::max(before.most, cost), before.squares + cost * cost};
        if (now < best[part][end].imbalance) best[part][end] = {now, from};
      }
    }
  }
  std::vector<size_t> cuts = {points - 1};
  for (size_t part = parts; part > 0; --part) {
    cuts.insert(cuts.begin(), best[part][cuts.front()].from);
  }
  return cuts;
}

// Adds to a part's graph what is between two tensors of a network.
class PartCopier {
 public:
  PartCopier(const Graph& graph, GraphPart* part)
      : graph_(graph), part_(*part), copies_(At(graph.Size()), -1) {}

  void Copy(Output from, Output to) {
    copies_[At(from.node)] = AddInput(from);
    std::vector<NodeId> pending = {to.node};
    std::set<NodeId> wanted;
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (copies_[At(id)] != -1 || !wanted.insert(id).second) continue;
      for (const Output input : graph_.At(id).inputs) pending.push_back(input.node);
      const std::vector<NodeId>& controls = graph_.At(id).control_inputs;
      pending.insert(pending.end(), controls.begin(), controls.end());
    }
    for (const NodeId id : wanted) CopyNode(graph_.At(id), from);
    part_.networks.push_back(
        {graph_.At(from.node).name, graph_.At(to.node).name + ":" + std::to_string(to.index)});
  }

 private:
  NodeId AddInput(Output from) {
    const OutputInfo& info = graph_.Info(from);
    return part_.graph.Add(
        "Placeholder", graph_.At(from.node).name, {},
        {{"shape", info.shape.Sizes()}, {"dtype", std::string(NameOf(info.type))}});
  }

  void CopyNode(const Node& node, Output from) {
    std::vector<Output> inputs;
    for (const Output input : node.inputs) {
      inputs.push_back({copies_[At(input.node)], input.node == from.node ? 0 : input.index});
    }
    std::vector<NodeId> controls;
    for (const NodeId control : node.control_inputs) controls.push_back(copies_[At(control)]);
    const NodeId copy = part_.graph.Add(node.op, node.name, std::move(inputs), node.attributes,
                                        std::move(controls));
    part_.graph.SetTurn(copy, node.turn);
    copies_[At(node.id)] = copy;
  }

  const Graph& graph_;
  GraphPart& part_;
  std::vector<NodeId> copies_;  // By node of the whole; -1: none.
};

}  // namespace

std::vector<GraphPart> PartitionGraph(const Graph& graph, const std::vector<NetworkEnds>& networks,
                                      int parts, const NodeCost& cost) {
  const std::vector<std::vector<CutPoint>> points = PointsOf(graph, networks, cost);
  const int most = MostPartsOf(points.front());
  if (parts < 1 || parts > most) {
    throw InputError({.key = "parts",
                      .problem = std::to_string(parts) + " of a network that can be cut at " +
                                 std::to_string(most - 1) + " points",
                      .allowed = "1 to " + std::to_string(most)});
  }
  std::vector<double> costs(points.front().size());
  for (const std::vector<CutPoint>& network : points) {
    for (size_t i = 0; i < costs.size(); ++i) costs[i] += network[i].cost_before;
  }
  const std::vector<size_t> cuts = BalancedCuts(costs, static_cast<size_t>(parts));
  std::vector<GraphPart> result(static_cast<size_t>(parts));
  for (size_t part = 0; part < result.size(); ++part) {
    PartCopier copier(graph, &result[part]);
    for (const std::vector<CutPoint>& network : points) {
      copier.Copy(network[cuts[part]].tensor, network[cuts[part + 1]].tensor);
    }
    result[part].graph.Build();
  }
  return result;
}

int MostParts(const Graph& graph, const std::vector<NetworkEnds>& networks) {
  const NodeCost nothing = [](const Node&, const std::vector<OutputInfo>&) { return 0.0; };
  return MostPartsOf(PointsOf(graph, networks, nothing).front());
}

}  // namespace cosched
