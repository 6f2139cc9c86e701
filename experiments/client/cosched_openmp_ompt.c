/* Regions of LLVM's and Intel's OpenMP (clang, flang, icx, ifx), by OMPT: the runtime looks for
 * ompt_start_tool when it begins, finds it here, and from then on says when a region begins, before it
 * looks up how many threads that has. The few types of OMPT that this takes are declared here, as the
 * specification has them (OpenMP 5.0, sections 4.2 and 4.5), so that no package is needed to build it.
 *
 * A runtime has one tool. Another one that the user has keeps its place, and where tools are switched
 * off they stay so: such a program is rigid, and is told so. So is a second runtime of this kind in the
 * same process, which KMP_DUPLICATE_LIB_OK allows, but without a word. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "experiments/client/cosched_client_internal.h"
#include "experiments/client/cosched_openmp_internal.h"
#include "experiments/client/cosched_page.h"

union ToolData {
  uint64_t value;
  void* pointer;
};
typedef void (*Function)(void);
typedef Function (*Lookup)(const char* name);
struct Tool {
  int (*initialize)(Lookup lookup, int device, union ToolData* data);
  void (*finalize)(union ToolData* data);
  union ToolData data;
};
typedef int (*SetCallback)(int event, Function callback);
enum { kThreadBegins = 1, kParallelBegins = 3 };
enum { kWorker = 2 };
enum { kTeam = (int)0x80000000u }; /* Not a league of teams. */

/* An address in the runtime, by which its functions are found. */
static _Atomic(const void*) runtime;
static _Thread_local unsigned named; /* That the region which comes next asks for. */

/* A clause num_threads(…): OMPT does not tell it from a default of the same number. */
extern void __kmpc_push_num_threads(void*, int32_t, int32_t);
EXPORT void __kmpc_push_num_threads(void* where, int32_t thread, int32_t threads) {
  const void* const caller = __builtin_return_address(0);
  named = threads > 0 ? (unsigned)threads : 0;
  REAL(__kmpc_push_num_threads)(where, thread, threads);
}

/* In a league the runtime divides threads among its teams, whatever the default is. */
static void BeginParallel(union ToolData* task, const void* frame, union ToolData* parallel,
                          unsigned requested, int flags, const void* place) {
  (void)task, (void)frame, (void)parallel, (void)requested;
  if ((flags & kTeam) == 0) return;
  const unsigned asked = named;
  named = 0;
  if (!IsInGompRegion()) Follow(atomic_load_explicit(&runtime, memory_order_relaxed), place, asked);
}

/* The user has said where threads are to be. */
static bool IsBound(void) {
  static const char* const names[] = {"OMP_PLACES", "KMP_AFFINITY", "GOMP_CPU_AFFINITY"};
  const char* const bind = getenv("OMP_PROC_BIND");
  bool is = bind != NULL && strcasecmp(bind, "false") != 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) is = is || getenv(names[i]) != NULL;
  return is;
}

/* A new worker goes to the cores that the process was started on, whatever its parent's are by now. */
static void BeginThread(int kind, union ToolData* thread) {
  (void)thread;
  cosched_client* const client = kind == kWorker ? ClientOfProcess() : NULL;
  cpu_set_t cores;
  if (client == NULL || IsBound() || !cosched_cores(client, &cores)) return;
  sched_setaffinity(0, sizeof cores, &cores);
}

static int Initialize(Lookup lookup, int device, union ToolData* data) {
  (void)device, (void)data;
  const SetCallback set = (SetCallback)lookup("ompt_set_callback");
  if (set == NULL) return 0;
  set(kParallelBegins, (Function)BeginParallel);
  set(kThreadBegins, (Function)BeginThread);
  return 1;
}

static void Finalize(union ToolData* data) { (void)data; }

/* With how many threads it starts; the runtime can't be asked while it begins. */
static int ThreadsAtStart(void) {
  const char* const variable = getenv("OMP_NUM_THREADS");
  const int threads = variable == NULL ? 0 : atoi(variable);
  cpu_set_t cores;
  if (threads > 0 || sched_getaffinity(0, sizeof cores, &cores) != 0) return threads;
  return CPU_COUNT(&cores);
}

static bool HasClient(void) { return getenv(COSCHED_PAGE_VARIABLE) != NULL; }

static const char kOther[] = "has another tool in its runtime (OMPT)";

extern struct Tool* ompt_start_tool(unsigned, const char*);
EXPORT struct Tool* ompt_start_tool(unsigned version, const char* name) {
  static struct Tool ours = {Initialize, Finalize, {0}};
  const void* const caller = __builtin_return_address(0);
  __typeof__(&ompt_start_tool) next = NULL;
  *(void**)&next = dlsym(RTLD_NEXT, "ompt_start_tool");
  struct Tool* const other = next == NULL ? NULL : next(version, name);
  if (!HasClient()) return other;
  const char* const others = getenv("OMP_TOOL_LIBRARIES");
  if (other != NULL || (others != NULL && *others != '\0')) {
    StayRigid(kOther, NULL, ThreadsAtStart());
    return other;
  }
  const void* none = NULL;
  return atomic_compare_exchange_strong(&runtime, &none, caller) ? &ours : NULL;
}

/* Where nobody asks here for a tool: that is known now of a program that is linked with such a runtime. */
__attribute__((constructor)) static void LookForOtherTools(void) {
  const char* const tools = getenv("OMP_TOOL");
  if (!HasClient() || dlsym(RTLD_NEXT, "__kmpc_fork_call") == NULL) return;
  if (tools != NULL && strcmp(tools, "disabled") == 0)
    StayRigid("has the tools of its runtime switched off (OMP_TOOL)", NULL, ThreadsAtStart());
  if (SymbolIn(RTLD_DEFAULT, "ompt_start_tool") != NULL) StayRigid(kOther, NULL, ThreadsAtStart());
}
