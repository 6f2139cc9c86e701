// AlexNet with one tower (Krizhevsky 2014, "One weird trick"), as torchvision has it: no local
// response normalisation, no groups. Its dropout is left out. Variables are named after
// torchvision's modules. 61,100,840 parameters.

#include "workloads/layers.h"

namespace cosched {

Output BuildAlexnet(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  const Layers layers(&builder, training, seed);
  const auto conv = [&](Output x, const char* layer, int size, int filters,
                        const ConvolutionOptions& options = {}) {
    return builder.Relu(layers.Bias(layers.Conv(x, layer, size, filters, options), layer));
  };
  Output x = conv(images, "features/0", 11, 64, Padded(2, 4));
  x = conv(layers.MaxPool(x, 3, 2), "features/3", 5, 192);
  x = conv(layers.MaxPool(x, 3, 2), "features/6", 3, 384);
  x = conv(x, "features/8", 3, 256);
  x = conv(x, "features/10", 3, 256);
  x = layers.Flatten(layers.MaxPool(x, 3, 2));  // 6x6 of 256.
  x = builder.Relu(layers.Dense(x, "classifier/1", 4096));
  x = builder.Relu(layers.Dense(x, "classifier/4", 4096));
  return layers.Logits(x, "classifier/6", 1000);
}

}  // namespace cosched
