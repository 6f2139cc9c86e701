// GoogLeNet (Szegedy et al. 2015) as torchvision has it: with batch norm, 3x3 convolutions where
// the paper's third branch has 5x5, and pooling that rounds up. The auxiliary heads and the dropout
// are left out. Variables are named after torchvision's modules. 6,624,904 parameters.

#include <string>

#include "workloads/layers.h"

namespace cosched {
namespace {

class Googlenet {
 public:
  Googlenet(GraphBuilder* builder, const Layers& layers) : builder_(*builder), layers_(layers) {}

  Output Conv(Output x, const std::string& layer, int size, int filters,
              const ConvolutionOptions& options = {}) const {
    x = layers_.Conv(x, layer + "/conv", size, filters, options);
    return builder_.Relu(layers_.BatchNorm(x, layer + "/bn", 1e-3f));
  }

  Output Pool(Output x, int size) const { return layers_.MaxPool(x, size, 2, 0, true); }

  // Filters of the 1x1 branch, of both 3x3 branches with their 1x1 reductions, and after pooling.
  Output Inception(Output x, const std::string& block, int ones, int reduce, int threes,
                   int reduce_second, int second_threes, int pooled) const {
    const Output second = Conv(x, block + "/branch2/0", 1, reduce);
    const Output third = Conv(x, block + "/branch3/0", 1, reduce_second);
    return builder_.ConcatV2(
        {Conv(x, block + "/branch1", 1, ones), Conv(second, block + "/branch2/1", 3, threes),
         Conv(third, block + "/branch3/1", 3, second_threes),
         Conv(layers_.MaxPool(x, 3, 1, 1), block + "/branch4/1", 1, pooled)},
        3);
  }

 private:
  GraphBuilder& builder_;
  const Layers& layers_;
};

}  // namespace

Output BuildGooglenet(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  const Layers layers(&builder, training, seed);
  const Googlenet net(&builder, layers);
  Output x = net.Conv(images, "conv1", 7, 64, Padded(3, 2));
  x = net.Conv(net.Pool(x, 3), "conv2", 1, 64);
  x = net.Pool(net.Conv(x, "conv3", 3, 192), 3);
  x = net.Inception(x, "inception3a", 64, 96, 128, 16, 32, 32);
  x = net.Inception(x, "inception3b", 128, 128, 192, 32, 96, 64);
  x = net.Pool(x, 3);
  x = net.Inception(x, "inception4a", 192, 96, 208, 16, 48, 64);
  x = net.Inception(x, "inception4b", 160, 112, 224, 24, 64, 64);
  x = net.Inception(x, "inception4c", 128, 128, 256, 24, 64, 64);
  x = net.Inception(x, "inception4d", 112, 144, 288, 32, 64, 64);
  x = net.Inception(x, "inception4e", 256, 160, 320, 32, 128, 128);
  x = net.Pool(x, 2);
  x = net.Inception(x, "inception5a", 256, 160, 320, 32, 128, 128);
  x = net.Inception(x, "inception5b", 384, 192, 384, 48, 128, 128);
  return layers.Logits(builder.GlobalAveragePool(x), "fc", 1000);
}

}  // namespace cosched
