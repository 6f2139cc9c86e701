#pragma once
// What the models share: a layer with its freshly initialised variables. Variables are named
// "<layer>/filter", "/weights", "/bias", "/scale", "/offset", "/mean", "/variance"; each initial
// value is drawn from a stream derived from the seed and the variable's name, so the training and
// the inference graph of one seed start equal. Called by workloads/models only.

#include <cstdint>
#include <string>

#include "engine/graph/graph_builder.h"

namespace cosched {

class Layers {
 public:
  Layers(GraphBuilder* builder, bool training, uint64_t seed)
      : builder_(builder), training_(training), seed_(seed) {}

  // size x size convolution without bias, He's uniform initialisation.
  Output Conv(Output x, const std::string& layer, int size, int filters, int stride,
              Padding padding);
  Output Bias(Output x, const std::string& layer);  // Starts at zero.
  Output BatchNorm(Output x, const std::string& layer);
  // x [N,C] -> [N,units]: weights and bias. Initial weights are uniform with this standard
  // deviation, or He's if it is 0.
  Output Dense(Output x, const std::string& layer, int units, double deviation = 0);

 private:
  Output Weights(const std::string& name, const Shape& shape, double deviation) const;
  int64_t Channels(Output x) const;

  GraphBuilder* builder_;
  bool training_;
  uint64_t seed_;
};

}  // namespace cosched
