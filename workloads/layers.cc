#include "workloads/layers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/base/random.h"

namespace cosched {
namespace {

// He et al. 2015: keeps the variance of activations through ReLU layers.
double HeDeviation(int64_t inputs) { return std::sqrt(2.0 / static_cast<double>(inputs)); }

Tensor Filled(const Shape& shape, float value) {
  Tensor tensor(shape);
  std::fill_n(tensor.Floats(), tensor.Elements(), value);
  return tensor;
}

// Two draws of 24 bits from each word, which floats hold exactly: VGG-16 has 138 million weights.
Tensor Uniform(Random random, const Shape& shape, double deviation) {
  Tensor tensor(shape);
  const auto scale = static_cast<float>(deviation * std::numbers::sqrt3 * 0x1p-23);
  const auto value = [scale](uint64_t bits) {
    return scale * (static_cast<float>(static_cast<int32_t>(bits) >> 8) + 0.5f);
  };
  float* values = tensor.Floats();
  const int64_t count = tensor.Elements();
  for (int64_t i = 0; i < count; i += 2) {
    const uint64_t word = random.Next();
    values[i] = value(word);
    if (i + 1 < count) values[i + 1] = value(word >> 32);
  }
  return tensor;
}

// [2f,2f,C,C]: each channel's own pyramid of bilinear weights, zero between channels.
Tensor Bilinear(int64_t factor, int64_t channels) {
  const int64_t size = 2 * factor;
  Tensor filter = Filled({size, size, channels, channels}, 0);
  const auto weight = [factor](int64_t tap) {
    const double centre = static_cast<double>(factor) - 0.5;
    return 1 - std::abs(static_cast<double>(tap) - centre) / static_cast<double>(factor);
  };
  for (int64_t tap = 0; tap < size * size; ++tap) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      filter.Floats()[(tap * channels + channel) * channels + channel] =
          static_cast<float>(weight(tap / size) * weight(tap % size));
    }
  }
  return filter;
}

// What PyTorch's ceil mode adds at the end of one side to `padding`.
int64_t EndPadding(int64_t image, int64_t size, int64_t stride, int64_t padding) {
  const int64_t steps = (image + 2 * padding - size + stride - 1) / stride;
  const bool starts_inside = steps * stride < image + padding;
  return starts_inside ? std::max(padding, steps * stride + size - image - padding) : padding;
}

}  // namespace

ConvolutionOptions Padded(HeightWidth padding, HeightWidth stride) {
  return {
      .stride = stride,
      .padding = Padding::kExplicit,
      .explicit_paddings = {padding.height, padding.height, padding.width, padding.width},
  };
}

Output Layers::Conv(Output x, const std::string& layer, HeightWidth size, int64_t filters,
                    const ConvolutionOptions& options) const {
  const Shape shape = {size.height, size.width, Channels(x), filters};
  const int64_t inputs = size.height * size.width * Channels(x);
  return builder_->Conv2D(x, Weights(layer + "/filter", shape, HeDeviation(inputs)), options);
}

Output Layers::DepthwiseConv(Output x, const std::string& layer, int64_t size,
                             const ConvolutionOptions& options) const {
  const Shape shape = {size, size, 1, Channels(x)};
  return builder_->Conv2D(x, Weights(layer + "/filter", shape, HeDeviation(size * size)), options);
}

Output Layers::Upsample(Output x, const std::string& layer, int64_t factor,
                        HeightWidth image) const {
  const int64_t channels = Channels(x);
  const Output filter =
      builder_->Variable(layer + "/filter", {2 * factor, 2 * factor, channels, channels},
                         [&] { return Bilinear(factor, channels); });
  const Shape shape = {ShapeOf(x)[0], image.height, image.width, channels};
  return builder_->Conv2DBackpropInput(filter, x, shape, {.stride = factor});
}

Output Layers::Bias(Output x, const std::string& layer) const {
  return builder_->BiasAdd(x, builder_->Variable(layer + "/bias", Filled({Channels(x)}, 0)));
}

Output Layers::BatchNorm(Output x, const std::string& layer, float epsilon) const {
  const Shape shape = {Channels(x)};
  const Output scale = builder_->Variable(layer + "/scale", Filled(shape, 1));
  const Output offset = builder_->Variable(layer + "/offset", Filled(shape, 0));
  const Output mean = builder_->UntrainableVariable(layer + "/mean", Filled(shape, 0));
  const Output variance = builder_->UntrainableVariable(layer + "/variance", Filled(shape, 1));
  return builder_->BatchNorm(x, scale, offset, mean, variance, training_, epsilon);
}

Output Layers::Dense(Output x, const std::string& layer, int64_t units, double deviation) const {
  const int64_t inputs = Channels(x);
  const Output weights =
      Weights(layer + "/weights", {inputs, units}, deviation > 0 ? deviation : HeDeviation(inputs));
  return Bias(builder_->MatMul(x, weights), layer);
}

Output Layers::MaxPool(Output x, int64_t size, int64_t stride, int64_t padding, bool ceil) const {
  const int64_t bottom = ceil ? EndPadding(ShapeOf(x)[1], size, stride, padding) : padding;
  const int64_t right = ceil ? EndPadding(ShapeOf(x)[2], size, stride, padding) : padding;
  return builder_->MaxPool(x, {.window = size,
                               .stride = stride,
                               .padding = Padding::kExplicit,
                               .explicit_paddings = {padding, bottom, padding, right}});
}

Output Layers::Flatten(Output x) const {
  const Shape& shape = ShapeOf(x);
  return builder_->Reshape(x, {shape[0], shape[1] * shape[2] * shape[3]});
}

Output Layers::Weights(const std::string& name, const Shape& shape, double deviation) const {
  return builder_->Variable(name, shape,
                            [&] { return Uniform(Random(seed_).Derive(name), shape, deviation); });
}

}  // namespace cosched
