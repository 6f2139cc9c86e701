/* Preloaded into a program that knows nothing of cosched (client = "openmp"): makes it follow grants
 * between two parallel regions of libgomp, which GCC compiles OpenMP for. README.md, "Programs of
 * others", says what it can't do.
 *
 * A region that names no number of threads has as many as its thread's default says
 * (omp_set_num_threads). At the entry of such a region, outside of others, that default is set to what
 * was granted. A team that the program asks for by number is never touched: oneDNN would wait for its
 * missing threads. What counts on the default not changing would be damaged, so the program is taken
 * as rigid as soon as any but a library known to be safe asks for the default
 * (omp_get_max_threads: it may divide work or memory by that) or sets it. COSCHED_OPENMP=trust
 * overrides this, and omp_set_dynamic(1) says that the program can do with fewer.
 *
 * Several runtimes may be loaded, also out of everybody's sight (dlopen): each call goes on to the one
 * that its caller is linked with. Threads have a default each. Thread-safe. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiments/client/cosched_client.h"
#include "experiments/client/cosched_client_internal.h"

#define EXPORT __attribute__((visibility("default")))

typedef void (*Body)(void*);

/* What was granted last; 0: nothing yet. */
static atomic_int granted;
static atomic_bool rigid, dynamic;
/* Somebody has made use of the default. */
static atomic_bool default_counts;
static atomic_flag polls = ATOMIC_FLAG_INIT;
static _Atomic(cosched_client*) client;
static bool trusted;
static _Thread_local int applied; /* The grant that this thread's default says. */
static _Thread_local int wanted;  /* What a safe library has asked for; 0: nothing. */

__attribute__((constructor)) static void Connect(void) {
  const char* const trust = getenv("COSCHED_OPENMP");
  trusted = trust != NULL && strcmp(trust, "trust") == 0;
}

/* The program that starts others, a shell, has no regions: the first that enters one is the client. */
static cosched_client* ClientOfProcess(void) {
  static atomic_bool tried;
  if (!atomic_load_explicit(&tried, memory_order_acquire) && !atomic_exchange(&tried, true))
    atomic_store_explicit(&client, cosched_connect(), memory_order_release);
  return atomic_load_explicit(&client, memory_order_acquire);
}

/* Objects whose use of the default is safe: regions ask for their team's size when they are in it, or
 * name it. */
static bool IsSafeObject(const void* caller) {
  static const char* const known[] = {"/libtorch", "/libc10", "/libdnnl",   "/libopenblas",
                                      "/openblas", "/libblis", "/libgomp", "/libcosched"};
  Dl_info info;
  if (dladdr(caller, &info) == 0 || info.dli_fname == NULL) return false;
  /* Debian's libblas.so.3 is a link to one of several. */
  char* const file = realpath(info.dli_fname, NULL);
  bool safe = false;
  for (size_t i = 0; file != NULL && i < sizeof known / sizeof *known; ++i)
    safe = safe || strstr(file, known[i]) != NULL;
  free(file);
  return safe;
}

/* ------------------------------------------------------------------------------------------------
 * The runtime behind a caller. */

static int FindGomp(struct dl_phdr_info* info, size_t size, void* handle) {
  (void)size;
  if (info->dlpi_name == NULL || strstr(info->dlpi_name, "libgomp") == NULL) return 0;
  *(void**)handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  return *(void**)handle != NULL;
}

/* An address of this library is no runtime's. */
static void* SymbolIn(void* handle, const char* name) {
  void* const symbol = dlsym(handle, name);
  Dl_info ours, theirs;
  if (symbol == NULL || dladdr((void*)&FindGomp, &ours) == 0 || dladdr(symbol, &theirs) == 0)
    return NULL;
  return ours.dli_fbase == theirs.dli_fbase ? NULL : symbol;
}

static void* HandleOf(const void* caller, const char* name) {
  Dl_info info;
  void* handle = NULL;
  if (dladdr(caller, &info) != 0 && info.dli_fname != NULL)
    handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);  /* NULL for the program itself. */
  if (handle != NULL && SymbolIn(handle, name) != NULL) return handle;
  if (SymbolIn(RTLD_NEXT, name) != NULL) return RTLD_NEXT;
  handle = NULL;
  dl_iterate_phdr(FindGomp, &handle);
  return handle != NULL && SymbolIn(handle, name) != NULL ? handle : NULL;
}

