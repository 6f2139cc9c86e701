#pragma once
// cosched doctor -- CMD: what a program makes of the cores that it may use. Starts it, looks at it and
// all that it starts for some seconds, ends it, and tells how many threads want how many cores, what
// holds them back, what its runtimes believe, and what to set. Called by the doctor's command.

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "experiments/cli/finding.h"
#include "experiments/os/program_watch.h"

namespace cosched {

struct ProgramLook {
  std::vector<std::string> command;  // Empty: none was given.
  double seconds = 10;
};

// The options of it, beside the others that `doctor` has by now; `look` outlives the command.
void AddProgramLook(CLI::App* doctor, ProgramLook* look);

// Prints what it has found; exit code 1 if something should be set otherwise. Throws InputError if
// the program can't be started.
int LookAtProgram(const ProgramLook& look);

// What follows from what was seen, on a machine of so many cores.
std::vector<Finding> FindingsOf(const ProgramFacts& facts, int machine);

}  // namespace cosched
