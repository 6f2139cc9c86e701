#include "workloads/layers.h"

#include <algorithm>
#include <cmath>

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

}  // namespace

Output Layers::Conv(Output x, const std::string& layer, int size, int filters, int stride,
                    Padding padding) {
  const int64_t channels = Channels(x);
  const std::string name = layer + "/filter";
  Tensor initial =
      Normal({size, size, channels, filters}, name, HeDeviation(int64_t{size} * size * channels));
  return builder_->Conv2D(x, builder_->Variable(name, std::move(initial)), stride, padding);
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
  const std::string name = layer + "/weights";
  Tensor initial = Normal({inputs, units}, name, deviation > 0 ? deviation : HeDeviation(inputs));
  return Bias(builder_->MatMul(x, builder_->Variable(name, std::move(initial))), layer);
}

Tensor Layers::Normal(const Shape& shape, const std::string& name, double deviation) const {
  Random random = Random(seed_).Derive(name);
  Tensor tensor(shape);
  float* values = tensor.Floats();
  for (int64_t i = 0; i < tensor.Elements(); ++i) {
    values[i] = static_cast<float>(random.Normal(0, deviation));
  }
  return tensor;
}

int64_t Layers::Channels(Output x) const {
  const Shape& shape = builder_->graph().Info(x).shape;
  return shape[shape.Rank() - 1];
}

}  // namespace cosched
