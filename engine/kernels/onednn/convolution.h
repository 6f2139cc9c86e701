#pragma once
// What Conv2D and its gradients share: a convolution in oneDNN's words, the choice of layouts, and
// an estimate of its time. Images stay NHWC (a reorder of activations costs more than it wins),
// unless that leaves generated code for a slow generic one, or vectors mostly empty (LeNet).
//
// Only the convolution kernels of this folder include it.

#include <string_view>

#include "engine/kernels/onednn/primitive.h"
#include "engine/kernels/pieces.h"
#include "engine/kernels/window.h"
#include "engine/kernels/winograd.h"

namespace cosched::onednn {

// The same tensor in the layout that a primitive likes best.
inline dnnl::memory::desc Any(const dnnl::memory::desc& plain) {
  return {plain.get_dims(), plain.get_data_type(), dnnl::memory::format_tag::any};
}

// A convolution's plain tensors and its geometry. Filters are floats whatever images are; the
// primitive wants them as `packed_filter`: in any layout, of the images' type.
struct Convolution {
  dnnl::memory::desc image, filter, packed_filter, output;
  dnnl::memory::dims strides, dilates, pad_begin, pad_end;  // oneDNN's dilations are one less.

  Convolution(const Window& w, DataType images);
  dnnl::convolution_forward::primitive_desc Forward(const dnnl::memory::desc& x,
                                                    const dnnl::memory::desc& y) const;
};

bool IsGenerated(const dnnl::primitive_desc_base& descriptor);

// make(image, output) with plain or with oneDNN's layouts: the first of them that gives generated
// code, beginning as told; plain if neither does.
template <typename Make>
auto WithLayouts(const Convolution& c, bool plain_first, Make make) {
  const auto plain = [&] { return make(c.image, c.output); };
  const auto chosen = [&] { return make(Any(c.image), Any(c.output)); };
  auto first = plain_first ? plain() : chosen();
  if (IsGenerated(first)) return first;
  auto second = plain_first ? chosen() : plain();
  return IsGenerated(second) || !plain_first ? second : first;
}

// LeNet's case: large windows, few channels on both sides. With oneDNN's layouts its convolutions
// take 0.7 to 0.8 of the time, reorders included; with windows of 3x3 or 16 channels and more (the
// ResNets) the reorders cost more than they win.
bool FewChannels(const Window& w);

// The time of one image, on one thread; vector_channels are those that vectors run along.
double ImageSeconds(const Window& w, int64_t vector_channels, const KernelRates& rates);
inline double BatchSeconds(const Window& w, const KernelRates& rates) {  // Forward.
  return ImageSeconds(w, w.out_channels, rates) * static_cast<double>(w.batch);
}
inline double GradientSeconds(const Window& w, const KernelRates& rates) {  // The filter's.
  return BatchSeconds(w, rates) * rates.window_flops / rates.gradient_flops;
}
// Into which the convolution, or the gradient of its image, is divided.
inline int TasksFor(const KernelSpec& spec, const Window& w) {
  return TasksOf(BatchSeconds(w, spec.rates), spec.Threads());
}

// For whom the convolution, or one of its gradients, may be computed by Winograd's filtering.
inline WinogradConditions ConditionsFor(const KernelSpec& spec, const Window& w, WinogradUse use) {
  return {use, TasksFor(spec, w), spec.piece_time, spec.rates};
}

}  // namespace cosched::onednn
