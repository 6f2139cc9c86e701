/* A library with parallel regions, for a program that has regions of another runtime. */
#include <omp.h>

/* Says how many threads its team had, which are one from now on if it is told to count nothing. */
int RegionBeside(long* cells, int count) {
  int size = 0;
  if (count == 0) omp_set_num_threads(1);
#pragma omp parallel
  {
#pragma omp for
    for (int i = 0; i < count; ++i) cells[i] += i;
#pragma omp master
    size = omp_get_num_threads();
  }
  return size;
}
