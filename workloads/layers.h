#pragma once
// What the models share: a layer with its freshly initialised variables, and windows as PyTorch
// pads them. Variables are named "<layer>/filter", "/weights", "/bias", "/scale", "/offset",
// "/mean", "/variance"; each initial value is drawn from a stream derived from the seed and the
// variable's name, so the training and the inference graph of one seed start equal. Called by
// workloads/models only. Not thread-safe.

#include <cstdint>
#include <string>

#include "engine/graph/graph_builder.h"

namespace cosched {

// A convolution with this many zeros on both sides, as PyTorch counts them. (With stride 1 and odd
// sizes, TF's SAME, the default of ConvolutionOptions, pads alike.)
ConvolutionOptions Padded(HeightWidth padding, HeightWidth stride = 1);

class Layers {
 public:
  Layers(GraphBuilder* builder, bool training, uint64_t seed)
      : builder_(builder), training_(training), seed_(seed) {}

  // Convolution without bias, He's uniform initialisation.
  Output Conv(Output x, const std::string& layer, HeightWidth size, int64_t filters,
              const ConvolutionOptions& options = {}) const;
  // size x size taps of every channel alone, as its own output.
  Output DepthwiseConv(Output x, const std::string& layer, int64_t size,
                       const ConvolutionOptions& options) const;
  // Transposed convolution without bias that enlarges both sides `factor` times, to at most
  // height x width: starts as bilinear interpolation of each channel (Long et al. 2015).
  Output Upsample(Output x, const std::string& layer, int64_t factor, HeightWidth image) const;
  Output Bias(Output x, const std::string& layer) const;  // Starts at zero.
  Output BatchNorm(Output x, const std::string& layer, float epsilon = 1e-5f) const;
  // x [N,C] -> [N,units]: weights and bias. Initial weights are uniform with this standard
  // deviation, or He's if it is 0.
  Output Dense(Output x, const std::string& layer, int64_t units, double deviation = 0) const;
  // The last layer: near-uniform first predictions.
  Output Logits(Output x, const std::string& layer, int64_t classes) const {
    return Dense(x, layer, classes, kSmallDeviation);
  }

  // PyTorch's pooling: `padding` on both sides, and where ceil is set, one more output where a
  // window would start inside the image but end outside of it.
  Output MaxPool(Output x, int64_t size, int64_t stride, int64_t padding = 0,
                 bool ceil = false) const;
  Output Flatten(Output x) const;  // [N,H,W,C] -> [N,H*W*C]

 private:
  static constexpr double kSmallDeviation = 0.01;

  Output Weights(const std::string& name, const Shape& shape, double deviation) const;
  const Shape& ShapeOf(Output x) const { return builder_->graph().Info(x).shape; }
  int64_t Channels(Output x) const { return ShapeOf(x)[ShapeOf(x).Rank() - 1]; }

  GraphBuilder* builder_;
  bool training_;
  uint64_t seed_;
};

}  // namespace cosched
