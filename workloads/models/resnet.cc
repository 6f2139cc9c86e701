// ResNet-18 and ResNet-50 for ImageNet (He et al. 2016), as torchvision has them: ResNet-50 halves
// the image in the 3x3 convolution of a block ("v1.5"). Variables are named after torchvision's
// modules. 11,689,512 and 25,557,032 parameters.

#include <array>
#include <string>

#include "workloads/layers.h"

namespace cosched {
namespace {

class Resnet {
 public:
  Resnet(GraphBuilder* builder, const Layers& layers) : builder_(*builder), layers_(layers) {}

  Output Basic(Output input, const std::string& block, int filters, int stride) const {
    Output x = builder_.Relu(ConvNorm(input, block, "1", 3, filters, Padded(1, stride)));
    x = ConvNorm(x, block, "2", 3, filters);
    return Join(x, input, block, stride);
  }

  Output Bottleneck(Output input, const std::string& block, int filters, int stride) const {
    Output x = builder_.Relu(ConvNorm(input, block, "1", 1, filters));
    x = builder_.Relu(ConvNorm(x, block, "2", 3, filters, Padded(1, stride)));
    x = ConvNorm(x, block, "3", 1, 4 * filters);
    return Join(x, input, block, stride);
  }

 private:
  Output ConvNorm(Output x, const std::string& block, const std::string& number, int size,
                  int filters, const ConvolutionOptions& options = {}) const {
    x = layers_.Conv(x, block + "/conv" + number, size, filters, options);
    return layers_.BatchNorm(x, block + "/bn" + number);
  }

  // Adds the shortcut, projected where its shape is another.
  Output Join(Output x, Output shortcut, const std::string& block, int stride) const {
    const Shape shape = builder_.graph().Info(x).shape;
    if (builder_.graph().Info(shortcut).shape != shape) {
      const std::string layer = block + "/downsample/";
      shortcut = layers_.Conv(shortcut, layer + "0", 1, shape[3], {.stride = stride});
      shortcut = layers_.BatchNorm(shortcut, layer + "1");
    }
    return builder_.Relu(builder_.AddV2(x, shortcut));
  }

  GraphBuilder& builder_;
  const Layers& layers_;
};

Output Build(GraphBuilder& builder, Output images, const Layers& layers,
             Output (Resnet::*add_block)(Output, const std::string&, int, int) const,
             std::array<int, 4> blocks) {
  const Resnet net(&builder, layers);
  Output x = layers.Conv(images, "conv1", 7, 64, Padded(3, 2));
  x = layers.MaxPool(builder.Relu(layers.BatchNorm(x, "bn1")), 3, 2, 1);
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int i = 0; i < blocks[stage]; ++i) {
      const std::string block = "layer" + std::to_string(stage + 1) + "/" + std::to_string(i);
      x = (net.*add_block)(x, block, 64 << stage, stage > 0 && i == 0 ? 2 : 1);
    }
  }
  return layers.Logits(builder.GlobalAveragePool(x), "fc", 1000);
}

}  // namespace

Output BuildResnet18(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  return Build(builder, images, Layers(&builder, training, seed), &Resnet::Basic, {2, 2, 2, 2});
}

Output BuildResnet50(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  return Build(builder, images, Layers(&builder, training, seed), &Resnet::Bottleneck,
               {3, 4, 6, 3});
}

}  // namespace cosched
