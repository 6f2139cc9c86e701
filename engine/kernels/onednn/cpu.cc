// What the CPU offers, as oneDNN sees it: ONEDNN_MAX_CPU_ISA may hide some of it.

#include <oneapi/dnnl/dnnl.hpp>

#include "engine/kernels/kernel.h"

namespace cosched {

bool CpuHasBFloat16() {
  // Each set of instructions has the bits of all that it includes.
  constexpr auto kNeeded = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kNeeded) == kNeeded;
}

}  // namespace cosched
