#include "engine/graph/bfloat16.h"

#include <map>
#include <set>
#include <utility>

#include "engine/graph/fetch.h"
#include "engine/graph/image_types.h"

namespace cosched {
namespace {

class Conversion {
 public:
  Conversion(const Graph& graph, const std::vector<std::string>& fetches, Graph* result)
      : graph_(graph), result_(*result) {
    for (const std::string& fetch : fetches) fetched_.insert(ParseFetch(graph, fetch));
  }

  void Run() {
    for (const Node& node : graph_.Nodes()) Convert(node);
  }

 private:
  // What stands for an output of the old graph: itself, in one type or both.
  struct Versions {
    Output full, half;
  };

  void Convert(const Node& node) {
    const ImageTypes types = ImageTypesOf(node.op);
    const bool halves = types.converts || AnyIsHalf(node, types);
    std::vector<Output> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool passes = node.op == "Reshape";  // Has the type of its input.
      const bool half = passes ? IsHalf(node.inputs[i]) : halves && types.HasInput(i);
      inputs.push_back(In(node.inputs[i], half ? DataType::kBFloat16 : DataType::kFloat));
    }
    std::vector<NodeId> controls;
    for (NodeId control : node.control_inputs) controls.push_back(new_id_.at(control));
    const bool is_fetched = fetched_.contains({node.id, 0});
    const bool gives_half =
        (halves && types.HasOutput(0)) || (node.op == "Reshape" && IsHalf(node.inputs[0]));
    const std::string name =
        is_fetched && gives_half ? NewName(node.name + "/bfloat16") : node.name;
    const NodeId id = result_.Add(node.op, name, inputs, node.attributes, controls);
    result_.SetTurn(id, node.turn);
    new_id_[node.id] = id;
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
      const bool half = result_.Info({id, i}).type == DataType::kBFloat16;
      (half ? versions_[{node.id, i}].half : versions_[{node.id, i}].full) = {id, i};
    }
    if (is_fetched && gives_half) AddCast({node.id, 0}, DataType::kFloat, node.name);
  }

  // Computed so: not cast for a convolution.
  bool IsHalf(Output output) const {
    const Output half = versions_.at(output).half;
    return half.node != -1 && !casts_.contains(half.node);
  }

  bool AnyIsHalf(const Node& node, const ImageTypes& types) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (types.HasInput(i) && IsHalf(node.inputs[i])) return true;
    }
    return false;
  }

  // That neither graph has.
  std::string NewName(const std::string& base) {
    std::string name = result_.UniqueName(base);
    while (graph_.Find(name) != -1) name = result_.UniqueName(name + "_");
    return name;
  }

  // The value in this type, if it is a float at all; labels pass.
  Output In(Output output, DataType type) {
    const Versions& versions = versions_.at(output);
    const Output wanted = type == DataType::kBFloat16 ? versions.half : versions.full;
    if (wanted.node != -1) return wanted;
    return AddCast(output, type, NewName(graph_.At(output.node).name + "/Cast"));
  }

  Output AddCast(Output output, DataType type, const std::string& name) {
    Versions& versions = versions_.at(output);
    const bool narrows = type == DataType::kBFloat16;
    const Output from = narrows ? versions.full : versions.half;
    Output& to = narrows ? versions.half : versions.full;
    to = {result_.Add("Cast", name, {from}, {{"dtype", std::string(NameOf(type))}}), 0};
    casts_.insert(to.node);
    return to;
  }

  const Graph& graph_;
  Graph& result_;
  std::set<Output> fetched_;
  std::map<NodeId, NodeId> new_id_;
  std::map<Output, Versions> versions_;
  std::set<NodeId> casts_;  // Added here.
};

}  // namespace

void ConvertToBFloat16(const Graph& graph, const std::vector<std::string>& fetches, Graph* result) {
  Conversion(graph, fetches, result).Run();
}

}  // namespace cosched
