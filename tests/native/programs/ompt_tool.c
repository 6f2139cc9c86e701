/* An OMPT tool that a user has: says that it is there. */
#include <stdio.h>

struct Tool {
  int (*initialize)(void* (*lookup)(const char*), int device, void* data);
  void (*finalize)(void* data);
  void* data;
};

static int Initialize(void* (*lookup)(const char*), int device, void* data) {
  (void)lookup, (void)device, (void)data;
  puts("the user's tool");
  return 1;
}

static void Finalize(void* data) { (void)data; }

struct Tool* ompt_start_tool(unsigned version, const char* runtime) {
  static struct Tool tool = {Initialize, Finalize, 0};
  (void)version, (void)runtime;
  return &tool;
}
