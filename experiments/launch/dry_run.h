#pragma once
// What `cosched run --dry-run` prints: every key of the experiment with its value, as TOML, those
// that the file leaves out marked as defaults; then the time and disk that are to be expected, what
// arrives when, and the order of cells. Pure.

#include <string>

#include "experiments/config/sweep.h"

namespace cosched {

// The keys of a sweep are those of its first point.
std::string DryRunText(const Sweep& sweep);

}  // namespace cosched
