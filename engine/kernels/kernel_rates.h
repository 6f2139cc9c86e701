#pragma once
// What one core does in a second, by which kernels choose between algorithms and cut their work
// when they are created. Sums are taken in the order that follows from it, so results that are
// compared bit by bit, or step by step, come from kernels of the same rates: a session's are fixed
// for its life, a host gives all its tenants the same. Plain data, pure.

#include <optional>
#include <string>
#include <string_view>

namespace cosched {

// These values are the fixed ones, of no machine in particular: for results that shall be the same
// on another day and another machine (of the same instructions and caches). MeasureKernelRates
// gives this machine's.
struct KernelRates {
  // Floating-point operations of a convolution as a sum over its window, in generated code, of the
  // gradient of its filter, and of the batches of small matrix products that Winograd's filtering
  // consists of.
  double window_flops = 120e9, gradient_flops = 120e9, product_flops = 108e9;
  // Bytes that are read or written, at half of a copy's speed, as other ops than copies do
  // something with them; and of filters, which are read ahead while others are multiplied.
  double memory_bytes = 10e9, filter_bytes = 25e9;
  // Bytes of a transformed filter that is new in each step: transformed, packed and read; the same
  // of one that is turned, for the gradient of the image; and, for the filter's gradient, summed
  // and transformed back.
  double new_filter_bytes = 6.25e9, turned_filter_bytes = 6.25e9, summed_filter_bytes = 6.25e9;
  // Winograd's transforms of a tile of 2x2 or 4x4, of one channel, in or out.
  double transform_2_seconds = 6e-9, transform_4_seconds = 15e-9;
  // Floats of a vector.
  int lanes = 16;

  bool operator==(const KernelRates&) const = default;
};

// "window=120,gradient=120,product=108,…,transform4=15,lanes=16": in 1e9 a second and nanoseconds.
// What is read back is equal to what was written.
std::string ToString(const KernelRates& rates);
// Nothing if it is no such text, or has a value that no core has.
std::optional<KernelRates> ParseKernelRates(std::string_view text);
// As ToString writes them: those of a measurement, before they are used.
KernelRates Rounded(const KernelRates& rates);

// The rates of the core that it runs on, in one to two seconds. Takes the best of several turns: a
// disturbed one says less of the machine. Thread-safe; wants the core for itself.
KernelRates MeasureKernelRates();

}  // namespace cosched
