#include "traces/generators/variates.h"

#include <array>
#include <cmath>
#include <cstdint>

#include "engine/base/portable_math.h"

namespace cosched {
namespace {

constexpr int kLayers = 256;
constexpr double kRightmost = 7.69711747013104972;       // Where the tail begins.
constexpr double kLayerArea = 0.0039496598225815571993;  // Each layer's area, the tail's too.
constexpr double kTwo53 = 0x1p53;

// The curve exp(-x) covered by layers of equal area. Layer 0 is the lowest: its rectangle and the
// tail; layer i reaches from 0 to edge[i], and under edge[i + 1] it is wholly below the curve.
struct Ziggurat {
  std::array<double, kLayers + 1> height;  // exp(-edge)
  std::array<double, kLayers> width;       // edge / 2^53
  std::array<uint64_t, kLayers> inside;    // Draws out of 2^53 certainly below the curve.
  Ziggurat() {
    std::array<double, kLayers + 1> edge;
    edge[0] = kLayerArea * PortableExp(kRightmost);
    edge[1] = kRightmost;
    for (int i = 1; i < kLayers - 1; ++i)
      edge[i + 1] = -PortableLog(kLayerArea / edge[i] + PortableExp(-edge[i]));
    edge[kLayers] = 0;
    for (int i = 0; i < kLayers; ++i) {
      width[i] = edge[i] / kTwo53;
      inside[i] = static_cast<uint64_t>(edge[i + 1] / edge[i] * kTwo53);
    }
    for (int i = 0; i <= kLayers; ++i) height[i] = PortableExp(-edge[i]);
  }
};
const Ziggurat kZiggurat;

// Is the point (x, a height drawn in this layer) below the curve?
bool BelowCurve(size_t layer, double x, Random& random) {
  const double low = kZiggurat.height[layer];
  const double high = kZiggurat.height[layer + 1];
  return low + random.Uniform() * (high - low) < PortableExp(-x);
}

}  // namespace

double StandardExponential(Random& random) {
  double beyond = 0;
  while (true) {
    const uint64_t bits = random.Next();
    const size_t layer = bits % kLayers;
    const uint64_t position = bits >> 11;  // 53 bits, none of them among the layer's.
    const double x = static_cast<double>(position) * kZiggurat.width[layer];
    if (position < kZiggurat.inside[layer]) return beyond + x;
    if (layer == 0) {
      beyond += kRightmost;  // The tail of an exponential is an exponential.
    } else if (BelowCurve(layer, x, random)) {
      return beyond + x;
    }
  }
}

double StandardGamma(double shape, Random& random) {
  double boost = 1;  // Below 1: Gamma(k) = Gamma(k + 1) U^(1/k).
  if (shape < 1) {
    boost = PortableExp(-StandardExponential(random) / shape);
    shape += 1;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / (3 * std::sqrt(d));
  while (true) {
    const double x = random.Normal(0, 1);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = 1 - random.Uniform();
    const double square = x * x;
    if (u < 1 - 0.0331 * square * square ||
        PortableLog(u) < 0.5 * square + d * (1 - v + PortableLog(v))) {
      return boost * d * v;
    }
  }
}

}  // namespace cosched