/* Found once for each place that calls; a table, as looking takes microseconds. */
enum { kPlaces = 1024 };
struct Place {
  _Atomic(const void*) caller;
  _Atomic(void*) value;
};

static struct Place* PlaceOf(const void* caller, struct Place* places) {
  return &places[(size_t)((uintptr_t)caller * 0x9E3779B97F4A7C15u >> 40) % kPlaces];
}

static void* Known(struct Place* place, const void* caller) {
  if (atomic_load_explicit(&place->caller, memory_order_acquire) != caller) return NULL;
  return atomic_load_explicit(&place->value, memory_order_relaxed);
}

/* Who comes second to a place looks each time. */
static void Remember(struct Place* place, const void* caller, void* value) {
  void* none = NULL;
  if (atomic_compare_exchange_strong(&place->value, &none, value))
    atomic_store_explicit(&place->caller, caller, memory_order_release);
}

/* NULL: there is no runtime. */
static void* Real(const void* caller, const char* name, struct Place* places) {
  struct Place* const place = PlaceOf(caller, places);
  void* function = Known(place, caller);
  if (function != NULL) return function;
  void* const handle = HandleOf(caller, name);
  function = handle == NULL ? NULL : SymbolIn(handle, name);
  if (function != NULL) Remember(place, caller, function);
  return function;
}

/* Looked up once for each place, too. */
static bool IsSafe(const void* caller) {
  static struct Place places[kPlaces];
  static char yes, no;
  struct Place* const place = PlaceOf(caller, places);
  void* verdict = Known(place, caller);
  if (verdict == NULL) {
    verdict = IsSafeObject(caller) ? &yes : &no;
    Remember(place, caller, verdict);
  }
  return verdict == &yes;
}

