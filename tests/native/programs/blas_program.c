/* A program that computes with a BLAS and checks what it gets: blas_program WAY CALLS. Prints "right", or
 * what was wrong. As "sizes" it prints how many threads the library has after two calls at level 3, between
 * which it sets their number to CALLS unless that is 0, and then at level 1, which has no entry of
 * cosched's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kSize = 160, kElements = kSize * kSize }; /* As large as takes several threads. */

extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
                   const double*, const int*, const double*, const int*, const double*, double*,
                   const int*);
extern void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int,
                        float, float*, int);
extern void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*,
                   const double*, const int*, const double*, double*, const int*);
extern void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
extern void daxpy_(const int*, const double*, const double*, const int*, double*, const int*);

enum { kBehind = 5 }; /* Threads that nobody grants. */
static const int kN = kSize, kOne = 1;

/* Of its own for each thread, from a seed. */
struct Problem {
  double a[kElements], b[kElements], c[kElements], expected[kElements];
  float sa[kElements], sb[kElements], sc[kElements];
  double x[kSize], y[kSize], product[kSize];
  int pivots[kSize];
};

static struct Problem* NewProblem(unsigned seed) {
  struct Problem* const p = calloc(1, sizeof *p);
  for (int i = 0; i < kElements; ++i) {
    p->sa[i] = (float)(p->a[i] = rand_r(&seed) / (double)RAND_MAX - 0.5 +
                                 (i % (kSize + 1) == 0 ? kSize : 0));
    p->sb[i] = (float)(p->b[i] = rand_r(&seed) / (double)RAND_MAX - 0.5);
  }
  for (int i = 0; i < kSize; ++i) p->x[i] = rand_r(&seed) / (double)RAND_MAX - 0.5;
  for (int j = 0; j < kSize; ++j)
    for (int k = 0; k < kSize; ++k) {
      for (int i = 0; i < kSize; ++i)
        p->expected[i + j * kSize] += p->a[i + k * kSize] * p->b[k + j * kSize];
      p->product[j] += p->a[j + k * kSize] * p->x[k];
    }
  return p;
}

static bool Near(double value, double expected, double most) {
  return fabs(value - expected) <= most;
}

static bool Multiply(struct Problem* p) {
  const double one = 1, zero = 0;
  dgemm_("N", "N", &kN, &kN, &kN, &one, p->a, &kN, p->b, &kN, &zero, p->c, &kN);
  bool right = true;
  for (int i = 0; i < kElements; ++i) right = right && Near(p->c[i], p->expected[i], 1e-9);
  return right;
}

static bool MultiplyInC(struct Problem* p) {
  enum { kColumns = 102, kAsIs = 111 };
  memset(p->sc, 0, sizeof p->sc);
  cblas_sgemm(kColumns, kAsIs, kAsIs, kSize, kSize, kSize, 0.5F, p->sa, kSize, p->sb, kSize, 0.25F,
              p->sc, kSize);
  bool right = true;
  for (int i = 0; i < kElements; ++i) right = right && Near(p->sc[i], p->expected[i] / 2, 1e-2);
  return right;
}

static bool Apply(struct Problem* p) {
  const double one = 1, zero = 0;
  dgemv_("N", &kN, &kN, &one, p->a, &kN, p->x, &kOne, &zero, p->y, &kOne);
  bool right = true;
  for (int i = 0; i < kSize; ++i) right = right && Near(p->y[i], p->product[i], 1e-9);
  return right;
}

static bool Solve(struct Problem* p) {
  double* const matrix = p->c;
  memcpy(matrix, p->a, sizeof p->a);
  memcpy(p->y, p->product, sizeof p->y);
  int failed = 0;
  dgesv_(&kN, &kOne, matrix, &kN, p->pivots, p->y, &kN, &failed);
  bool right = failed == 0;
  for (int i = 0; i < kSize; ++i) right = right && Near(p->y[i], p->x[i], 1e-9);
  return right;
}

static bool Add(struct Problem* p) {
  enum { kLong = kElements };
  const int length = kLong;
  const double two = 2;
  memcpy(p->c, p->b, sizeof p->c);
  daxpy_(&length, &two, p->a, &kOne, p->c, &kOne);
  bool right = true;
  for (int i = 0; i < kElements; ++i) right = right && Near(p->c[i], 2 * p->a[i] + p->b[i], 1e-12);
  return right;
}

static const struct {
  const char* name;
  bool (*works)(struct Problem*);
} kRoutines[] = {{"dgemm_", Multiply},
                 {"cblas_sgemm", MultiplyInC},
                 {"dgemv_", Apply},
                 {"dgesv_", Solve},
                 {"daxpy_", Add}};

struct Share {
  struct Problem* problem;
  int calls;
  const char* wrong;
};

static void* Compute(void* its) {
  struct Share* const share = its;
  for (int i = 0; i < share->calls && share->wrong == NULL; ++i) {
    const size_t which = (size_t)i % (sizeof kRoutines / sizeof *kRoutines);
    if (!kRoutines[which].works(share->problem)) share->wrong = kRoutines[which].name;
  }
  return NULL;
}

