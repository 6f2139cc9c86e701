// LeNet-5 (LeCun et al. 1998) as it is trained today: max pooling and ReLU, the first convolution
// padded so that 28x28 images need no border. 61,706 parameters.

#include "workloads/layers.h"

namespace cosched {

Output BuildLenet5(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  Layers layers(&builder, training, seed);
  Output x = layers.Bias(layers.Conv(images, "conv1", 5, 6, 1, Padding::kSame), "conv1");
  x = builder.MaxPool(builder.Relu(x), 2, 2, Padding::kValid);
  x = layers.Bias(layers.Conv(x, "conv2", 5, 16, 1, Padding::kValid), "conv2");
  x = builder.MaxPool(builder.Relu(x), 2, 2, Padding::kValid);
  const Shape shape = builder.graph().Info(x).shape;  // [N,5,5,16]
  x = builder.Reshape(x, {shape[0], shape[1] * shape[2] * shape[3]});
  x = builder.Relu(layers.Dense(x, "fc1", 120));
  x = builder.Relu(layers.Dense(x, "fc2", 84));
  return layers.Dense(x, "fc3", 10);
}

}  // namespace cosched
