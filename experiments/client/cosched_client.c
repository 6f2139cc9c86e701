#define _GNU_SOURCE
#include "experiments/client/cosched_client.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "experiments/client/cosched_client_internal.h"
#include "experiments/client/cosched_page.h"

struct cosched_client {
  struct cosched_page* page;
  uint64_t seen;   /* The grant that poll has told last, … */
  int threads;     /* … its threads, … */
  uint64_t told_at;
  int unconfirmed; /* … and whether the page does not say yet that it is followed. */
  unsigned generation; /* A forked child is no client. */
};

/* How often this process was forked since its ancestor connected: getpid() would be a system call. */
static unsigned generation;
static void CountFork(void) { ++generation; }
static void CountForks(void) { pthread_atfork(NULL, NULL, CountFork); }

static uint64_t Load(const uint64_t* member) { return __atomic_load_n(member, __ATOMIC_ACQUIRE); }

static void Store(uint64_t* member, uint64_t value) {
  __atomic_store_n(member, value, __ATOMIC_RELEASE);
}

static struct cosched_page* MapDescriptor(int fd) {
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0 || status.st_size != COSCHED_PAGE_SIZE) return NULL;
  void* memory = mmap(NULL, COSCHED_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return NULL;
  struct cosched_page* page = memory;
  if (page->magic == COSCHED_PAGE_MAGIC && page->version == COSCHED_PAGE_VERSION) return page;
  munmap(memory, COSCHED_PAGE_SIZE);
  return NULL;
}

/* By the inherited descriptor, or where that is closed or something else by now, by its path. */
static struct cosched_page* MapPage(void) {
  const char* variable = getenv(COSCHED_PAGE_VARIABLE);
  if (variable == NULL) return NULL;
  char* end = NULL;
  const long fd = strtol(variable, &end, 10);
  if (end == variable || *end != ':') return NULL;
  struct cosched_page* page = MapDescriptor((int)fd);
  if (page != NULL) return page;
  const int opened = open(end + 1, O_RDWR | O_CLOEXEC);
  page = MapDescriptor(opened);
  if (opened >= 0) close(opened);
  return page;
}

/* One process at a time; another one takes over from one that is gone. */
static int Claim(struct cosched_page* page, uint32_t process) {
  uint32_t holder = __atomic_load_n(&page->process, __ATOMIC_RELAXED);
  do {
    if (holder == process) return 1;
    if (holder != 0 && (kill((pid_t)holder, 0) == 0 || errno != ESRCH)) return 0;
  } while (!__atomic_compare_exchange_n(&page->process, &holder, process, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
  return 1;
}

cosched_client* cosched_connect(void) {
  struct cosched_page* page = MapPage();
  if (page == NULL) return NULL;
  cosched_client* client = calloc(1, sizeof *client);
  if (client == NULL || !Claim(page, (uint32_t)getpid())) {
    free(client);
    munmap(page, COSCHED_PAGE_SIZE);
    return NULL;
  }
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, CountForks);
  client->page = page;
  client->generation = generation;
  return client;
}

static uint64_t Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The program has come back: it has done what it was told, when it was told. */
static void Confirm(cosched_client* client) {
  if (!client->unconfirmed) return;
  client->unconfirmed = 0;
  struct cosched_page* page = client->page;
  __atomic_store_n(&page->threads_now, (uint32_t)client->threads, __ATOMIC_RELAXED);
  Store(&page->followed_at, client->told_at);
  Store(&page->followed, client->seen);
}

int cosched_poll(cosched_client* client) {
  if (client == NULL || client->generation != generation) return 0;
  Confirm(client);
  struct cosched_page* page = client->page;
  const uint64_t grant = Load(&page->grant);
  if (grant == client->seen || grant % 2 == 1) return 0;  /* Odd: the next call will have it. */
  const uint32_t threads = __atomic_load_n(&page->threads, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (Load(&page->grant) != grant || threads == 0) return 0;
  const int changed = (int)threads != client->threads;
  client->seen = grant;
  client->threads = (int)threads;
  client->told_at = Now();
  client->unconfirmed = 1;
  if (!changed) Confirm(client);
  return changed ? client->threads : 0;
}

void cosched_step(cosched_client* client, long images) {
  if (client == NULL || client->generation != generation) return;
  Confirm(client);
  struct cosched_page* page = client->page;
  if (images > 0) Store(&page->images, page->images + (uint64_t)images);
  __atomic_store_n(&page->stepped_at, Now(), __ATOMIC_RELAXED);
  Store(&page->steps, page->steps + 1);
}

int cosched_threads(const cosched_client* client) { return client == NULL ? 0 : client->threads; }

void cosched_say_rigid(cosched_client* client, int threads) {
  if (client->generation != generation) return;
  __atomic_store_n(&client->page->threads_now, (uint32_t)threads, __ATOMIC_RELAXED);
  __atomic_store_n(&client->page->rigid, 1, __ATOMIC_RELEASE);
}

void cosched_count_region(cosched_client* client) {
  if (client->generation == generation) Store(&client->page->regions, client->page->regions + 1);
}

int cosched_cores(const cosched_client* client, cpu_set_t* cores) {
  if (client->generation != generation) return 0;
  const struct cosched_page* const page = client->page;
  /* A grant is written in no time, unless who writes it is stopped meanwhile. */
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const uint64_t grant = Load(&page->grant);
    CPU_ZERO(cores);
    for (int cpu = 0; cpu < 16 * 64 && cpu < CPU_SETSIZE; ++cpu) {
      if (__atomic_load_n(&page->cores[cpu / 64], __ATOMIC_RELAXED) >> cpu % 64 & 1)
        CPU_SET(cpu, cores);
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (grant % 2 == 0 && Load(&page->grant) == grant) return CPU_COUNT(cores) > 0;
    sched_yield();
  }
  return 0;
}

void cosched_close(cosched_client* client) {
  if (client == NULL) return;
  if (client->generation == generation) {
    uint32_t process = (uint32_t)getpid();
    __atomic_compare_exchange_n(&client->page->process, &process, 0, 0, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
  }
  munmap(client->page, COSCHED_PAGE_SIZE);
  free(client);
}
