// What the CPU offers, as oneDNN sees it: ONEDNN_MAX_CPU_ISA may hide some of it. On other CPUs than
// x86-64 it has reference code alone (provide.sh), and Eigen vectors of four floats.

#include <fmt/format.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "engine/kernels/eigen/levels.h"
#include "engine/kernels/kernel.h"

namespace cosched {
namespace {

// Each set of instructions has the bits of all that it includes.
bool Has(dnnl::cpu_isa needed) {
  const auto bits = static_cast<unsigned>(needed);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

}  // namespace

bool CpuHasBFloat16() { return Has(dnnl::cpu_isa::avx512_core_bf16); }

int CpuLanes() {
  if (Has(dnnl::cpu_isa::avx512_core)) return 16;
  return Has(dnnl::cpu_isa::avx) ? 8 : 4;
}

bool CpuHasAvx2() { return Has(dnnl::cpu_isa::avx2); }

std::string KernelTarget() {
  const char* instructions = Has(dnnl::cpu_isa::avx512_core_bf16) ? "AVX-512 with bfloat16"
                             : Has(dnnl::cpu_isa::avx512_core)    ? "AVX-512"
                             : Has(dnnl::cpu_isa::avx2)           ? "AVX2"
                             : Has(dnnl::cpu_isa::avx)            ? "AVX"
                             : Has(dnnl::cpu_isa::sse41)          ? "SSE"
                                                                  : "reference code";
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}, oneDNN {}.{}.{}, Eigen for {}", instructions, version->major,
                     version->minor, version->patch, eigen::LevelsHere().back()->name);
}

}  // namespace cosched
