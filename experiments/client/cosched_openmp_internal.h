/* What the parts of the preloaded library (cosched_openmp.c) have of each other. */
#ifndef COSCHED_OPENMP_INTERNAL_H_
#define COSCHED_OPENMP_INTERNAL_H_

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "experiments/client/cosched_client.h"

#define EXPORT __attribute__((visibility("default")))

typedef void (*Body)(void*);

/* cosched_openmp.c. */

/* NULL where there is none. */
cosched_client* ClientOfProcess(void);
/* At the entry of a region of the runtime behind `caller`; `place` in the program enters it. It names
 * a number of threads, or 0. */
void Follow(const void* caller, const void* place, unsigned named);
/* Whatever the program says of itself: the object at `place` (NULL: the program) is why. */
void StayRigid(const char* why, const void* place, int threads);
/* Unless the program says that it can do with fewer. */
void BeRigid(const char* what, const void* place, int threads);
/* Whether there is somebody to follow. */
bool HasGrants(void);
/* At the entry of a call of a BLAS: how many threads it shall have; 0: as it has. on_openmp: this
 * thread's default is that, too, in the runtime behind the routine. */
int FollowInBlas(const void* routine, bool on_openmp);

/* cosched_openmp_gomp.c: whether this thread is in a region that Follow has seen there. */
bool IsInGompRegion(void);

/* cosched_openmp_blas.c. */

struct BlasPool;
/* Whether this thread is in a call that FollowInBlas has seen. */
bool IsInBlas(void);
/* The threads of the BLAS or LAPACK whose code is at an address; NULL: it is none, or has no threads
 * that can be told. */
struct BlasPool* BlasPoolAt(const void* address);
/* 0: they are its own, or have not been set. */
int ThreadsOfBlasOnOpenMp(const struct BlasPool* pool);

/* cosched_openmp_runtime.c. */

/* Found once for each place that calls; a table, as looking takes microseconds. */
enum { kPlaces = 1024, kFewPlaces = 64 };
struct CallSite {
  _Atomic(const void*) caller;
  _Atomic(void*) value;
};

/* The base of the object at an address, or NULL. */
const void* ObjectOf(const void* address);
/* As dlsym, but NULL for a symbol of this library. */
void* SymbolIn(void* handle, const char* name);
/* NULL: nothing is known of it. */
void* Remembered(struct CallSite* places, size_t count, const void* caller);
void Remember(struct CallSite* places, size_t count, const void* caller, void* value);
/* The function that a caller would reach without this library. NULL: there is none. */
void* Real(const void* caller, const char* name, struct CallSite* places, size_t count);
/* For what nobody calls who is not linked with it. */
void* RealOrAbort(const void* caller, const char* name, struct CallSite* places, size_t count);
/* Whether the object that calls may make use of the default while it changes. */
bool IsSafe(const void* caller);

#define FIND(name)                                           \
  __extension__({                                            \
    static struct CallSite places[kPlaces];                  \
    (__typeof__(&name))Real(caller, #name, places, kPlaces); \
  })
#define REAL(name)                                                  \
  __extension__({                                                   \
    static struct CallSite places[kPlaces];                         \
    (__typeof__(&name))RealOrAbort(caller, #name, places, kPlaces); \
  })

#endif