#define FIND(name)                                  \
  ({                                                \
    static struct Place places[kPlaces];            \
    (__typeof__(&name))Real(caller, #name, places); \
  })
/* Of regions, which nobody enters who is not linked with a runtime. */
#define REAL(name)                                                                            \
  ({                                                                                          \
    __typeof__(&name) const real = FIND(name);                                                \
    if (real == NULL) {                                                                       \
      fprintf(stderr, "cosched: there is no " #name " in any OpenMP runtime of this program\\n"); \
      abort();                                                                                \
    }                                                                                         \
    real;                                                                                     \
  })

/* ------------------------------------------------------------------------------------------------
 * Thread counts. */

static void BeRigid(const char* why, const void* caller, int threads) {
  if (trusted || atomic_load(&dynamic) || atomic_exchange(&rigid, true)) return;
  cosched_client* const here = ClientOfProcess();
  if (here == NULL) return;
  cosched_say_rigid(here, threads);
  Dl_info info;
  const bool known = dladdr(caller, &info) != 0 && info.dli_fname != NULL;
  fprintf(stderr,
          "cosched: its OpenMP threads stay as they are: %s %s, and may count on it "
          "(COSCHED_OPENMP=trust: it does not)\n",
          known ? info.dli_fname : "the program", why);
}

extern void omp_set_num_threads(int);
extern int omp_get_max_threads(void);
extern int omp_get_level(void);
extern void omp_set_dynamic(int);

/* These a program may look up by name to see whether there is OpenMP: without it, as OpenMP's
 * specification has it for one thread. */
EXPORT int omp_get_max_threads(void) {
  const void* const caller = __builtin_return_address(0);
  int (*const real)(void) = FIND(omp_get_max_threads);
  const int threads = real == NULL ? 1 : real();
  if (real == NULL || atomic_load(&rigid)) return threads;
  if (!IsSafe(caller)) {
    BeRigid("asks for their number", caller, threads);
  } else {
    atomic_store(&default_counts, true);
  }
  return threads;
}

EXPORT void omp_set_num_threads(int threads) {
  const void* const caller = __builtin_return_address(0);
  void (*const real)(int) = FIND(omp_set_num_threads);
  if (real == NULL) return;
  if (!IsSafe(caller)) BeRigid("sets their number", caller, threads);
  wanted = threads;
  const int most = atomic_load(&granted);
  const bool limits = most > 0 && most < threads && !atomic_load(&rigid);
  real(limits ? most : threads);
}

EXPORT void omp_set_dynamic(int on) {
  const void* const caller = __builtin_return_address(0);
  void (*const real)(int) = FIND(omp_set_dynamic);
  atomic_store(&dynamic, on != 0);
  if (real != NULL) real(on);
}

/* A program of which no team has the default is rigid, but only time tells. */
enum { kManyNamed = 1000 };

/* At the entry of a region, which names a number of threads, or 0. */
static void Follow(const void* caller, unsigned named) {
  static atomic_int named_ones;
  cosched_client* const here = ClientOfProcess();
  if (here == NULL || REAL(omp_get_level)() > 0) return;  /* The default would be the region's own. */
  if (named == 0) {
    atomic_store(&default_counts, true);
  } else if (!atomic_load(&default_counts) && atomic_fetch_add(&named_ones, 1) == kManyNamed) {
    BeRigid("asks for each team by number", caller, (int)named);
  }
  if (!atomic_flag_test_and_set_explicit(&polls, memory_order_acquire)) {
    cosched_count_region(here);
    const int threads = atomic_load(&rigid) ? 0 : cosched_poll(here);
    if (threads > 0) atomic_store(&granted, threads);
    atomic_flag_clear_explicit(&polls, memory_order_release);
  }
  const int now = atomic_load(&granted);
  if (now == applied || now == 0 || atomic_load(&rigid)) return;
  applied = now;
  REAL(omp_set_num_threads)(wanted > 0 && wanted < now ? wanted : now);
}

/* ------------------------------------------------------------------------------------------------
 * Regions: libgomp's entries that take a number of threads, 0 for the default. */

extern void GOMP_parallel(Body, void*, unsigned, unsigned);
EXPORT void GOMP_parallel(Body body, void* data, unsigned threads, unsigned flags) {
  const void* const caller = __builtin_return_address(0);
  Follow(caller, threads);
  REAL(GOMP_parallel)(body, data, threads, flags);
}

extern unsigned GOMP_parallel_reductions(Body, void*, unsigned, unsigned);
EXPORT unsigned GOMP_parallel_reductions(Body body, void* data, unsigned threads, unsigned flags) {
  const void* const caller = __builtin_return_address(0);
  Follow(caller, threads);
  return REAL(GOMP_parallel_reductions)(body, data, threads, flags);
}

extern void GOMP_parallel_sections(Body, void*, unsigned, unsigned, unsigned);
EXPORT void GOMP_parallel_sections(Body body, void* data, unsigned threads, unsigned count,
                                   unsigned flags) {
  const void* const caller = __builtin_return_address(0);
  Follow(caller, threads);
  REAL(GOMP_parallel_sections)(body, data, threads, count, flags);
}

#define CHUNKED(name)                                                                             \
  extern void name(Body, void*, unsigned, long, long, long, long, unsigned);                      \
  EXPORT void name(Body body, void* data, unsigned threads, long start, long end, long increment, \
                   long chunk, unsigned flags) {                                                  \
    const void* const caller = __builtin_return_address(0);                                       \
    Follow(caller, threads);                                                                      \
    REAL(name)(body, data, threads, start, end, increment, chunk, flags);                         \
  }
#define UNCHUNKED(name)                                                                           \
  extern void name(Body, void*, unsigned, long, long, long, unsigned);                            \
  EXPORT void name(Body body, void* data, unsigned threads, long start, long end, long increment, \
                   unsigned flags) {                                                              \
    const void* const caller = __builtin_return_address(0);                                       \
    Follow(caller, threads);                                                                      \
    REAL(name)(body, data, threads, start, end, increment, flags);                                \
  }

CHUNKED(GOMP_parallel_loop_static)
CHUNKED(GOMP_parallel_loop_dynamic)
CHUNKED(GOMP_parallel_loop_guided)
CHUNKED(GOMP_parallel_loop_nonmonotonic_dynamic)
CHUNKED(GOMP_parallel_loop_nonmonotonic_guided)
UNCHUNKED(GOMP_parallel_loop_runtime)
UNCHUNKED(GOMP_parallel_loop_nonmonotonic_runtime)
UNCHUNKED(GOMP_parallel_loop_maybe_nonmonotonic_runtime)
