/* Calls of a BLAS with threads of its own, OpenBLAS or BLIS: between two of them its number of threads
 * is set to what was granted, by the library's own function.
 *
 * The number is one for the whole library, and newer versions give the memory of threads that they
 * lose to others, so it only changes while no thread of the program is in such a call: in level 3, in
 * the factorisations and solvers of LAPACK that are part of OpenBLAS, and in the dense routines of level
 * 2 where they are large enough for more than one thread. (Level 1 works in no such memory. Banded and
 * packed routines of level 2 do, and are not seen.)
 *
 * A call of level 3 of OpenBLAS's on OpenMP waits for as many threads as it had counted before, so its
 * region is as large as that, whatever has been granted since. Thread-safe. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "experiments/client/cosched_openmp_internal.h"

struct BlasPool {
  void (*set)(long); /* Of BLIS's; OpenBLAS takes an int, the lower half. */
  int (*get)(void);
  bool on_openmp;
  /* The number that was set last; 0: none yet. Written while no call is in the library. */
  atomic_int threads;
};
/* More copies than these in one process are left alone. */
enum { kMostPools = 4 };
static struct BlasPool pools[kMostPools];
static pthread_mutex_t pools_change = PTHREAD_MUTEX_INITIALIZER;

/* Read by calls, written where the number changes. */
static pthread_rwlock_t calls = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static _Thread_local int depth; /* Of calls that this thread is in. */

bool IsInBlas(void) { return depth > 0; }

/* Of a child: nobody else is in a call there. */
static void ForgetCalls(void) {
  calls = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
}

__attribute__((constructor)) static void KeepChildren(void) {
  pthread_atfork(NULL, NULL, ForgetCalls);
}

/* Plain, and as Python's packages have them: 64_ where integers have 64 bits. */
static const struct {
  const char *set, *get, *parallel;
} kNames[] = {
    {"openblas_set_num_threads", "openblas_get_num_threads", "openblas_get_parallel"},
    {"openblas_set_num_threads64_", "openblas_get_num_threads64_", "openblas_get_parallel64_"},
    {"scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads",
     "scipy_openblas_get_parallel"},
    {"scipy_openblas_set_num_threads64_", "scipy_openblas_get_num_threads64_",
     "scipy_openblas_get_parallel64_"},
    {"bli_thread_set_num_threads", "bli_thread_get_num_threads", NULL},
};

/* Of an object that has routines of a BLAS or of LAPACK itself; its threads may be in one that it is
 * linked with, as Debian's libblas.so.3 is with OpenBLAS. */
static struct BlasPool* PoolIn(void* handle, const void* object) {
  enum { kOpenMp = 2 }; /* Of openblas_get_parallel. */
  struct BlasPool found = {0};
  bool has_routines = ObjectOf(SymbolIn(handle, "dgemm_")) == object ||
                      ObjectOf(SymbolIn(handle, "dgetrf_")) == object;
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames && found.set == NULL; ++i) {
    void* const set = SymbolIn(handle, kNames[i].set);
    has_routines = has_routines || ObjectOf(set) == object;
    *(void**)&found.set = set;
    *(void**)&found.get = SymbolIn(handle, kNames[i].get);
    int (*parallel)(void) = NULL;
    if (kNames[i].parallel != NULL) *(void**)&parallel = SymbolIn(handle, kNames[i].parallel);
    found.on_openmp = parallel != NULL && parallel() == kOpenMp;
  }
  if (found.set == NULL || !has_routines) return NULL;
  for (int i = 0; i < kMostPools; ++i) {
    if (pools[i].set == NULL) pools[i] = found;
    if (pools[i].set == found.set) return &pools[i];
  }
  return NULL;
}

struct BlasPool* BlasPoolAt(const void* address) {
  static struct CallSite places[kPlaces];
  static struct BlasPool none;
  struct BlasPool* pool = Remembered(places, kPlaces, address);
  if (pool != NULL) return pool == &none ? NULL : pool;
  Dl_info info;
  void* handle = NULL;
  if (dladdr(address, &info) != 0 && info.dli_fname != NULL)
    handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  pthread_mutex_lock(&pools_change);
  if (handle != NULL) pool = PoolIn(handle, info.dli_fbase);
  Remember(places, kPlaces, address, pool == NULL ? &none : pool);
  pthread_mutex_unlock(&pools_change);
  return pool;
}

int ThreadsOfBlasOnOpenMp(const struct BlasPool* pool) {
  return pool->on_openmp ? atomic_load_explicit(&pool->threads, memory_order_acquire) : 0;
}

/* Once the calls of others have ended: they may take long, and are not waited for then. */
static void SetThreads(struct BlasPool* pool, int threads, const void* place) {
  enum { kNanoseconds = 100000000 };
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += kNanoseconds;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  if (pthread_rwlock_timedwrlock(&calls, &until) != 0) return;
  const int before = atomic_load_explicit(&pool->threads, memory_order_relaxed);
  /* Somebody else has set it, such as threadpoolctl. On OpenMP it follows the thread that calls. */
  if (!pool->on_openmp && pool->get != NULL && before != 0 && pool->get() != before)
    BeRigid("sets the number of its BLAS's threads", place, pool->get());
  if (before != threads && HasGrants()) {
    pool->set(threads);
    atomic_store_explicit(&pool->threads, threads, memory_order_release);
  }
  pthread_rwlock_unlock(&calls);
}

