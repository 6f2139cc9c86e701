// ResNet-20 and ResNet-56 for CIFAR-10 (He et al. 2016, section 4.2) in the shape of TensorFlow's
// official Keras model, the job of the malleability studies (Libutti et al. 2020): 3 stages of 3 or
// 9 basic blocks, 16/32/64 filters. As there, and unlike He's parameter-free shortcut, the first
// block of every stage (the first one too, though its shape does not change) has a 1x1 convolution
// with batch norm on its shortcut; 272,762 and 856,058 parameters. Running statistics decay by 0.9
// a step instead of 0.997, because jobs of some hundred steps must be able to infer.

#include <string>

#include "workloads/layers.h"

namespace cosched {
namespace {

Output BasicBlock(GraphBuilder& builder, const Layers& layers, Output input,
                  const std::string& block, int filters, int stride, bool project) {
  Output x = layers.Conv(input, block + "/conv1", 3, filters, {.stride = stride});
  x = builder.Relu(layers.BatchNorm(x, block + "/bn1"));
  x = layers.Conv(x, block + "/conv2", 3, filters);
  x = layers.BatchNorm(x, block + "/bn2");
  Output shortcut = input;
  if (project) {
    shortcut = layers.Conv(input, block + "/shortcut", 1, filters, {.stride = stride});
    shortcut = layers.BatchNorm(shortcut, block + "/shortcut_bn");
  }
  return builder.Relu(builder.AddV2(x, shortcut));
}

Output BuildResnet(GraphBuilder& builder, Output images, bool training, uint64_t seed,
                   int blocks_per_stage) {
  const Layers layers(&builder, training, seed);
  Output x = layers.Conv(images, "conv1", 3, 16);
  x = builder.Relu(layers.BatchNorm(x, "bn1"));
  for (int stage = 0; stage < 3; ++stage) {
    for (int i = 0; i < blocks_per_stage; ++i) {
      const std::string block = "stage" + std::to_string(stage + 1) + "/block" + std::to_string(i);
      const int stride = stage > 0 && i == 0 ? 2 : 1;
      x = BasicBlock(builder, layers, x, block, 16 << stage, stride, i == 0);
    }
  }
  return layers.Logits(builder.GlobalAveragePool(x), "fc", 10);
}

}  // namespace

Output BuildResnet20(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  return BuildResnet(builder, images, training, seed, 3);
}

Output BuildResnet56(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  return BuildResnet(builder, images, training, seed, 9);
}

}  // namespace cosched
