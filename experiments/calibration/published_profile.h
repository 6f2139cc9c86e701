#pragma once
// A profile from the tables that the container-scheduler study published (Libutti's thesis,
// 2023): one program, ResNet-56 on CIFAR-10 with batches of 128, on up to 64 cores with up to 64
// threads. Called by `cosched calibrate --from-published`. Reads files only.
//
//   times_oversubscription-2.csv   Cores,Intra,Time: one container. The shape of the curves. (Its
//                                  first version contradicts itself at 1 thread and is not read.)
//   times_contention.csv           Cores_Per_C,Containers,Time: N containers of c cores and threads
//                                  each, 300 steps. What a step takes, and contention.
//   times_contention-v2.csv, -v4   The same, of other runs: what the fit is checked on. Optional.
//
// One run a cell: no estimate has an interval.

#include <filesystem>
#include <string>
#include <vector>

#include "workloads/profile.h"

namespace cosched {

struct PublishedProfile {
  Profile profile;                  // host, programs, co_runs, notes; the rest is the caller's.
  std::vector<std::string> report;  // Where each number comes from, what was left out, how it fits.
};

// Throws InputError: a file is not there, not such a table, or lacks the cells it is scaled by.
PublishedProfile ReadPublishedProfile(const std::filesystem::path& folder);

}  // namespace cosched