/* Whether there is something to leave. */
static bool EnterCall(const void* place, const void* routine) {
  if (depth > 0 || !HasGrants()) return false;
  struct BlasPool* const pool = BlasPoolAt(routine);
  if (pool == NULL) return false;
  depth = 1; /* What the library asks and sets from here on is no wish of the program's. */
  const int threads = FollowInBlas(routine, pool->on_openmp);
  if (threads > 0 && threads != atomic_load_explicit(&pool->threads, memory_order_relaxed))
    SetThreads(pool, threads, place);
  pthread_rwlock_rdlock(&calls);
  return true;
}

static void LeaveCall(void) {
  pthread_rwlock_unlock(&calls);
  depth = 0;
}

/* A program's own wish. Some look these up by name, to see which library is there. */
#define SETTER(name, type)                                                    \
  extern void name(type);                                                     \
  EXPORT void name(type threads) {                                            \
    const void* const caller = __builtin_return_address(0);                   \
    void (*const real)(type) = FIND(name);                                    \
    if (real == NULL) return;                                                 \
    BeRigid("sets the number of its BLAS's threads", caller, (int)(threads)); \
    real(threads);                                                            \
  }
SETTER(openblas_set_num_threads, int)
SETTER(openblas_set_num_threads64_, int)
SETTER(scipy_openblas_set_num_threads, int)
SETTER(scipy_openblas_set_num_threads64_, int)
SETTER(bli_thread_set_num_threads, long)

/* One shape for all routines: by the conventions of x86-64 and aarch64 (Linux) integers and pointers are
 * handed over in one sequence, whatever their size, and reals, of which no routine has more than two, in
 * another. What is behind the last that a routine has is never looked at. */
#define PARAMETERS                                                                                \
  long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l, \
      long m, long n, long o, double x, double y
#define ARGUMENTS a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, x, y

#define ROUTINE(name, is_large)                                           \
  extern long name(PARAMETERS);                                           \
  EXPORT long name(PARAMETERS) {                                          \
    const void* const caller = __builtin_return_address(0);               \
    static struct CallSite places[kFewPlaces];                            \
    void* const routine = RealOrAbort(caller, #name, places, kFewPlaces); \
    const bool entered = (is_large) && EnterCall(caller, routine);        \
    const long result = (*(long (**)(PARAMETERS)) & routine)(ARGUMENTS);  \
    if (entered) LeaveCall();                                             \
    return result;                                                        \
  }

#if defined(__x86_64__) || defined(__aarch64__)

/* OpenBLAS takes one thread for less. */
static bool IsLarge(int32_t rows, int32_t columns) { return (int64_t)rows * columns >= 2048; }
/* In Fortran sizes are handed over by their addresses; of 64 bits the lower half is looked at. */
static bool IsLargeAt(long rows, long columns) {
  return IsLarge(*(const int32_t*)rows, *(const int32_t*)columns);
}

#define FORTRAN(name, is_large)      \
  ROUTINE(name##_, is_large)         \
  ROUTINE(name##_64_, is_large)      \
  ROUTINE(scipy_##name##_, is_large) \
  ROUTINE(scipy_##name##_64_, is_large)
#define IN_C(name, is_large)            \
  ROUTINE(cblas_##name, is_large)       \
  ROUTINE(cblas_##name##64_, is_large)  \
  ROUTINE(scipy_cblas_##name, is_large) \
  ROUTINE(scipy_cblas_##name##64_, is_large)

#define OF_REALS(macro, name, ...) macro(s##name, __VA_ARGS__) macro(d##name, __VA_ARGS__)
#define OF_COMPLEX(macro, name, ...) macro(c##name, __VA_ARGS__) macro(z##name, __VA_ARGS__)
#define OF_ALL(macro, name, ...) \
  OF_REALS(macro, name, __VA_ARGS__) OF_COMPLEX(macro, name, __VA_ARGS__)

#define LEVEL3(of, name) of(FORTRAN, name, true) of(IN_C, name, true)
LEVEL3(OF_ALL, gemm)
LEVEL3(OF_ALL, symm)
LEVEL3(OF_ALL, syrk)
LEVEL3(OF_ALL, syr2k)
LEVEL3(OF_ALL, trmm)
LEVEL3(OF_ALL, trsm)
LEVEL3(OF_COMPLEX, hemm)
LEVEL3(OF_COMPLEX, herk)
LEVEL3(OF_COMPLEX, her2k)

#define LAPACK(name) OF_ALL(FORTRAN, name, true)
LAPACK(gesv)
LAPACK(getrf)
LAPACK(getrs)
LAPACK(lauum)
LAPACK(potrf)
LAPACK(potri)
LAPACK(trtri)
LAPACK(trtrs)

/* Rows and columns: which parameters they are, in Fortran and in C. */
#define LEVEL2(of, name, rows, columns, c_rows, c_columns) \
  of(FORTRAN, name, IsLargeAt(rows, columns))              \
      of(IN_C, name, IsLarge((int32_t)(c_rows), (int32_t)(c_columns)))
LEVEL2(OF_ALL, gemv, b, c, c, d)
LEVEL2(OF_REALS, ger, a, b, b, c)
LEVEL2(OF_COMPLEX, geru, a, b, b, c)
LEVEL2(OF_COMPLEX, gerc, a, b, b, c)
LEVEL2(OF_REALS, symv, b, b, c, c)
LEVEL2(OF_COMPLEX, hemv, b, b, c, c)
LEVEL2(OF_ALL, trmv, d, d, e, e)

#endif
