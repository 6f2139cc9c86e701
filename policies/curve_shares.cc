// By model, not by trial: each instance has the least cores with which the mean response that
// queueing theory expects, by the speed curve of its program and the requests that it gets, stays
// below a part of the objective. With c cores as a quota in each period P, on n = ceil(c) threads,
//
//   S (1 + rho (ca^2 + cs^2) / (2 (1 - rho))) + stalls <= 0.9 SLA,  rho = lambda n S / c
//
// S is what a request of mean work takes on n cores, for a quota slows nothing down until it is
// used up; then all stands still for P - Q/n, Q = c P: floor((n S)- / Q) times for a request of n S
// seconds of CPU time that finds its quota full. ca and cs are the coefficients of variation of the
// times between requests and of S (Kingman's approximation of a queue of one server); lambda is
// what was dispatched to the instance, smoothed. A rigid job is taken for one of n threads.
// `curve_factor` makes the speeds that it goes by wrong: an experiment shows with it what a curve
// that does not fit the machine costs.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "policies/core_controller.h"
#include "policies/registry.h"

namespace cosched {
namespace {

struct CurveSettings {
  double variability = 0;  // (ca^2 + cs^2) / 2
  double newest = 0;       // Weight of the latest window in lambda.
  double quota_period_s = 0;
  double curve_factor = 0;  // Times the speeds of the curve.
  CpuShare least, grid;
};

class CurveInstance final : public InstanceController {
 public:
  explicit CurveInstance(const CurveSettings& settings) : settings_(settings) {}

  double Next(const InstanceWindow& window) override {
    const double rate = static_cast<double>(window.server.dispatched) / window.length_s;
    rate_ = rate_ ? *rate_ + settings_.newest * (rate - *rate_) : rate;
    if (window.service.mean_work > 0) work_ = window.service.mean_work;
    const CpuShare most = CpuShare::OfCores(window.job.request.max);
    for (CpuShare cores = settings_.grid; cores < most; cores += settings_.grid) {
      const bool enough = ResponseS(*window.job.speed, cores) <= window.objective_s;
      if (cores >= settings_.least && enough) return cores.Cores();
    }
    return most.Cores();
  }
  void Got(double) override {}

 private:
  double ResponseS(const SpeedCurve& speed, CpuShare cores) const {
    const int threads = cores.Threads();
    const double alone_s = work_ / (settings_.curve_factor * speed.At(threads));
    const double cpu_s = threads * alone_s;
    const double rho = *rate_ * cpu_s / cores.Cores();
    if (rho >= 1) return std::numeric_limits<double>::infinity();
    const double quota_s = cores.Cores() * settings_.quota_period_s;
    constexpr double kRounding = 1e-9;
    const double stalls = std::max(0.0, std::ceil(cpu_s / quota_s - kRounding) - 1);
    const double stall_s = settings_.quota_period_s - quota_s / threads;
    return alone_s * (1 + settings_.variability * rho / (1 - rho)) + stalls * stall_s;
  }

  const CurveSettings settings_;
  std::optional<double> rate_;  // Requests a second.
  double work_ = 1;
};

constexpr std::array<PolicyParameter, 8> kCurveSharesParameters{{
    {"ca", "1", "number >= 0 and <= 100", "variation of the times between requests"},
    {"cs", "1", "number >= 0 and <= 100", "variation of the times that requests take"},
    {"aim", "0.9", "number > 0 and <= 1", "of the objective: the mean response wanted"},
    {"newest", "0.5", "number > 0 and <= 1", "weight of the latest window in the rate of requests"},
    {"quota_period_ms", "100", "number >= 1 and <= 1000", "as [machine] quota_period_ms"},
    {"curve_factor", "1", "number > 0 and <= 100", "times the speeds of the curve: a wrong one"},
    {"least", "0.1", "number >= 0.01 and <= 4096", "cores of an instance, at least"},
    {"grid", "0.1", "number >= 0.01 and <= 1", "cores are multiples of it"},
}};

CurveSettings CurveSettingsOf(const PolicyParameters& parameters) {
  const double ca = NumberOf(parameters, "ca"), cs = NumberOf(parameters, "cs");
  return {.variability = (ca * ca + cs * cs) / 2,
          .newest = NumberOf(parameters, "newest"),
          .quota_period_s = NumberOf(parameters, "quota_period_ms") / 1000,
          .curve_factor = NumberOf(parameters, "curve_factor"),
          .least = ShareOf(parameters, "least"),
          .grid = ShareOf(parameters, "grid")};
}

}  // namespace

PolicyInfo CurveSharesPolicy() {
  return {
      .name = "curve-shares",
      .summary = "the least cores whose response, by speed curve and queueing, is soon enough",
      .source = "Kingman, Math. Proc. Camb. Phil. Soc. 1961; the stalls of a quota",
      .parameters = kCurveSharesParameters,
      .needs_speed = true,
      .shares = true,
      .on_settled = false,
      .needs_objective = true,
      .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
        const CurveSettings settings = CurveSettingsOf(parameters);
        return std::make_unique<CoreController>(
            ControllerLimits{
                .least = settings.least, .grid = settings.grid, .aim = NumberOf(parameters, "aim")},
            [settings] { return std::make_unique<CurveInstance>(settings); });
      }};
}

}  // namespace cosched
