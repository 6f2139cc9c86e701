// LeNet-5 (LeCun et al. 1998) as it is trained today: max pooling and ReLU, the first convolution
// padded so that 28x28 images need no border. 61,706 parameters.

#include "workloads/layers.h"

namespace cosched {

Output BuildLenet5(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  const Layers layers(&builder, training, seed);
  Output x = layers.Bias(layers.Conv(images, "conv1", 5, 6), "conv1");
  x = builder.MaxPool(builder.Relu(x), 2, 2, Padding::kValid);
  x = layers.Bias(layers.Conv(x, "conv2", 5, 16, {.padding = Padding::kValid}), "conv2");
  x = layers.Flatten(builder.MaxPool(builder.Relu(x), 2, 2, Padding::kValid));  // 5x5 of 16.
  x = builder.Relu(layers.Dense(x, "fc1", 120));
  x = builder.Relu(layers.Dense(x, "fc2", 84));
  return layers.Dense(x, "fc3", 10);
}

}  // namespace cosched
