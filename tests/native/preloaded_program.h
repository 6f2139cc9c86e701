#pragma once
// A program with the library preloaded that makes OpenMP programs follow their grants. For tests of
// that library; on one thread.

#include <poll.h>

#include <algorithm>
#include <string>
#include <vector>

#include "experiments/tenant/client_page.h"
#include "experiments/tenant/steered_program.h"
#include "tests/paths.h"

namespace cosched {

// What it prints goes to these files. page: null, and the library is not preloaded. environment: an
// LD_PRELOAD in it is the program's, and names the library itself.
inline ProgramStart PreloadedStart(const std::vector<std::string>& arguments,
                                   std::vector<std::string> environment, const ClientPage* page,
                                   const std::string& output, const std::string& errors) {
  ProgramStart start;
  start.arguments = {"sh", "-c", "exec \"$@\" > \"$0\" 2> " + errors, output};
  start.arguments.insert(start.arguments.end(), arguments.begin(), arguments.end());
  start.environment = std::move(environment);
  start.environment.emplace_back("PATH=/usr/bin:/bin");
  if (page == nullptr) return start;
  const bool preloads = std::ranges::any_of(
      start.environment, [](const std::string& entry) { return entry.starts_with("LD_PRELOAD="); });
  if (!preloads) start.environment.emplace_back("LD_PRELOAD=" + InBuild(COSCHED_OPENMP_LIBRARY));
  start.environment.push_back(page->Variable());
  start.inherited.push_back(page->fd());
  return start;
}

// Whether it ends before so many milliseconds are over; -1: waits until it does.
inline bool EndsWithin(SteeredProgram* program, int milliseconds) {
  pollfd end{program->pidfd(), POLLIN, 0};
  poll(&end, 1, milliseconds);
  return program->Ended().has_value();
}

// Its exit code, once it has ended.
inline int ExitCodeOf(SteeredProgram* program) {
  while (!EndsWithin(program, -1)) {
  }
  return program->Ended()->exit_code;
}

}  // namespace cosched
