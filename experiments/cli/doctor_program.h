#pragma once
// cosched doctor -- CMD, or --pid PID: what a program makes of the cores that it may use. Starts it, or
// takes one that runs; looks at it and all that it has started for some seconds; ends it if it has
// started it; and tells how many threads want how many cores, what holds them back, what its runtimes
// believe, and what to set. Called by the doctor's command.

#include <CLI/App.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/cli/finding.h"
#include "experiments/os/program_watch.h"

namespace cosched {

struct ProgramLook {
  std::vector<std::string> command;  // Empty: none was given.
  std::optional<int> pid;            // … and of one that runs.
  double seconds = 10;
};

// The options of it, beside the others that `doctor` has by now; `look` outlives the command.
void AddProgramLook(CLI::App* doctor, ProgramLook* look);

struct LookedAtProgram {
  std::string program;  // Its words; of one that ran, its number too.
  std::string end;      // What became of it: "it goes on".
  ProgramFacts facts;
  std::vector<Finding> findings = {};

  bool TooSoon() const;  // It ended before anything could be seen of it.
  bool IsGood() const;   // Nothing should be set otherwise.
};

// Throws InputError if the program can't be started, or there is none of that number. REQUIRES: one
// is given.
LookedAtProgram LookAtProgram(const ProgramLook& look);

// The same in two forms; the JSON is without the findings.
std::string LookedAtText(const LookedAtProgram& looked);
nlohmann::ordered_json LookedAtJson(const LookedAtProgram& looked);

// What follows from what was seen, on a machine of so many cores.
std::vector<Finding> FindingsOf(const ProgramFacts& facts, int machine);

}  // namespace cosched
