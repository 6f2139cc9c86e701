#pragma once
// This machine's kernel rates: measured once for each kind of CPU and kept in the cache folder, so
// that all runs on it choose alike, until somebody has them measured anew. Those that were measured
// while other programs computed are measured once more when none does. Called by commands
// before they start what computes, never by a tenant that a host started: it gets its host's.
// Thread-safe, also between processes: the first that has measured decides.

#include <filesystem>
#include <optional>
#include <string>

#include "engine/kernels/kernel_rates.h"

namespace cosched {

struct KeptKernelRates {
  KernelRates rates;
  std::filesystem::path file;  // Where they are kept.
  std::string cpu;             // The kind of CPU they are of: one line.
  std::string date;            // When they were measured: "2026-11-23".
  bool disturbed = false;      // Others computed meanwhile.
  // Not empty: they can't be kept, for this reason. What would be measured anew by each run would
  // be another choice in each, so these are the fixed ones.
  std::string why_fixed;
};

// Neither measures nor writes: nothing where nothing is kept yet.
std::optional<KeptKernelRates> KernelRatesKeptHere();
// Measures for one to two seconds where nothing is kept yet, or something disturbed is and now nobody
// else computes.
KeptKernelRates ThisMachinesKernelRates();
// In place of those that are kept.
KeptKernelRates MeasureKernelRatesAnew();

// The same for other folders, kinds of CPU and measurements: for tests.
struct RatesKeeper {
  std::filesystem::path cache;
  std::string cpu;
  KernelRates (*measure)();
  bool (*is_quiet)();  // Whether nobody else computes just now.

  std::optional<KeptKernelRates> Kept() const;
  KeptKernelRates Get() const;
  KeptKernelRates Renew() const;
};

}  // namespace cosched
