// Under qemu-user a program's system calls are this machine's, and its kernel knows no aarch64 programs (without binfmt_misc, which
// would be set for the whole machine). Preloaded into every emulated program (toolchain.cmake), this starts those under qemu-user, too:
// tests that start themselves or cosched do so by the functions below. This machine's programs are started as ever.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*Execve)(const char*, char* const*, char* const*);
typedef int (*Spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                     const posix_spawnattr_t*, char* const*, char* const*);
typedef int (*Execvp)(const char*, char* const*);

enum { kMostArguments = 1024, kOfEmulator = 8 };

// This machine's programs can't load it.
__attribute__((constructor)) static void HidePreloading(void) { unsetenv("LD_PRELOAD"); }

static int IsEmulated(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  Elf64_Ehdr header;
  const ssize_t size = read(file, &header, sizeof(header));
  close(file);
  return size == sizeof(header) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_machine == EM_AARCH64;
}

// Just forked, a process may have a stack of two pages (gtest's death tests), and a heap whose lock another thread held for ever.
static char program[PATH_MAX];
static char* emulated[kMostArguments + kOfEmulator + 1];
static char* listed[kMostArguments + 1];

// The arguments of the emulator that runs it.
static char* const* Emulated(const char* path, char* const argv[]) {
  // What the link to this program's own file leads to in the emulator, not in its child.
  const ssize_t length =
      strcmp(path, "/proc/self/exe") == 0 ? readlink(path, program, sizeof(program) - 1) : -1;
  if (length >= 0) program[length] = '\0';
  char* const first[kOfEmulator] = {EMULATOR, "-L", ROOT, "-E", "LD_PRELOAD=" PRELOADED,
                                    "-0",     argv[0], length >= 0 ? program : (char*)path};
  memcpy(emulated, first, sizeof(first));
  int count = 0;
  while (count < kMostArguments && argv[count] != NULL) ++count;
  for (int i = 1; i < count; ++i) emulated[kOfEmulator + i - 1] = argv[i];
  emulated[kOfEmulator + count - 1] = NULL;
  return emulated;
}

int execve(const char* path, char* const argv[], char* const envp[]) {
  const Execve real = (Execve)dlsym(RTLD_NEXT, "execve");
  return IsEmulated(path) ? real(EMULATOR, Emulated(path, argv), envp) : real(path, argv, envp);
}

int posix_spawnp(pid_t* pid, const char* name, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const argv[], char* const envp[]) {
  const Spawn real = (Spawn)dlsym(RTLD_NEXT, "posix_spawnp");
  const int is_emulated = strchr(name, '/') != NULL && IsEmulated(name);
  return is_emulated ? real(pid, EMULATOR, actions, attributes, Emulated(name, argv), envp)
                     : real(pid, name, actions, attributes, argv, envp);
}

int execv(const char* path, char* const argv[]) { return execve(path, argv, environ); }

int execvp(const char* name, char* const argv[]) {
  if (strchr(name, '/') != NULL) return execve(name, argv, environ);
  return ((Execvp)dlsym(RTLD_NEXT, "execvp"))(name, argv);
}

int execl(const char* path, const char* first, ...) {
  listed[0] = (char*)first;
  va_list rest;
  va_start(rest, first);
  for (int i = 1; i < kMostArguments && listed[i - 1] != NULL; ++i) listed[i] = va_arg(rest, char*);
  va_end(rest);
  return execve(path, listed, environ);
}
