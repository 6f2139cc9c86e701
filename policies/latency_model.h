#pragma once
// How long a batch of requests takes by its size and by the cores that compute it, as Sponge has it
// (Razavi et al., EuroMLSys 2024), l(b, c) = g b / c + d b + e / c + h, learned from windows; and
// the least cores by which a period's requests keep their objective. For controllers of instances
// (sponge.cc, fa2.cc). One thread.
//
// A policy cannot set how many requests a service computes at once, and is not told, so what is
// learned is of batches of one, for which only g + e and d + h can be told apart: they are g and h.

#include <cstdint>
#include <optional>

#include "policies/core_controller.h"

namespace cosched {

struct LatencyModel {
  double g = 0, d = 0, e = 0, h = 0;  // Seconds; each >= 0.
  double Of(int batch, double cores) const { return g * batch / cores + d * batch + e / cores + h; }
};

// Least squares over the instance's speed curve, which is all there is at first, and over the last
// twenty windows or so.
class LatencyFit {
 public:
  // lanes: requests that its cores compute at once, each on its part of them.
  // REQUIRES: the job's speed is known.
  void Add(const InstanceWindow& window, int lanes);

  LatencyModel Model() const;  // Of a request of the work that the latest had in the mean.
  double WaitedS() const { return waited_s_; }  // What they had waited when they came to it.

 private:
  // Of points x = 1 / cores, y = seconds of a unit of work.
  struct Sums {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    void AddPoint(double cores, double seconds);
  };

  Sums curve_, windows_;
  double work_ = 1;
  double waited_s_ = 0;
};

// What came in a period, as if it had come at once, and when the last of it is to be answered.
struct LatencyDemand {
  int64_t requests = 0;
  double waited_s = 0;
  double objective_s = 0;
  // Whether so many batches, one after the other, leave a tenth of the objective.
  bool IsKept(double batch_s, int64_t batches) const;
};

struct SpongeLimits {
  CpuShare grid, least, most;  // Of cores, which are multiples of the grid.
  int most_batch = 1;
};

struct CoresAndBatch {
  CpuShare cores;
  int batch = 0;
};

// The least cores, and the least batch with these, with which the demand is kept; none if nothing
// is enough.
std::optional<CoresAndBatch> LeastCores(const LatencyModel& model, const LatencyDemand& demand,
                                        const SpongeLimits& limits);

}  // namespace cosched
