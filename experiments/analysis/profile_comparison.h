#pragma once
// Two profiles of the same programs, quantity by quantity: do their intervals overlap? Pure; called
// by `cosched profile compare`, which also tells what the difference does to predictions.

#include <string>
#include <vector>

#include "workloads/profile.h"

namespace cosched {

struct ComparedQuantity {
  std::string name;   // "resnet20 train batch 32: step on 2 cores, 1x2 threads".
  bool step = false;  // A step time alone, which all that is predicted is proportional to.
  Estimate a, b;

  double Ratio() const { return a.value > 0 ? b.value / a.value : 1; }  // b over a.
  // Each has an interval (two samples or more).
  bool CanTell() const { return a.samples > 1 && b.samples > 1; }
  // Their intervals have a value in common. REQUIRES: CanTell().
  bool Agrees() const { return a.low <= b.high && b.low <= a.high; }
};

// What both have an estimate of, in the order of `a`: of programs in both, step times, starts,
// first steps, stops, losses on shared cores; then slow-downs beside others.
std::vector<ComparedQuantity> CompareProfiles(const Profile& a, const Profile& b);

// True if every quantity that has intervals agrees.
bool Agree(const std::vector<ComparedQuantity>& quantities);

// A table of all of them, and what drifted: all step times alike, or which quantities.
std::string ProfileComparisonText(const std::vector<ComparedQuantity>& quantities);

}  // namespace cosched
