// LRN and LRNGrad, row by row of channels: sums over neighbours are sums of shifted rows. (oneDNN's
// gradient needs a workspace that its forward pass leaves behind, and TF's LRN has no such output.)

#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/loop_kernel.h"
#include "engine/kernels/parameters.h"

namespace cosched::eigen {
namespace {

// sums[c] = sum of values[c - radius … c + radius].
template <typename Values>
void SumNeighbours(int64_t radius, const Values& values, Array sums) {
  const int64_t channels = sums.size();
  sums = values;
  for (int64_t shift = 1; shift <= std::min(radius, channels - 1); ++shift) {
    sums.head(channels - shift) += values.tail(channels - shift);
    sums.tail(channels - shift) += values.head(channels - shift);
  }
}

// base^-beta.
template <typename Base>
auto Power(const Base& base, float beta) {
  return (base.log() * -beta).exp();
}

// The bytes of an element: its share in the sums and two transcendental functions.
double Bytes(const LocalResponseParameters& p, int tensors) {
  constexpr int kFunctions = 4;
  const auto terms = static_cast<double>(std::min(p.radius, p.matrix.channels));
  return static_cast<double>(p.matrix.channels) * sizeof(float) * (tensors + kFunctions + terms);
}

}  // namespace

std::unique_ptr<Kernel> MakeLocalResponse(const KernelSpec& spec) {
  const LocalResponseParameters p = ReadLocalResponse(spec.node, spec.inputs[0].shape);
  return LoopOver(spec, p.matrix.rows, Bytes(p, 2),
                  [p](KernelContext& context, int64_t, int64_t begin, int64_t end) {
                    const int64_t channels = p.matrix.channels;
                    for (int64_t at = begin * channels; at < end * channels; at += channels) {
                      const ConstArray x(In(context, 0) + at, channels);
                      Array y(Out(context, 0) + at, channels);
                      SumNeighbours(p.radius, x.square(), y);
                      y = x * Power(p.bias + p.alpha * y, p.beta);
                    }
                  });
}

// With s = bias + alpha * sum: dx = dy * s^-beta - 2 * alpha * beta * x * (sum of dy * y / s).
std::unique_ptr<Kernel> MakeLocalResponseGrad(const KernelSpec& spec) {
  const LocalResponseParameters p = ReadLocalResponse(spec.node, spec.inputs[0].shape);
  const int blocks = BlocksOf(p.matrix.rows, Bytes(p, 4)).Number();
  return LoopOver(spec, p.matrix.rows, Bytes(p, 4),
                  [p, scratch = std::vector<Eigen::ArrayXXf>(
                          static_cast<size_t>(blocks), Eigen::ArrayXXf(p.matrix.channels, 2))](
                      KernelContext& context, int64_t block, int64_t begin, int64_t end) mutable {
                    const int64_t channels = p.matrix.channels;
                    auto s = scratch[static_cast<size_t>(block)].col(0);
                    auto terms = scratch[static_cast<size_t>(block)].col(1);
                    for (int64_t at = begin * channels; at < end * channels; at += channels) {
                      const ConstArray dy(In(context, 0) + at, channels),
                          x(In(context, 1) + at, channels), y(In(context, 2) + at, channels);
                      Array dx(Out(context, 0) + at, channels);
                      SumNeighbours(p.radius, x.square(), Array(s.data(), channels));
                      s = p.bias + p.alpha * s;
                      terms = dy * y / s;
                      SumNeighbours(p.radius, terms, dx);
                      dx = dy * Power(s, p.beta) - 2 * p.alpha * p.beta * x * dx;
                    }
                  });
}

}  // namespace cosched::eigen
