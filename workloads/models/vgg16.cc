// VGG-16 without batch norm (Simonyan and Zisserman 2015, configuration D), as torchvision has it.
// The dropout is left out. Variables are named after torchvision's modules. 138,357,544 parameters.

#include <string>

#include "workloads/layers.h"

namespace cosched {

Output BuildVgg16(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  struct Stage {
    int convolutions, filters;
  };
  const Layers layers(&builder, training, seed);
  Output x = images;
  int module = 0;  // Index in torchvision's sequence, where ReLU and pooling are numbered, too.
  for (const Stage stage : {Stage{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}) {
    for (int i = 0; i < stage.convolutions; ++i, module += 2) {
      const std::string layer = "features/" + std::to_string(module);
      x = builder.Relu(layers.Bias(layers.Conv(x, layer, 3, stage.filters), layer));
    }
    x = layers.MaxPool(x, 2, 2);
    ++module;
  }
  x = layers.Flatten(x);  // 7x7 of 512.
  x = builder.Relu(layers.Dense(x, "classifier/0", 4096));
  x = builder.Relu(layers.Dense(x, "classifier/3", 4096));
  return layers.Logits(x, "classifier/6", 1000);
}

}  // namespace cosched
