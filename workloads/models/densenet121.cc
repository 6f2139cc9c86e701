// DenseNet-121 with growth rate 32 (Huang et al. 2017, DenseNet-BC), as torchvision has it.
// Variables are named after torchvision's modules. 7,978,856 parameters.

#include <array>
#include <string>

#include "workloads/layers.h"

namespace cosched {
namespace {

constexpr int kGrowth = 32;

// What the block has so far, and one more layer of kGrowth channels.
Output DenseLayer(GraphBuilder& builder, const Layers& layers, Output features,
                  const std::string& layer) {
  Output x = builder.Relu(layers.BatchNorm(features, layer + "/norm1"));
  x = layers.Conv(x, layer + "/conv1", 1, 4 * kGrowth);
  x = builder.Relu(layers.BatchNorm(x, layer + "/norm2"));
  return layers.Conv(x, layer + "/conv2", 3, kGrowth);
}

Output Transition(GraphBuilder& builder, const Layers& layers, Output x, const std::string& layer) {
  x = builder.Relu(layers.BatchNorm(x, layer + "/norm"));
  x = layers.Conv(x, layer + "/conv", 1, builder.graph().Info(x).shape[3] / 2);
  return builder.AvgPool(x, 2, 2, Padding::kValid);
}

}  // namespace

Output BuildDensenet121(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  constexpr std::array kLayers = {6, 12, 24, 16};  // By block.
  const Layers layers(&builder, training, seed);
  Output x = layers.Conv(images, "features/conv0", 7, 64, Padded(3, 2));
  x = layers.MaxPool(builder.Relu(layers.BatchNorm(x, "features/norm0")), 3, 2, 1);
  for (size_t block = 0; block < kLayers.size(); ++block) {
    const std::string number = std::to_string(block + 1);
    for (int i = 1; i <= kLayers[block]; ++i) {
      const std::string layer = "features/denseblock" + number + "/denselayer" + std::to_string(i);
      x = builder.ConcatV2({x, DenseLayer(builder, layers, x, layer)}, 3);
    }
    if (block + 1 < kLayers.size()) {
      x = Transition(builder, layers, x, "features/transition" + number);
    }
  }
  x = builder.Relu(layers.BatchNorm(x, "features/norm5"));
  return layers.Logits(builder.GlobalAveragePool(x), "classifier", 1000);
}

}  // namespace cosched
