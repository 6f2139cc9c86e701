/* What the parts of the preloaded library (cosched_openmp.c) have of each other. */
#ifndef COSCHED_OPENMP_INTERNAL_H_
#define COSCHED_OPENMP_INTERNAL_H_

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
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

/* cosched_openmp_gomp.c: whether this thread is in a region that Follow has seen there. */
bool IsInGompRegion(void);

/* cosched_openmp_runtime.c. */

/* Found once for each place that calls; a table, as looking takes microseconds. */
enum { kPlaces = 1024 };
struct CallSite {
  _Atomic(const void*) caller;
  _Atomic(void*) value;
};

/* As dlsym, but NULL for a symbol of this library. */
void* SymbolIn(void* handle, const char* name);
/* The function of the runtime behind a caller. NULL: there is no runtime. */
void* Real(const void* caller, const char* name, struct CallSite* places);
/* Whether the object that calls may make use of the default while it changes. */
bool IsSafe(const void* caller);

#define FIND(name)                                  \
  __extension__({                                   \
    static struct CallSite places[kPlaces];            \
    (__typeof__(&name))Real(caller, #name, places); \
  })
/* Of regions, which nobody enters who is not linked with a runtime. */
#define REAL(name)                                                                               \
  __extension__({                                                                                \
    __typeof__(&name) const real = FIND(name);                                                   \
    if (real == NULL) {                                                                          \
      fprintf(stderr, "cosched: there is no " #name " in any OpenMP runtime of this program\n"); \
      abort();                                                                                   \
    }                                                                                            \
    real;                                                                                        \
  })

#endif
