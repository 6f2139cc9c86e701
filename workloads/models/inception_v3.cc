// Inception-v3 for 299x299 images (Szegedy et al. 2016), as torchvision has it: average pools count
// their padding. The auxiliary head, the dropout and the input transformation are left out.
// Variables are named after torchvision's modules. 23,834,568 parameters.

#include <string>

#include "workloads/layers.h"

namespace cosched {
namespace {

// The five kinds of block; the letters are torchvision's.
class InceptionV3 {
 public:
  InceptionV3(GraphBuilder* builder, const Layers& layers) : builder_(*builder), layers_(layers) {}

  Output Conv(Output x, const std::string& layer, HeightWidth size, int filters,
              const ConvolutionOptions& options = {}) const {
    x = layers_.Conv(x, layer + "/conv", size, filters, options);
    return builder_.Relu(layers_.BatchNorm(x, layer + "/bn", 1e-3f));
  }

  Output BlockA(Output x, const std::string& block, int pooled) const {
    const std::string five = block + "/branch5x5_";
    return builder_.ConcatV2(
        {Conv(x, block + "/branch1x1", 1, 64), Conv(Conv(x, five + "1", 1, 48), five + "2", 5, 64),
         DoubleThree(x, block, {}), Pooled(x, block, pooled)},
        3);
  }

  Output BlockB(Output x, const std::string& block) const {
    return builder_.ConcatV2({Conv(x, block + "/branch3x3", 3, 384, Padded(0, 2)),
                              DoubleThree(x, block, Padded(0, 2)), layers_.MaxPool(x, 3, 2)},
                             3);
  }

  Output BlockC(Output x, const std::string& block, int inner) const {
    const std::string once = block + "/branch7x7_", twice = block + "/branch7x7dbl_";
    Output seven = Conv(x, once + "1", 1, inner);
    seven = Conv(seven, once + "2", {1, 7}, inner);
    seven = Conv(seven, once + "3", {7, 1}, 192);
    Output sevens = Conv(x, twice + "1", 1, inner);
    sevens = Conv(sevens, twice + "2", {7, 1}, inner);
    sevens = Conv(sevens, twice + "3", {1, 7}, inner);
    sevens = Conv(sevens, twice + "4", {7, 1}, inner);
    sevens = Conv(sevens, twice + "5", {1, 7}, 192);
    const Output one = Conv(x, block + "/branch1x1", 1, 192);
    return builder_.ConcatV2({one, seven, sevens, Pooled(x, block, 192)}, 3);
  }

  Output BlockD(Output x, const std::string& block) const {
    const std::string once = block + "/branch3x3_", mixed = block + "/branch7x7x3_";
    const Output three = Conv(Conv(x, once + "1", 1, 192), once + "2", 3, 320, Padded(0, 2));
    Output seven = Conv(x, mixed + "1", 1, 192);
    seven = Conv(seven, mixed + "2", {1, 7}, 192);
    seven = Conv(seven, mixed + "3", {7, 1}, 192);
    seven = Conv(seven, mixed + "4", 3, 192, Padded(0, 2));
    return builder_.ConcatV2({three, seven, layers_.MaxPool(x, 3, 2)}, 3);
  }

  Output BlockE(Output x, const std::string& block) const {
    const std::string once = block + "/branch3x3_", twice = block + "/branch3x3dbl_";
    const Output three = Conv(x, once + "1", 1, 384);
    const Output threes = Conv(Conv(x, twice + "1", 1, 448), twice + "2", 3, 384);
    return builder_.ConcatV2({Conv(x, block + "/branch1x1", 1, 320), Split(three, once + "2"),
                              Split(threes, twice + "3"), Pooled(x, block, 192)},
                             3);
  }

 private:
  Output DoubleThree(Output x, const std::string& block, const ConvolutionOptions& last) const {
    const std::string layer = block + "/branch3x3dbl_";
    x = Conv(Conv(x, layer + "1", 1, 64), layer + "2", 3, 96);
    return Conv(x, layer + "3", 3, 96, last);
  }

  Output Split(Output x, const std::string& layer) const {
    return builder_.ConcatV2({Conv(x, layer + "a", {1, 3}, 384), Conv(x, layer + "b", {3, 1}, 384)},
                             3);
  }

  Output Pooled(Output x, const std::string& block, int filters) const {
    x = builder_.AvgPool(
        x, {.window = 3, .stride = 1, .padding = Padding::kSame, .count_padding = true});
    return Conv(x, block + "/branch_pool", 1, filters);
  }

  GraphBuilder& builder_;
  const Layers& layers_;
};

}  // namespace

Output BuildInceptionV3(GraphBuilder& builder, Output images, bool training, uint64_t seed) {
  const Layers layers(&builder, training, seed);
  const InceptionV3 net(&builder, layers);
  Output x = net.Conv(images, "Conv2d_1a_3x3", 3, 32, Padded(0, 2));
  x = net.Conv(x, "Conv2d_2a_3x3", 3, 32, Padded(0));
  x = net.Conv(x, "Conv2d_2b_3x3", 3, 64);
  x = net.Conv(layers.MaxPool(x, 3, 2), "Conv2d_3b_1x1", 1, 80);
  x = net.Conv(x, "Conv2d_4a_3x3", 3, 192, Padded(0));
  x = net.BlockA(layers.MaxPool(x, 3, 2), "Mixed_5b", 32);
  x = net.BlockA(x, "Mixed_5c", 64);
  x = net.BlockA(x, "Mixed_5d", 64);
  x = net.BlockB(x, "Mixed_6a");
  x = net.BlockC(x, "Mixed_6b", 128);
  x = net.BlockC(x, "Mixed_6c", 160);
  x = net.BlockC(x, "Mixed_6d", 160);
  x = net.BlockC(x, "Mixed_6e", 192);
  x = net.BlockD(x, "Mixed_7a");
  x = net.BlockE(x, "Mixed_7b");
  x = net.BlockE(x, "Mixed_7c");
  return layers.Logits(builder.GlobalAveragePool(x), "fc", 1000);
}

}  // namespace cosched
