#pragma once
// --cores of the commands that run a program here. Called by those, on one thread.

#include <optional>
#include <string>

#include "engine/base/cpu_set.h"
#include "experiments/config/option_refusal.h"

namespace cosched {

// Throws InputError unless it is a set of the machine's CPUs.
inline CpuSet CoresOption(const std::string& text, const CpuSet& machine) {
  const std::optional<CpuSet> cores = CpuSet::Parse(text);
  if (!cores || cores->Empty() || !machine.Contains(*cores))
    RefuseValue("--cores", text, "an interval set such as \"0-3,5\" within " + machine.ToString());
  return *cores;
}

}  // namespace cosched
