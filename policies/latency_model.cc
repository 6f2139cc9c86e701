#include "policies/latency_model.h"

#include <algorithm>
#include <cmath>

namespace cosched {
namespace {

constexpr double kOfObjective = 0.9;
constexpr double kForgets = 0.05;  // Of earlier windows, with each new one.

int64_t DividedUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

void LatencyFit::Sums::AddPoint(double cores, double seconds) {
  n += 1;
  x += 1 / cores;
  y += seconds;
  xx += 1 / (cores * cores);
  xy += seconds / cores;
}

void LatencyFit::Add(const InstanceWindow& window, int lanes) {
  if (curve_.n == 0) {
    const SpeedCurve& speed = *window.job.speed;
    for (int cores = 1; cores <= speed.Size(); ++cores) curve_.AddPoint(cores, 1 / speed.At(cores));
  }
  if (window.service.mean_work > 0) work_ = window.service.mean_work;
  const ServerWindow& server = window.server;
  if (server.answered == 0) return;
  waited_s_ = std::max(0.0, ToSeconds(server.mean_response - server.mean_process));
  // Those that were there together had to wait for each other, which is no part of what one takes.
  const double turns = std::max(1.0, server.mean_in_flight / lanes);
  for (double* sum : {&windows_.n, &windows_.x, &windows_.y, &windows_.xx, &windows_.xy})
    *sum *= 1 - kForgets;
  windows_.AddPoint(window.job.amount.Cores() / lanes,
                    ToSeconds(server.mean_process) / turns / work_);
}

// Where the line of least squares would have one of them below 0, the best without it.
LatencyModel LatencyFit::Model() const {
  const double n = curve_.n + windows_.n, x = curve_.x + windows_.x, y = curve_.y + windows_.y;
  const double xx = curve_.xx + windows_.xx, xy = curve_.xy + windows_.xy;
  if (n == 0) return {};
  const double spread = n * xx - x * x;
  double slope = spread > 1e-12 * n * xx ? (n * xy - x * y) / spread : xy / xx;
  double constant = (y - slope * x) / n;
  if (constant < 0) {
    slope = xy / xx;
    constant = 0;
  }
  if (slope < 0) {
    slope = 0;
    constant = y / n;
  }
  return {.g = slope * work_, .d = 0, .e = 0, .h = constant * work_};
}

bool LatencyDemand::IsKept(double batch_s, int64_t batches) const {
  return batches == 0 ||
         batch_s * static_cast<double>(batches) + waited_s <= kOfObjective * objective_s;
}

std::optional<CoresAndBatch> LeastCores(const LatencyModel& model, const LatencyDemand& demand,
                                        const SpongeLimits& limits) {
  constexpr double kRounding = 1e-9;
  const double grid = limits.grid.Cores();
  const int64_t least = DividedUp(limits.least.milli, limits.grid.milli);
  const int64_t most = limits.most.milli / limits.grid.milli;
  std::optional<CoresAndBatch> best;
  for (int batch = 1; batch <= limits.most_batch; ++batch) {
    const int64_t batches = DividedUp(demand.requests, batch);
    const double time_s = kOfObjective * demand.objective_s - demand.waited_s;
    int64_t steps = least;  // Enough where nothing is to be computed.
    if (batches > 0) {
      // Solved for c; a batch must end within its part of the time.
      const double part_s = time_s / static_cast<double>(batches) - model.d * batch - model.h;
      if (part_s <= 0) continue;
      const double cores = (model.g * batch + model.e) / part_s;
      if (cores > limits.most.Cores() + kRounding) continue;
      steps = std::max(least, static_cast<int64_t>(std::ceil(cores / grid - kRounding)));
    }
    const CpuShare cores{steps * limits.grid.milli};
    if (steps <= most && (!best || cores < best->cores)) best = {cores, batch};
  }
  return best;
}

}  // namespace cosched
