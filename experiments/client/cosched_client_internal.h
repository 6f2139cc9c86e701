/* What the preloaded library says through its client beside cosched_client.h. */
#ifndef COSCHED_CLIENT_INTERNAL_H_
#define COSCHED_CLIENT_INTERNAL_H_

#include <sched.h> /* cpu_set_t: whoever includes this defines _GNU_SOURCE. */

#include "experiments/client/cosched_client.h"

/* It keeps so many threads, whatever is granted. */
void cosched_say_rigid(cosched_client* client, int threads);
/* A parallel region has begun. Of one client: one thread at a time. */
void cosched_count_region(cosched_client* client);
/* The cores of the last grant. 0: there are none. */
int cosched_cores(const cosched_client* client, cpu_set_t* cores);

#endif
