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

}  // namespace

Output Layers::Conv(Output x, const std::string& layer, int size, int filters, int stride,
                    Padding padding) {
  const int64_t channels = Channels(x);
  const std::string name = layer + "/filter";
  const Output filter =
      Weights(name, {size, size, channels, filters}, HeDeviation(int64_t{size} * size * channels));
  return builder_->Conv2D(x, filter, stride, padding);
}

Output Layers::Bias(Output x, const std::string& layer) {
  return builder_->BiasAdd(x, builder_->Variable(layer + "/bias", Filled({Channels(x)}, 0)));
}

Output Layers::BatchNorm(Output x, const std::string& layer) {
  const Shape shape = {Channels(x)};
  const Output scale = builder_->Variable(layer + "/scale", Filled(shape, 1));
  const Output offset = builder_->Variable(layer + "/offset", Filled(shape, 0));
  const Output mean = builder_->UntrainableVariable(layer + "/mean", Filled(shape, 0));
  const Output variance = builder_->UntrainableVariable(layer + "/variance", Filled(shape, 1));
  return builder_->BatchNorm(x, scale, offset, mean, variance, training_);
}

Output Layers::Dense(Output x, const std::string& layer, int units, double deviation) {
  const int64_t inputs = Channels(x);
  const Output weights =
      Weights(layer + "/weights", {inputs, units}, deviation > 0 ? deviation : HeDeviation(inputs));
  return Bias(builder_->MatMul(x, weights), layer);
}

Output Layers::Weights(const std::string& name, const Shape& shape, double deviation) const {
  return builder_->Variable(name, shape,
                            [&] { return Uniform(Random(seed_).Derive(name), shape, deviation); });
}

int64_t Layers::Channels(Output x) const {
  const Shape& shape = builder_->graph().Info(x).shape;
  return shape[shape.Rank() - 1];
}

}  // namespace cosched
