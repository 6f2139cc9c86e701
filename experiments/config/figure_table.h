#pragma once
// [figure]: how `cosched reproduce` gets a figure's numbers. Only files in experiments/figures/ have
// it. Thread-safe.

#include <string>

#include "experiments/config/section.h"

namespace cosched {

struct FigureSettings {
  enum class Command {
    kRun,        // The experiment or sweep of the file, as `cosched run`; also without [figure].
    kValidate,   // Its workloads calibrated for `calibrate_minutes`, then `cosched validate`.
    kBenchmark,  // `program`, beside this binary; the file is no experiment then.
  };
  Command with = Command::kRun;
  std::string prepare;  // A shell script beside the file, which makes what it reads; "": none.
  double calibrate_minutes = 0;
  std::string program;
  std::string filter;
  int repetitions = 1;
};

const char* ToString(FigureSettings::Command command);

const Section<FigureSettings>& FigureSection();

}  // namespace cosched
