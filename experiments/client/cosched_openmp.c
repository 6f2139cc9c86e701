/* Preloaded into a program that knows nothing of cosched (client = "openmp"): makes it follow grants
 * between two parallel regions of GCC's OpenMP (cosched_openmp_gomp.c), LLVM's or Intel's
 * (cosched_openmp_ompt.c), or calls of a BLAS (cosched_openmp_blas.c). README.md, "Programs of others",
 * says what it can't do.
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
 * that its caller would have without this library. Threads have a default each, in each runtime.
 * Thread-safe. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/client/cosched_client.h"
#include "experiments/client/cosched_client_internal.h"
#include "experiments/client/cosched_openmp_internal.h"

/* What was granted last; 0: nothing yet. */
static atomic_int granted;
static atomic_bool rigid, dynamic;
/* Somebody has made use of the default. */
static atomic_bool default_counts;
static atomic_flag polls = ATOMIC_FLAG_INIT;
static _Atomic(cosched_client*) client;
static bool trusted;

/* This thread's default in one runtime. */
struct Default {
  void (*setter)(int); /* Of the runtime, which this tells from others. */
  int applied;         /* The grant that it says. */
  int wanted;          /* What a safe library has asked for; 0: nothing. */
};
enum { kMostRuntimes = 4 };
static _Thread_local struct Default defaults[kMostRuntimes];

/* NULL for a runtime beyond those that anybody has seen in one process: it is left alone. */
static struct Default* DefaultOf(void (*setter)(int)) {
  for (int i = 0; i < kMostRuntimes; ++i) {
    if (defaults[i].setter == NULL) defaults[i].setter = setter;
    if (defaults[i].setter == setter) return &defaults[i];
  }
  return NULL;
}

__attribute__((constructor)) static void ReadEnvironment(void) {
  const char* const trust = getenv("COSCHED_OPENMP");
  trusted = trust != NULL && strcmp(trust, "trust") == 0;
}

/* The program that starts others, a shell, has no regions: the first that enters one is the client. */
cosched_client* ClientOfProcess(void) {
  static atomic_bool tried;
  if (!atomic_load_explicit(&tried, memory_order_acquire) && !atomic_exchange(&tried, true))
    atomic_store_explicit(&client, cosched_connect(), memory_order_release);
  return atomic_load_explicit(&client, memory_order_acquire);
}

void StayRigid(const char* why, const void* place, int threads) {
  if (atomic_exchange(&rigid, true)) return;
  cosched_client* const here = ClientOfProcess();
  if (here == NULL) return;
  cosched_say_rigid(here, threads);
  Dl_info info;
  const bool known = place != NULL && dladdr(place, &info) != 0 && info.dli_fname != NULL;
  fprintf(stderr, "cosched: its threads stay as they are: %s %s\n",
          known ? info.dli_fname : "the program", why);
}

void BeRigid(const char* what, const void* place, int threads) {
  if (trusted || atomic_load(&dynamic)) return;
  char why[128];
  snprintf(why, sizeof why, "%s, and may count on it (COSCHED_OPENMP=trust: it does not)", what);
  StayRigid(why, place, threads);
}

extern void omp_set_num_threads(int);
extern int omp_get_max_threads(void);
extern int omp_get_level(void);
extern void omp_set_dynamic(int);

/* Polls, if no other thread does. */
static void Poll(cosched_client* here, bool counts) {
  if (atomic_flag_test_and_set_explicit(&polls, memory_order_acquire)) return;
  if (counts) cosched_count_region(here);
  const int threads = atomic_load(&rigid) ? 0 : cosched_poll(here);
  if (threads > 0) atomic_store(&granted, threads);
  atomic_flag_clear_explicit(&polls, memory_order_release);
}

/* This thread's default, in the runtime behind a caller, becomes what was granted. */
static void ApplyGrant(const void* caller) {
  const int now = atomic_load(&granted);
  if (now == 0 || atomic_load(&rigid)) return;
  void (*const set)(int) = REAL(omp_set_num_threads);
  struct Default* const own = DefaultOf(set);
  if (own == NULL || own->applied == now) return;
  own->applied = now;
  set(own->wanted > 0 && own->wanted < now ? own->wanted : now);
}

/* OpenBLAS would give away the memory of its threads, also of calls that others are in, if this thread's
 * default differed from the number that it has: its number changes between calls only. */
