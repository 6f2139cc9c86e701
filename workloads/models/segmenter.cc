// A small fully convolutional network that says of each pixel whether it is sky: a stand-in for the
// skyline extraction of ROMA (Baresi et al. 2021), whose network is not published. Three strided
// convolutions, four more with growing dilation for context, two scores for each 8x8 square and
// their learnt interpolation (Long et al. 2015). Any image size.

#include <string>

#include "workloads/layers.h"

namespace cosched {

Output BuildSegmenter(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  const Layers layers(&builder, training, seed);
  const auto conv = [&](Output x, const std::string& layer, int filters,
                        const ConvolutionOptions& options) {
    x = layers.Conv(x, layer, 3, filters, options);
    return builder.Relu(layers.BatchNorm(x, layer + "/bn"));
  };
  Output x = conv(images, "down1", 32, Padded(1, 2));
  x = conv(x, "down2", 64, Padded(1, 2));
  x = conv(x, "down3", 128, Padded(1, 2));
  for (int dilation : {1, 2, 4, 8}) {
    x = conv(x, "context" + std::to_string(dilation), 128, {.dilations = dilation});
  }
  x = layers.Bias(layers.Conv(x, "scores", 1, 2), "scores");
  const Shape image = builder.graph().Info(images).shape;
  x = layers.Upsample(x, "upsample", 8, {image[1], image[2]});
  return builder.Reshape(x, {image[0] * image[1] * image[2], 2});
}

}  // namespace cosched
