// SqueezeNet 1.1 (Iandola et al. 2016 and its later revision), as torchvision has it: pooling that
// rounds up. Its dropout is left out. Variables are named after torchvision's modules. 1,235,496
// parameters.

#include <string>

#include "workloads/layers.h"

namespace cosched {

Output BuildSqueezenet11(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  const Layers layers(&builder, training, seed);
  const auto conv = [&](Output x, const std::string& layer, int size, int filters,
                        const ConvolutionOptions& options = {}) {
    return builder.Relu(layers.Bias(layers.Conv(x, layer, size, filters, options), layer));
  };
  const auto fire = [&](Output x, const std::string& block, int squeeze, int expand) {
    x = conv(x, block + "/squeeze", 1, squeeze);
    return builder.ConcatV2(
        {conv(x, block + "/expand1x1", 1, expand), conv(x, block + "/expand3x3", 3, expand)}, 3);
  };
  const auto pool = [&](Output x) { return layers.MaxPool(x, 3, 2, 0, true); };
  Output x = pool(conv(images, "features/0", 3, 64, Padded(0, 2)));
  x = fire(x, "features/3", 16, 64);
  x = pool(fire(x, "features/4", 16, 64));
  x = fire(x, "features/6", 32, 128);
  x = pool(fire(x, "features/7", 32, 128));
  x = fire(x, "features/9", 48, 192);
  x = fire(x, "features/10", 48, 192);
  x = fire(x, "features/11", 64, 256);
  x = fire(x, "features/12", 64, 256);
  return builder.GlobalAveragePool(conv(x, "classifier/1", 1, 1000));
}

}  // namespace cosched
