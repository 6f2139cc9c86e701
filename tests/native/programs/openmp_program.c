/* openmp_program WAY REGIONS [FILE]: a program with many parallel regions that does what real ones do to the
 * library that is preloaded into them. Prints a number that is the same with any team. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kCells = 512 };
static long cells[kCells];

static void Plain(void) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < kCells; ++i) cells[i] += i;
}

static void Scheduled(long region) {
  switch (region % 4) {
    case 0:
#pragma omp parallel for schedule(dynamic, 7)
      for (int i = 0; i < kCells; ++i) cells[i] += i;
      break;
    case 1:
#pragma omp parallel for schedule(guided)
      for (int i = 0; i < kCells; ++i) cells[i] += i;
      break;
    case 2:
#pragma omp parallel for schedule(runtime)
      for (int i = 0; i < kCells; ++i) cells[i] += i;
      break;
    default:
#pragma omp parallel sections
    {
#pragma omp section
      for (int i = 0; i < kCells / 2; ++i) cells[i] += i;
#pragma omp section
      for (int i = kCells / 2; i < kCells; ++i) cells[i] += i;
    }
  }
}

/* Inner regions of a number that was asked for, which must be had. */
static void Nested(void) {
  int wrong = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (int block = 0; block < 4; ++block) {
#pragma omp parallel num_threads(2)
    {
      if (omp_get_num_threads() != 2) ++wrong;
#pragma omp for
      for (int i = block * kCells / 4; i < (block + 1) * kCells / 4; ++i) cells[i] += i;
    }
  }
  if (wrong > 0) cells[0] += 1000000;
}

/* A team that was asked for by number, as oneDNN does: each thread waits for all others. */
static void Numbered(void) {
  int here = 0;
#pragma omp parallel num_threads(3)
  {
#pragma omp atomic
    ++here;
#pragma omp barrier
    if (here != 3) cells[0] += 1000000;
#pragma omp for
    for (int i = 0; i < kCells; ++i) cells[i] += i;
  }
}

/* Divides its work by the default, which must not change then. */
static void Divided(int threads) {
#pragma omp parallel
  {
    const int self = omp_get_thread_num();
    for (int i = self * kCells / threads; i < (self + 1) * kCells / threads; ++i) cells[i] += i;
  }
}

static void Bound(long region) {
  cpu_set_t first, all;
  sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&first);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all)) continue;
    CPU_SET(cpu, &first);
    break;
  }
  if (region % 16 == 0) sched_setaffinity(0, sizeof first, &first);
  Plain();
  if (region % 16 == 0) sched_setaffinity(0, sizeof all, &all);
}

/* The child has a team of its own, and may not speak for its parent. */
static void Forked(long region) {
  Plain();
  if (region % 256 != 0) return;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
}

/* Teams of a league, whose sizes are the runtime's to choose. */
static void League(void) {
#pragma omp teams num_teams(2)
#pragma omp distribute parallel for
  for (int i = 0; i < kCells; ++i) cells[i] += i;
}

/* As a program in Fortran has it. */
extern int omp_get_max_threads_(void);
extern void omp_set_num_threads_(const int*);

static int SecondRuntime(const char* file) {
  void* const runtime = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (runtime == NULL) return 0;
  int (*most)(void) = NULL;
  *(void**)&most = dlsym(runtime, "omp_get_max_threads");
  return most != NULL ? most() : 0;
}

/* Of openmp_beside.c, a library that has another runtime. */
static int (*region_beside)(long*, int);
static int LoadBeside(const char* file) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library != NULL) *(void**)&region_beside = dlsym(library, "RegionBeside");
  return region_beside != NULL;
}

static void PrintSizes(void) {
  int size = 0;
#pragma omp parallel
#pragma omp master
  size = omp_get_num_threads();
  printf("%d %d\n", size, region_beside(cells, kCells));
}

static void Region(const char* way, long region, int asked) {
  if (strcmp(way, "scheduled") == 0) {
    Scheduled(region);
  } else if (strcmp(way, "nested") == 0) {
    Nested();
  } else if (strcmp(way, "numbered") == 0 || (strcmp(way, "mixed") == 0 && region % 2 == 1)) {
    Numbered();
  } else if (asked > 0) {
    Divided(asked);
  } else if (strcmp(way, "set") == 0) {
    Divided(3);
  } else if (strcmp(way, "bind") == 0) {
    Bound(region);
  } else if (strcmp(way, "fork") == 0) {
    Forked(region);
  } else if (strcmp(way, "league") == 0) {
    League();
  } else {
    Plain();
    if (region_beside != NULL) region_beside(cells, kCells);
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* const way = argv[1];
  const long regions = atol(argv[2]);
  int asked = strcmp(way, "ask") == 0 ? omp_get_max_threads() : 0;
  if (strcmp(way, "ask_in_fortran") == 0) asked = omp_get_max_threads_();
  const int beside =
      strcmp(way, "beside") == 0 || strcmp(way, "sizes") == 0 || strcmp(way, "set_beside") == 0;
  if (strcmp(way, "set") == 0) omp_set_num_threads(3);
  if (strcmp(way, "set_in_fortran") == 0) omp_set_num_threads_(&(int){asked = 3});
  if (strcmp(way, "dynamic") == 0) omp_set_dynamic(1);
  if (strcmp(way, "nested") == 0) omp_set_max_active_levels(2);
  if (strcmp(way, "exec") == 0) execl(argv[0], argv[0], "plain", argv[2], (char*)NULL);
  if (strcmp(way, "dlopen") == 0 && SecondRuntime(argv[3]) < 1) return 3;
  if (beside && !LoadBeside(argv[3])) return 3;
  for (long region = 0; region < regions; ++region) {
    Region(way, region, asked);
    if (strcmp(way, "crash") == 0 && region == regions / 2) abort();
  }
  if (strcmp(way, "set_beside") == 0) region_beside(cells, 0);
  if (beside && strcmp(way, "beside") != 0) {
    PrintSizes();
    return 0;
  }
  long sum = 0;
  for (int i = 0; i < kCells; ++i) sum = (sum * 31 + cells[i]) % 1000003;
  printf("%ld\n", sum);
  return 0;
}
