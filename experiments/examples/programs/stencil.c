/* Heat on a square grid, with OpenMP: an example of a program that knows nothing of cosched. Prints a line
 * every `--every` sweeps and the sum of the grid at the end, which is the same bits with any number of
 * threads. `--sweeps` are all, or `--lines` are; after a line none follow if `--seconds` are over.
 * gcc -O2 -fopenmp stencil.c */
#include <limits.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long Option(int argc, char** argv, const char* name, long otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], name) == 0) return atol(argv[i + 1]);
  return otherwise;
}

int main(int argc, char** argv) {
  const long size = Option(argc, argv, "--size", 1000), every = Option(argc, argv, "--every", 10),
             sweeps = Option(argc, argv, "--sweeps", every * Option(argc, argv, "--lines", 50)),
             seconds = Option(argc, argv, "--seconds", LONG_MAX);
  const double begin = omp_get_wtime();
  double* now = calloc((size_t)(size * size), sizeof *now);
  double* next = calloc((size_t)(size * size), sizeof *next);
  if (now == NULL || next == NULL || size < 3) return 1;
  for (long i = 0; i < size; ++i) now[i] = next[i] = 100;  /* A hot edge. */
  for (long sweep = 1; sweep <= sweeps; ++sweep) {
#pragma omp parallel for schedule(static)
    for (long row = 1; row < size - 1; ++row) {
      for (long column = 1; column < size - 1; ++column) {
        const long at = row * size + column;
        next[at] = 0.25 * (now[at - 1] + now[at + 1] + now[at - size] + now[at + size]);
      }
    }
    double* before = now;
    now = next;
    next = before;
    if (sweep % every == 0) {
      printf("sweep %ld\n", sweep);
      fflush(stdout);
      if (omp_get_wtime() - begin >= (double)seconds) break;
    }
  }
  double sum = 0;
  for (long i = 0; i < size * size; ++i) sum += now[i];
  printf("sum %.17g\n", sum);
  free(now);
  free(next);
  return 0;
}
