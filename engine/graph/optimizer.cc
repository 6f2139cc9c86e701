#include "engine/graph/optimizer.h"

#include <utility>

#include "engine/graph/fetch.h"
#include "engine/graph/fusion.h"
#include "engine/graph/rewriter.h"

namespace cosched {
namespace {

void Freeze(const std::map<std::string, Tensor>& variables, GraphRewriter* graph) {
  for (NodeId id = 0; id < graph->Size(); ++id) {
    Node& node = graph->At(id);
    if (node.op != "VariableV2") continue;
    const auto found = variables.find(node.name);
    Tensor value =
        found == variables.end() ? std::get<Tensor>(node.attributes.at("initial")) : found->second;
    node.op = "Const";
    node.attributes = {{"value", std::move(value)}};
  }
}

void FoldReshapesOfConstants(GraphRewriter* graph) {
  for (NodeId id = 0; id < graph->Size(); ++id) {
    const Node& node = graph->At(id);
    if (node.op != "Reshape") continue;
    const Tensor* value = graph->Constant(node.inputs[0]);
    if (value == nullptr) continue;
    Tensor reshaped = value->Reshaped(node.outputs[0].shape);
    graph->Become(id, "Const", {}, {{"value", std::move(reshaped)}});
  }
}

}  // namespace

void OptimizeForInference(const Graph& graph, const std::vector<std::string>& fetches,
                          const std::map<std::string, Tensor>& variables, Graph* result,
                          const BatchSlicing& slicing) {
  std::vector<Output> outputs;
  for (const std::string& fetch : fetches) outputs.push_back(ParseFetch(graph, fetch));
  GraphRewriter rewriter(graph, outputs);
  Freeze(variables, &rewriter);
  FoldReshapesOfConstants(&rewriter);
  FoldPadding(&rewriter);
  ConvolvePixels(&rewriter);
  FuseLayerNorms(&rewriter);
  FuseGelus(&rewriter);
  NormaliseBiases(&rewriter);
  FoldBatchNorms(&rewriter);
  FoldScales(&rewriter);
  FuseBiases(&rewriter);
  FuseResiduals(&rewriter);
  FuseActivations(&rewriter);
  Graph fused;
  rewriter.Emit(&fused);
  *result = SliceBatches(std::move(fused), fetches, slicing);
}

}  // namespace cosched