static int AskOfBlas(const void* caller, const struct BlasPool* pool) {
  int (*const real)(void) = FIND(omp_get_max_threads);
  const int threads = ThreadsOfBlasOnOpenMp(pool);
  if (threads == 0) return real();
  if (!IsInBlas() || REAL(omp_get_level)() > 0) return 1;
  if (real() == threads) return threads;
  void (*const set)(int) = REAL(omp_set_num_threads);
  struct Default* const own = DefaultOf(set);
  if (own == NULL || (own->wanted > 0 && own->wanted < threads)) return 1;
  own->applied = threads;
  set(threads);
  return threads;
}

/* These a program may look up by name to see whether there is OpenMP: without it, as OpenMP's
 * specification has it for one thread. Each has a name in C and one or two in Fortran. */
static int Ask(const void* caller) {
  int (*const real)(void) = FIND(omp_get_max_threads);
  if (real == NULL) return 1;
  if (atomic_load(&rigid)) return real();
  if (!IsSafe(caller)) {
    BeRigid("asks for their number", caller, real());
    return real();
  }
  atomic_store(&default_counts, true);
  const struct BlasPool* const pool = BlasPoolAt(caller);
  if (pool != NULL) return AskOfBlas(caller, pool);
  /* With one thread PyTorch has no regions at all, and would have one for ever. */
  cosched_client* const here = ClientOfProcess();
  if (here != NULL && REAL(omp_get_level)() == 0) {
    Poll(here, false);
    ApplyGrant(caller);
  }
  return real();
}

static void Set(const void* caller, int threads) {
  void (*const real)(int) = FIND(omp_set_num_threads);
  if (real == NULL) return;
  if (!IsSafe(caller)) BeRigid("sets their number", caller, threads);
  if (BlasPoolAt(caller) != NULL) { /* A BLAS repeats what it has been told. */
    real(threads);
    return;
  }
  struct Default* const own = DefaultOf(real);
  if (own != NULL) own->wanted = threads;
  const int most = atomic_load(&granted);
  const bool limits = most > 0 && most < threads && !atomic_load(&rigid);
  real(limits ? most : threads);
}

static void SetDynamic(const void* caller, bool on) {
  void (*const real)(int) = FIND(omp_set_dynamic);
  atomic_store(&dynamic, on);
  if (real != NULL) real(on);
}

extern int omp_get_max_threads_(void);
extern void omp_set_num_threads_(const int32_t*), omp_set_num_threads_8_(const int64_t*);
extern void omp_set_dynamic_(const int32_t*), omp_set_dynamic_8_(const int64_t*);

#define CALLER __builtin_return_address(0)
EXPORT int omp_get_max_threads(void) { return Ask(CALLER); }
EXPORT int omp_get_max_threads_(void) { return Ask(CALLER); }
EXPORT void omp_set_num_threads(int threads) { Set(CALLER, threads); }
EXPORT void omp_set_num_threads_(const int32_t* threads) { Set(CALLER, *threads); }
EXPORT void omp_set_num_threads_8_(const int64_t* threads) { Set(CALLER, (int)*threads); }
EXPORT void omp_set_dynamic(int on) { SetDynamic(CALLER, on != 0); }
EXPORT void omp_set_dynamic_(const int32_t* on) { SetDynamic(CALLER, *on != 0); }
EXPORT void omp_set_dynamic_8_(const int64_t* on) { SetDynamic(CALLER, *on != 0); }

/* A program of which no team has the default is rigid, but only time tells. */
enum { kManyNamed = 1000 };

void Follow(const void* caller, const void* place, unsigned named) {
  static atomic_int named_ones;
  cosched_client* const here = ClientOfProcess();
  if (here == NULL || REAL(omp_get_level)() > 0)
    return; /* The default would be the region's own. */
  /* It has counted its threads. */
  if (BlasPoolAt(place) != NULL) return;
  if (named == 0) {
    atomic_store(&default_counts, true);
  } else if (!atomic_load(&default_counts) && atomic_fetch_add(&named_ones, 1) == kManyNamed) {
    BeRigid("asks for each team by number", place, (int)named);
  }
  Poll(here, true);
  ApplyGrant(caller);
}

bool HasGrants(void) { return ClientOfProcess() != NULL && !atomic_load(&rigid); }

int FollowInBlas(const void* routine, bool on_openmp) {
  const void* const caller = routine; /* As that of its runtime. */
  Poll(ClientOfProcess(), true);
  if (!on_openmp) return atomic_load(&granted);
  if (REAL(omp_get_level)() > 0) return 0; /* It takes one there. */
  ApplyGrant(caller);
  return atomic_load(&granted) == 0 ? 0 : REAL(omp_get_max_threads)();
}
