#pragma once
// How long a step of one program takes by itself, from its profile. Used by the simulator, and by
// the plan for the speed curves of policies. Immutable.
//
//   k cores, k threads   the speed measured; between measured numbers of cores in a straight line
//                        (of speed); below 1 core in proportion; beyond the last measured K as
//                        the profile's fitted law L: speed(K) L(k) / L(K), which is extrapolation
//   fewer threads than k like as many cores as threads
//   more threads         that, divided by the penalty: step time measured over the step time of
//                        as many threads as cores, interpolated over log2(threads per core) and
//                        beyond the last measured ratio held there, which is extrapolation
//
//   cores shared         that with all of the cores, divided by the part of the time that its
//                        threads run (CoreSharing), times the measured loss (CrowdingPoint), in a
//                        straight line over the others' threads per core (none: no loss) and over
//                        log2 of its own threads; beyond the last measured number of others held
//                        there, which is extrapolation. In a profile without it the penalty of all
//                        threads on a core stands for it
//
// A split whose inter-op size was not measured runs like inter = 1 with as many threads, which is
// extrapolation too. Threads of a split are ThreadsOf, as the engine's pools run them
// (engine/base/split.h). Sources: Libutti et al. 2020 (inter x intra; oversubscription in
// thesis 2023); scaling laws in workloads/scaling_law.h.

#include <map>
#include <string>
#include <vector>

#include "policies/speed_curve.h"
#include "workloads/profile.h"

namespace cosched {

class SpeedModel {
 public:
  // Keeps what it needs of the profile.
  explicit SpeedModel(const ProgramProfile& program);

  // Why a value goes beyond what was measured; flags.
  enum Beyond { kNothing = 0, kCores = 1, kThreadsPerCore = 2, kSplit = 4 };
  struct StepTime {
    double seconds;
    int beyond;
  };
  // On that much of cores (a share of others' cores makes fractions), with threads_per_core threads
  // on each, those of others included. REQUIRES: cores > 0.
  StepTime Step(Split threads, double cores, double threads_per_core, bool penalty) const;
  bool KnowsCrowding() const { return !losses_.empty(); }
  // On k cores with so many threads of other tenants on each, running for `rate` of the time.
  // REQUIRES: KnowsCrowding().
  StepTime Shared(Split threads, int cores, double rate, double others) const;
  // By itself on k whole cores.
  StepTime Alone(Split threads, int cores) const;
  // On 1 to `cores` cores: threads following the cores, or with these threads throughout.
  SpeedCurve Curve(int cores) const;
  SpeedCurve CurveWith(Split threads, int cores) const;

  int MeasuredCores() const;

 private:
  using Points = std::map<double, double>;
  struct Value {
    double value;
    bool beyond;
  };
  struct Inter {
    Points speed;    // Steps per second by cores, as many threads as cores.
    Points penalty;  // Factors of step time, by log2(threads per core); holds 0 -> 1.
  };

  Value Speed(const Inter& inter, double cores) const;
  static Value Penalty(const Inter& inter, double threads_per_core);
  Value Loss(double threads, double others) const;

  ScalingLaw law_;
  std::map<int, Inter> by_inter_;    // Inter counts with a point of as many threads as cores.
  std::map<double, Points> losses_;  // By log2(threads); by others' threads per core, 0 -> 1.
  std::map<std::pair<int, Split>, double> exact_;  // Step time by cores and threads.
};

}  // namespace cosched
