// MobileNetV2 of width 1 (Sandler et al. 2018), as torchvision has it. Its dropout is left out.
// Variables are named after torchvision's modules. 3,504,872 parameters.

#include <string>

#include "workloads/layers.h"

namespace cosched {
namespace {

Output InvertedResidual(GraphBuilder& builder, const Layers& layers, Output input,
                        const std::string& block, int expansion, int filters, int stride) {
  const int64_t inputs = builder.graph().Info(input).shape[3];
  int module = 0;  // Index in torchvision's list, which has no expansion where it would be by 1.
  const auto layer = [&] { return block + "/conv/" + std::to_string(module); };
  Output x = input;
  if (expansion > 1) {
    x = layers.Conv(x, layer() + "/0", 1, inputs * expansion);
    x = builder.Relu6(layers.BatchNorm(x, layer() + "/1"));
    ++module;
  }
  x = layers.DepthwiseConv(x, layer() + "/0", 3, Padded(1, stride));
  x = builder.Relu6(layers.BatchNorm(x, layer() + "/1"));
  ++module;
  x = layers.Conv(x, layer(), 1, filters);
  ++module;
  x = layers.BatchNorm(x, layer());
  return stride == 1 && filters == inputs ? builder.AddV2(input, x) : x;
}

}  // namespace

Output BuildMobilenetV2(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  struct Stage {  // The paper's table 2.
    int expansion, filters, blocks, stride;
  };
  const Layers layers(&builder, training, seed);
  const auto conv = [&](Output x, const std::string& layer, int size, int filters,
                        const ConvolutionOptions& options) {
    x = layers.Conv(x, layer + "/0", size, filters, options);
    return builder.Relu6(layers.BatchNorm(x, layer + "/1"));
  };
  Output x = conv(images, "features/0", 3, 32, Padded(1, 2));
  int module = 1;
  for (const Stage stage : {Stage{1, 16, 1, 1},
                            {6, 24, 2, 2},
                            {6, 32, 3, 2},
                            {6, 64, 4, 2},
                            {6, 96, 3, 1},
                            {6, 160, 3, 2},
                            {6, 320, 1, 1}}) {
    for (int i = 0; i < stage.blocks; ++i, ++module) {
      x = InvertedResidual(builder, layers, x, "features/" + std::to_string(module),
                           stage.expansion, stage.filters, i == 0 ? stage.stride : 1);
    }
  }
  x = conv(x, "features/18", 1, 1280, {});
  return layers.Logits(builder.GlobalAveragePool(x), "classifier/1", 1000);
}

}  // namespace cosched
