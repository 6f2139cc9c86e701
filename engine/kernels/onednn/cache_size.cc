// How large oneDNN takes the caches to be. Its blocking divides by their sizes, which it asks the
// CPU for (CPUID leaves 4 and 0x8000001D). Some hypervisors answer with zeros: then oneDNN 3.7.2
// sees caches of a byte, and its convolutions divide by zero or leave out parts of the work. In
// place of no size, its own guess for CPUs that tell none. The linker hands oneDNN's calls here
// (engine/kernels/CMakeLists.txt), so that a library from anywhere is put right, too. The same was
// mended in oneDNN for other CPUs: github.com/uxlfoundation/oneDNN/pull/5314.

#include <array>
#include <cstddef>

// NOLINTBEGIN(bugprone-reserved-identifier): the linker makes these names.
// Mangled names of unsigned dnnl::impl::cpu::platform::get_per_core_cache_size(int).
extern "C" unsigned __real__ZN4dnnl4impl3cpu8platform23get_per_core_cache_sizeEi(int level);
extern "C" unsigned __wrap__ZN4dnnl4impl3cpu8platform23get_per_core_cache_sizeEi(int level);

unsigned __wrap__ZN4dnnl4impl3cpu8platform23get_per_core_cache_sizeEi(int level) {
  constexpr unsigned kKib = 1024;
  constexpr std::array<unsigned, 3> kGuess = {32 * kKib, 512 * kKib, 1024 * kKib};
  constexpr unsigned kLeast = 4 * kKib;  // Of a data cache of any CPU with vectors.
  const unsigned told = __real__ZN4dnnl4impl3cpu8platform23get_per_core_cache_sizeEi(level);
  const auto index = static_cast<size_t>(level - 1);
  return told >= kLeast || level < 1 || index >= kGuess.size() ? told : kGuess[index];
}
// NOLINTEND(bugprone-reserved-identifier)
