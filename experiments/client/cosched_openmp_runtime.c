/* The OpenMP runtime behind a caller, and what is known of the caller. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/client/cosched_openmp_internal.h"

/* Objects whose use of the default is safe: regions ask for their team's size when they are in it, or
 * name it. */
static bool IsSafeObject(const void* caller) {
  static const char* const known[] = {
      "/libtorch",          "/libc10",  "/libdnnl", "/libopenblas", "/openblas",  "/libblis",
      "/libscipy_openblas", "/libgomp", "/libomp",  "/libiomp5",    "/libcosched"};
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

/* By the names of GCC's, LLVM's and Intel's, also with something behind them, as wheels have it. */
static int FindRuntime(struct dl_phdr_info* info, size_t size, void* handle) {
  (void)size;
  static const char* const known[] = {"/libgomp", "/libomp.", "/libomp5", "/libomp-", "/libiomp5"};
  bool is = false;
  for (size_t i = 0; info->dlpi_name != NULL && i < sizeof known / sizeof *known; ++i)
    is = is || strstr(info->dlpi_name, known[i]) != NULL;
  if (!is) return 0;
  *(void**)handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  return *(void**)handle != NULL;
}

struct Search {
  const char* name;
  void* found;
};

/* A caller by a pointer to the function, such as SciPy's of its BLAS, may be linked with nothing. */
static int FindDefiner(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct Search* const search = data;
  if (info->dlpi_name == NULL || *info->dlpi_name == '\0') return 0;
  void* const handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  const void* const symbol = handle == NULL ? NULL : SymbolIn(handle, search->name);
  if (symbol == NULL) return 0;
  search->found = handle;
  return 1;
}

const void* ObjectOf(const void* address) {
  Dl_info info;
  return address == NULL || dladdr(address, &info) == 0 ? NULL : info.dli_fbase;
}

void* SymbolIn(void* handle, const char* name) {
  static const char here;
  void* const symbol = dlsym(handle, name);
  return symbol == NULL || ObjectOf(symbol) == ObjectOf(&here) ? NULL : symbol;
}

/* LLVM's and Intel's have GCC's entries, too, but not the other way round. */
static bool IsLlvms(const void* symbol) {
  Dl_info info;
  if (dladdr(symbol, &info) == 0) return false;
  void* const handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return handle != NULL && dlsym(handle, "__kmpc_fork_call") != NULL;
}

/* Where the dynamic linker would look without this library, which is first among those that are in
 * everybody's sight (RTLD_NEXT), and only then in what the caller is linked with: unless the first is
 * GCC's, and the caller needs LLVM's, whose symbols have other versions. */
static void* HandleOf(const void* caller, const char* name) {
  Dl_info info;
  void* own = NULL;
  if (dladdr(caller, &info) != 0 && info.dli_fname != NULL)
    own = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD); /* NULL for the program itself. */
  const void* const linked = own == NULL ? NULL : SymbolIn(own, name);
  const void* const first = SymbolIn(RTLD_NEXT, name);
  const bool itself = linked != NULL && ObjectOf(linked) == ObjectOf(caller);
  if (first != NULL && !itself && (linked == NULL || IsLlvms(first) || !IsLlvms(linked)))
    return RTLD_NEXT;
  if (linked != NULL) return own;
  void* other = NULL;
  dl_iterate_phdr(FindRuntime, &other);
  if (other != NULL && SymbolIn(other, name) != NULL) return other;
  struct Search search = {name, NULL};
  dl_iterate_phdr(FindDefiner, &search);
  return search.found;
}

/* A caller has one of so many places, from its first on; who finds them all taken looks each time. */
enum { kTries = 8 };
static struct CallSite* PlaceOf(struct CallSite* places, size_t count, const void* caller,
                                size_t try) {
  return &places[((size_t)((uintptr_t)caller * 0x9E3779B97F4A7C15u >> 40) + try) % count];
}

void* Remembered(struct CallSite* places, size_t count, const void* caller) {
  for (size_t try = 0; try < kTries; ++try) {
    struct CallSite* const place = PlaceOf(places, count, caller, try);
    const void* const owner = atomic_load_explicit(&place->caller, memory_order_acquire);
    if (owner == caller) return atomic_load_explicit(&place->value, memory_order_relaxed);
    if (owner == NULL) return NULL;
  }
  return NULL;
}

void Remember(struct CallSite* places, size_t count, const void* caller, void* value) {
  for (size_t try = 0; try < kTries; ++try) {
    struct CallSite* const place = PlaceOf(places, count, caller, try);
    void* none = NULL;
    if (!atomic_compare_exchange_strong(&place->value, &none, value)) continue;
    atomic_store_explicit(&place->caller, caller, memory_order_release);
    return;
  }
}

void* Real(const void* caller, const char* name, struct CallSite* places, size_t count) {
  void* function = Remembered(places, count, caller);
  if (function != NULL) return function;
  void* const handle = HandleOf(caller, name);
  function = handle == NULL ? NULL : SymbolIn(handle, name);
  if (function != NULL) Remember(places, count, caller, function);
  return function;
}

void* RealOrAbort(const void* caller, const char* name, struct CallSite* places, size_t count) {
  void* const function = Real(caller, name, places, count);
  if (function != NULL) return function;
  fprintf(stderr, "cosched: there is no %s in any library of this program\n", name);
  abort();
}

/* Looked up once for each place, too. */
bool IsSafe(const void* caller) {
  static struct CallSite places[kPlaces];
  static char yes, no;
  void* verdict = Remembered(places, kPlaces, caller);
  if (verdict == NULL) {
    verdict = IsSafeObject(caller) ? &yes : &no;
    Remember(places, kPlaces, caller, verdict);
  }
  return verdict == &yes;
}
