#pragma once
// What `cosched run --dry-run` prints: every key of the experiment with its value, as TOML, those
// that the file leaves out marked as defaults; then the time and disk that are to be expected, what
// arrives when, and the order of cells. Pure.

#include <optional>
#include <string>

#include "experiments/config/sweep.h"

namespace cosched {

// What the cells of a point, one after the other, take at least, as arrivals and the profile tell:
// seconds of the experiment, which simulated ones are done with sooner. Nothing where a program's
// speed is not known.
std::optional<double> LeastSeconds(const SweepPoint& point);

// The keys of a sweep are those of its first point.
std::string DryRunText(const Sweep& sweep);

}  // namespace cosched
