/* The page that a program and its tenant share (README.md, "Programs of others"): the tenant says how
 * many threads to have, the program says that it has them and how far it is. Version 1; the order of
 * the members and their sizes are the same on every machine that cosched runs on, and cosched.py has
 * them once more. Each member is written by one side only. C, because programs of any language read
 * it. */
#ifndef COSCHED_PAGE_H_
#define COSCHED_PAGE_H_

#include <stdint.h>

#define COSCHED_PAGE_MAGIC UINT64_C(0x31656761706f63) /* "copage1" */
#define COSCHED_PAGE_VERSION 1u
#define COSCHED_PAGE_SIZE 4096
/* Names the page: its descriptor, which the program inherits, a colon, and a path to open where that
 * is closed. */
#define COSCHED_PAGE_VARIABLE "COSCHED_CLIENT"

struct cosched_page {
  uint64_t magic;
  uint32_t version;
  uint32_t reserved;
  /* By the tenant. A grant is being written while its number is odd. */
  uint64_t grant;
  uint32_t threads;    /* To have. */
  uint32_t core_count; /* Cores to run on, … */
  uint64_t cores[16];  /* … bit by bit: CPU 0 is the lowest of the first. */
  /* By the program, from offset 256 on. */
  uint64_t unused[12];
  uint32_t process;     /* Who follows; 0: nobody yet. */
  uint32_t threads_now; /* That it has. */
  uint64_t followed;    /* The number of the grant that it has followed, … */
  uint64_t followed_at; /* … and when, in nanoseconds of CLOCK_MONOTONIC. */
  uint64_t steps;       /* Done. */
  uint64_t images;      /* In these. */
  uint64_t regions;     /* Parallel regions that have begun (client = "openmp"). */
  uint32_t rigid;       /* 1: it keeps its threads, whatever is granted. */
  uint32_t reserved_too;
  uint64_t stepped_at; /* When the last step was done, as followed_at; 0: not said. */
};

#endif