static const char* ByThreads(int count, int calls) {
  enum { kMost = 3 };
  struct Share shares[kMost];
  pthread_t threads[kMost];
  for (int i = 0; i < count; ++i) {
    shares[i] = (struct Share){NewProblem(1 + (unsigned)i), calls / count, NULL};
    if (i > 0) pthread_create(&threads[i], NULL, Compute, &shares[i]);
  }
  Compute(&shares[0]);
  const char* wrong = shares[0].wrong;
  for (int i = 1; i < count; ++i) {
    pthread_join(threads[i], NULL);
    wrong = wrong == NULL ? shares[i].wrong : wrong;
  }
  for (int i = 0; i < count; ++i) free(shares[i].problem);
  return wrong;
}

/* The child goes on, and its parent waits for it. */
static const char* AcrossFork(int calls) {
  const char* const wrong = ByThreads(1, calls / 2);
  const pid_t child = fork();
  if (child == 0) _exit(ByThreads(1, calls / 2) == NULL ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return wrong == NULL && status != 0 ? "the child" : wrong;
}

static int ThreadsOfLibrary(void) {
  int (*get)(void) = NULL;
  *(void**)&get = dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
  if (get == NULL) *(void**)&get = dlsym(RTLD_DEFAULT, "bli_thread_get_num_threads");
  return get == NULL ? 0 : get();
}

/* Of the library that is there: what is preloaded has the functions of all. */
static void SetThreadsOfLibrary(int threads) {
  const bool is_openblas = dlsym(RTLD_DEFAULT, "openblas_get_num_threads") != NULL;
  void (*set)(long) = NULL;
  *(void**)&set =
      dlsym(RTLD_DEFAULT, is_openblas ? "openblas_set_num_threads" : "bli_thread_set_num_threads");
  if (set != NULL) set(threads);
}

/* By the library's own handle. */
static void SetThreadsBehind(int threads) {
  Dl_info library;
  void* get = dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
  const bool is_openblas = get != NULL;
  if (!is_openblas) get = dlsym(RTLD_DEFAULT, "bli_thread_get_num_threads");
  if (get == NULL || dladdr(get, &library) == 0) return;
  void* const handle = dlopen(library.dli_fname, RTLD_LAZY);
  void (*set)(long) = NULL;
  *(void**)&set =
      dlsym(handle, is_openblas ? "openblas_set_num_threads" : "bli_thread_set_num_threads");
  if (set != NULL) set(threads);
}

static volatile sig_atomic_t is_ended;
static void End(int signal) { is_ended = signal; }

/* It sets them once its first call has followed a grant, and goes on until it is ended. */
static const char* AcrossSettingBehind(void) {
  signal(SIGTERM, End);
  const char* wrong = ByThreads(1, 1);
  SetThreadsBehind(kBehind);
  while (wrong == NULL && is_ended == 0) wrong = ByThreads(1, 1);
  return wrong;
}

/* What a BLAS calls where an argument is wrong; a program may have its own. */
static jmp_buf after_wrong_call;
static struct Problem* of_handler; /* NULL: it jumps out of the library. */
static bool is_handled;
void xerbla_(const char* routine, const int* argument) {
  (void)routine, (void)argument;
  if (of_handler == NULL) longjmp(after_wrong_call, 1);
  is_handled = Multiply(of_handler);
}

/* Whether it goes on behind a call that is wrong. */
static bool IsHandled(bool jumps) {
  struct Problem* const problem = NewProblem(1);
  of_handler = jumps ? NULL : problem;
  const double one = 1;
  const int wrong = 0; /* A leading dimension. */
  if (setjmp(after_wrong_call) == 0) {
    dgemm_("N", "N", &kN, &kN, &kN, &one, problem->a, &wrong, problem->b, &kN, &one, problem->c,
           &kN);
  } else {
    is_handled = true;
  }
  free(problem);
  return is_handled;
}

static void PrintSizes(int set_between) {
  enum { kLong = 100000 };
  struct Problem* const problem = NewProblem(1);
  Multiply(problem);
  if (set_between > 0) SetThreadsOfLibrary(set_between);
  Multiply(problem); /* When it comes back it has followed. */
  printf("%d ", ThreadsOfLibrary());
  const int length = kLong;
  const double two = 2;
  double* const x = calloc(kLong, sizeof *x);
  daxpy_(&length, &two, x, &kOne, x, &kOne);
  printf("%d\n", ThreadsOfLibrary());
  free(x);
  free(problem);
}

/* It calls until the library has so many threads. */
static int PrintWhen(int threads) {
  struct Problem* const problem = NewProblem(1);
  while (ThreadsOfLibrary() != threads) Multiply(problem);
  puts("right");
  free(problem);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* const way = argv[1];
  const int calls = atoi(argv[2]);
  if (strcmp(way, "sizes") == 0) {
    PrintSizes(calls);
    return 0;
  }
  if (strcmp(way, "handle") == 0 && !IsHandled(false)) return 1;
  if (strcmp(way, "until") == 0 || strcmp(way, "handle") == 0) return PrintWhen(calls);
  if (strcmp(way, "set") == 0) SetThreadsOfLibrary(2);
  const char* wrong = NULL;
  if (strcmp(way, "fork") == 0) {
    wrong = AcrossFork(calls);
  } else if (strcmp(way, "jump") == 0) {
    wrong = IsHandled(true) ? ByThreads(1, calls) : "the call that is wrong";
  } else if (strcmp(way, "set_behind") == 0) {
    wrong = AcrossSettingBehind();
  } else {
    wrong = ByThreads(strcmp(way, "threads") == 0 ? 3 : 1, calls);
  }
  puts(wrong == NULL ? "right" : wrong);
  return 0;
}
