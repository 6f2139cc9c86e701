#include <cmath>

#include "engine/graph/readers/source_model.h"

namespace cosched {
namespace {

float FloatOr(const SourceNode& node, const std::string& name, float otherwise) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return otherwise;
  const float* value = std::get_if<float>(&found->second);
  return value == nullptr ? otherwise : *value;
}

}  // namespace

void FuseHardSwish(SourceModel* model) {
  std::map<std::string, std::string> arguments;  // A HardSigmoid's argument, by its result.
  for (const SourceNode& node : model->nodes) {
    const bool is = node.op == "HardSigmoid" && node.inputs.size() == 1 &&
                    node.outputs.size() == 1 &&
                    std::fabs(FloatOr(node, "alpha", 0.2f) - 1.0f / 6) < 1e-6f &&
                    FloatOr(node, "beta", 0.5f) == 0.5f;
    if (is) arguments[node.outputs[0]] = node.inputs[0];
  }
  for (SourceNode& node : model->nodes) {
    if (node.op != "Mul" || node.inputs.size() != 2) continue;
    for (size_t i = 0; i < 2; ++i) {
      const auto gate = arguments.find(node.inputs[i]);
      if (gate == arguments.end() || gate->second != node.inputs[1 - i]) continue;
      node.op = "HardSwish";
      node.inputs = {gate->second};
      break;
    }
  }
}

}  // namespace cosched
