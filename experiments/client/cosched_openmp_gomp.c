/* Regions of GCC's OpenMP: libgomp's entries that take a number of threads, 0 for the default. LLVM's
 * runtime has them, too, for objects that GCC compiled: those are followed here, before the runtime
 * begins, and not again when it tells its tool (cosched_openmp_ompt.c). */
#include "experiments/client/cosched_openmp_internal.h"

static _Thread_local int regions; /* That this thread is in. */

bool IsInGompRegion(void) { return regions > 0; }

static void Enter(const void* caller, unsigned threads) {
  Follow(caller, caller, threads);
  ++regions;
}

extern void GOMP_parallel(Body, void*, unsigned, unsigned);
EXPORT void GOMP_parallel(Body body, void* data, unsigned threads, unsigned flags) {
  const void* const caller = __builtin_return_address(0);
  Enter(caller, threads);
  REAL(GOMP_parallel)(body, data, threads, flags);
  --regions;
}

extern unsigned GOMP_parallel_reductions(Body, void*, unsigned, unsigned);
EXPORT unsigned GOMP_parallel_reductions(Body body, void* data, unsigned threads, unsigned flags) {
  const void* const caller = __builtin_return_address(0);
  Enter(caller, threads);
  const unsigned team = REAL(GOMP_parallel_reductions)(body, data, threads, flags);
  --regions;
  return team;
}

extern void GOMP_parallel_sections(Body, void*, unsigned, unsigned, unsigned);
EXPORT void GOMP_parallel_sections(Body body, void* data, unsigned threads, unsigned count,
                                   unsigned flags) {
  const void* const caller = __builtin_return_address(0);
  Enter(caller, threads);
  REAL(GOMP_parallel_sections)(body, data, threads, count, flags);
  --regions;
}

#define CHUNKED(name)                                                                             \
  extern void name(Body, void*, unsigned, long, long, long, long, unsigned);                      \
  EXPORT void name(Body body, void* data, unsigned threads, long start, long end, long increment, \
                   long chunk, unsigned flags) {                                                  \
    const void* const caller = __builtin_return_address(0);                                       \
    Enter(caller, threads);                                                                       \
    REAL(name)(body, data, threads, start, end, increment, chunk, flags);                         \
    --regions;                                                                                    \
  }
#define UNCHUNKED(name)                                                                           \
  extern void name(Body, void*, unsigned, long, long, long, unsigned);                            \
  EXPORT void name(Body body, void* data, unsigned threads, long start, long end, long increment, \
                   unsigned flags) {                                                              \
    const void* const caller = __builtin_return_address(0);                                       \
    Enter(caller, threads);                                                                       \
    REAL(name)(body, data, threads, start, end, increment, flags);                                \
    --regions;                                                                                    \
  }

CHUNKED(GOMP_parallel_loop_static)
CHUNKED(GOMP_parallel_loop_dynamic)
CHUNKED(GOMP_parallel_loop_guided)
CHUNKED(GOMP_parallel_loop_nonmonotonic_dynamic)
CHUNKED(GOMP_parallel_loop_nonmonotonic_guided)
UNCHUNKED(GOMP_parallel_loop_runtime)
UNCHUNKED(GOMP_parallel_loop_nonmonotonic_runtime)
UNCHUNKED(GOMP_parallel_loop_maybe_nonmonotonic_runtime)
