#pragma once
// A distribution as experiment files and generator specs write it: keys distribution, mean and what
// that distribution needs beside it. Pure.

#include <string_view>

#include "experiments/config/section.h"
#include "experiments/config/toml_table.h"
#include "traces/generators/distribution.h"

namespace cosched {

// What is drawn: the ending of the keys mean and sd, and the largest they may be.
struct DrawnQuantity {
  std::string_view unit;  // "_s", or "" for a count
  double max = 0;
};

// In the words of such a table; unit: as in DrawnQuantity.
Section<Distribution> DistributionSection(const DrawnQuantity& quantity);

// The table's keys are those of a distribution and no others. `fallback` holds where a key is
// absent; its parameters only where the table names no other distribution. Throws InputError.
Distribution ReadDistribution(const TomlTable& table, const DrawnQuantity& quantity,
                              const Distribution& fallback);

// [trace.gap]: seconds between two arrivals.
Section<Distribution> GapSection();
Distribution ReadGap(const TomlTable& table, const Distribution& fallback);

}  // namespace cosched
