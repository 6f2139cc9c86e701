/* libcosched_client, version 1: for a program that cosched runs with client = "library"
 * (`cosched run`, `cosched wrap --client library`) and that can have another number of threads
 * between two steps:
 *
 *   cosched_client* client = cosched_connect();
 *   for (…) {
 *     int threads = cosched_poll(client);
 *     if (threads > 0) omp_set_num_threads(threads);   // or whatever it takes
 *     … one step …
 *     cosched_step(client, 32);
 *   }
 *
 * Run by hand, without cosched, cosched_connect returns NULL, and all else does nothing then: the
 * program needs no other case for it. No function blocks, allocates after cosched_connect or fails
 * otherwise. Of one client: one thread at a time. A process that forks leaves the client to the
 * parent. The protocol is cosched_page.h; cosched.py is the same in Python. */
#ifndef COSCHED_CLIENT_H_
#define COSCHED_CLIENT_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cosched_client cosched_client;

/* NULL where nobody has asked for a client: COSCHED_CLIENT is not set, names no page of a version
 * that this library knows, or another process of the program is the client. */
cosched_client* cosched_connect(void);

/* How many threads to have from now on, if that has changed since the last call (at the first call:
 * in any case); else 0. Call it between two steps, and change the threads at once: when the program
 * comes back with any call, that counts as done. Some 50 ns. */
int cosched_poll(cosched_client* client);

/* A step is done, of so many images (or whatever is counted; 0 is allowed). */
void cosched_step(cosched_client* client, long images);

/* How many threads it should have; 0 for NULL. */
int cosched_threads(const cosched_client* client);

void cosched_close(cosched_client* client);

#ifdef __cplusplus
}
#endif
#endif
