/* Calls of a BLAS with threads of its own, OpenBLAS or BLIS: between two of them its number of threads
 * is set to what was granted, by the library's own function.
 *
 * The number is one for the whole library, and newer versions give the memory of threads that they
 * lose to others, so it only changes while no thread of the program is in such a call: in level 3, in
 * the factorisations and solvers of LAPACK that are part of OpenBLAS, and in the dense routines of level
 * 2 where they are large enough for more than one thread. Banded and packed ones are not seen.
 *
 * OpenBLAS on OpenMP changes the number itself where a thread has another default, so it is told of one
 * thread in all calls that are not seen here. A call of level 3 of it waits for as many threads as it
 * had counted before, so its region is as large as that, whatever has been granted since. Thread-safe. */
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
  /* The number that was set last, 0: none yet; and what the library made of it. Written while no call
   * is in the library. */
  atomic_int threads;
  int taken;
};
/* More copies than these in one process are left alone. */
enum { kMostPools = 4 };
static struct BlasPool pools[kMostPools];
static pthread_mutex_t pools_change = PTHREAD_MUTEX_INITIALIZER;

/* Read by calls, written where the number changes. */
static pthread_rwlock_t calls = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static _Thread_local bool in_call;

bool IsInBlas(void) { return in_call; }

static void LeaveCall(void) {
  if (!in_call) return; /* A handler of errors, which the library calls, has called it again. */
  in_call = false;
  pthread_rwlock_unlock(&calls);
}

/* Of a child: nobody else is in a call there. */
static void ForgetCalls(void) {
  calls = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  pools_change = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
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
static struct BlasPool PoolIn(void* handle, const void* object) {
  enum { kSerial = 0, kOpenMp = 2 }; /* Of openblas_get_parallel. */
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
    if (parallel == NULL) continue;
    const int kind = parallel();
    found.on_openmp = kind == kOpenMp;
    has_routines = has_routines && kind != kSerial;
  }
  if (!has_routines) found.set = NULL;
  return found;
}

/* NULL where there are too many. */
static struct BlasPool* KeptPool(const struct BlasPool* found) {
  struct BlasPool* kept = NULL;
  pthread_mutex_lock(&pools_change);
  for (int i = 0; i < kMostPools && kept == NULL; ++i) {
    if (pools[i].set == NULL) pools[i] = *found;
    if (pools[i].set == found->set) kept = &pools[i];
  }
  pthread_mutex_unlock(&pools_change);
  return kept;
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
  struct BlasPool found = {0};
  if (handle != NULL) found = PoolIn(handle, info.dli_fbase);
  if (found.set != NULL) pool = KeptPool(&found);
  Remember(places, kPlaces, address, pool == NULL ? &none : pool);
  return pool;
}

int ThreadsOfBlasOnOpenMp(const struct BlasPool* pool) {
  return pool->on_openmp ? atomic_load_explicit(&pool->threads, memory_order_acquire) : 0;
}

static int64_t Now(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* For calls of others to end: once a second, as they may take long. */
static bool StopCalls(void) {
  enum { kMostNanoseconds = 100000000, kPause = 1000000000 };
  static _Atomic(int64_t) not_before;
  if (Now(CLOCK_MONOTONIC) < atomic_load(&not_before)) return pthread_rwlock_trywrlock(&calls) == 0;
  const int64_t until = Now(CLOCK_REALTIME) + kMostNanoseconds;
  const struct timespec end = {until / 1000000000, until % 1000000000};
  if (pthread_rwlock_timedwrlock(&calls, &end) == 0) return true;
  atomic_store(&not_before, Now(CLOCK_MONOTONIC) + kPause);
  return false;
}

static void SetThreads(struct BlasPool* pool, int threads, const void* place) {
  if (!StopCalls()) return;
  const int before = atomic_load_explicit(&pool->threads, memory_order_relaxed);
  /* Somebody else has set it, such as threadpoolctl. On OpenMP it follows the thread that calls. */
  if (!pool->on_openmp && pool->get != NULL && before != 0 && pool->get() != pool->taken)
    BeRigid("sets the number of its BLAS's threads", place, pool->get());
  if (before != threads && HasGrants()) {
    pool->set(threads);
    if (pool->get != NULL) pool->taken = pool->get();
    atomic_store_explicit(&pool->threads, threads, memory_order_release);
  }
  pthread_rwlock_unlock(&calls);
}

/* Whether there is something to leave. A call by anybody but a BLAS is not within another one: that was
 * left by a jump out of the library, as R's errors are, and has held the number until now. */
static bool EnterCall(const void* place, const void* routine) {
  if (!HasGrants()) return false;
  if (in_call && BlasPoolAt(place) != NULL) return false;
  if (in_call) LeaveCall();
  struct BlasPool* const pool = BlasPoolAt(routine);
  if (pool == NULL) return false;
  const int threads = FollowInBlas(routine, pool->on_openmp);
  if (threads > 0 && threads != atomic_load_explicit(&pool->threads, memory_order_relaxed))
    SetThreads(pool, threads, place);
  pthread_rwlock_rdlock(&calls);
  in_call = true;
  return true;
}

/* A program's own wish. Some look these up by name, to see which library is there. */
#define SETTER(name, type)                                                    \
  extern void name(type);                                                     \
  EXPORT void name(type threads) {                                            \
    const void* const caller = __builtin_return_address(0);                   \
    void (*const real)(type) = FIND(name);                                    \
    if (real == NULL) return;                                                 \
    BeRigid("sets the number of its BLAS's threads", caller, (int)(threads)); \
    if (!HasGrants()) real(threads);                                          \
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

#define ALWAYS(of, name) of(FORTRAN, name, true) of(IN_C, name, true)
ALWAYS(OF_ALL, gemm)
ALWAYS(OF_ALL, symm)
ALWAYS(OF_ALL, syrk)
ALWAYS(OF_ALL, syr2k)
ALWAYS(OF_ALL, trmm)
ALWAYS(OF_ALL, trsm)
ALWAYS(OF_COMPLEX, gemm3m)
ALWAYS(OF_COMPLEX, hemm)
ALWAYS(OF_COMPLEX, herk)
ALWAYS(OF_COMPLEX, her2k)

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
/* For these OpenBLAS looks at no size. */
ALWAYS(OF_REALS, symv)
ALWAYS(OF_REALS, syr)
ALWAYS(OF_REALS, syr2)
ALWAYS(OF_COMPLEX, hemv)
ALWAYS(OF_COMPLEX, her)
ALWAYS(OF_COMPLEX, her2)
ALWAYS(OF_ALL, trmv)
FORTRAN(csyr, true) FORTRAN(zsyr, true)

#endif
