// Sponge: every period the least cores, and then the least batch, with which all that came in the
// last period would have been answered in time, had it come at once: with batches of b requests
// that take l(b, c) each (policies/latency_model.h), the i-th of them has
//
//   l(b, c) (i + 1) + what it waited before <= 0.9 of the objective
//
// and if nothing is enough for that, it keeps what it has, as published. Source: Razavi, Ghafouri,
// Mühlhäuser, Jamshidi, Wang, "Sponge: Inference Serving with Dynamic SLOs Using In-Place Vertical
// Scaling", EuroMLSys 2024, and its published code. A policy cannot choose how many requests a
// service computes at once, so b is 1 here; requests go first come first served, as in the code.

#include <array>
#include <cmath>
#include <optional>

#include "policies/control_period.h"
#include "policies/latency_model.h"
#include "policies/registry.h"

namespace cosched {
namespace {

struct SpongeSettings {
  double period_s = 0;
  CpuShare least, grid;
};

class SpongeInstance final : public InstanceController {
 public:
  explicit SpongeInstance(const SpongeSettings& settings)
      : settings_(settings), period_(settings.period_s) {}

  double Next(const InstanceWindow& window) override {
    latency_.Add(window, 1);
    if (!wanted_) wanted_ = window.job.amount.Cores();
    const std::optional<InstancePeriod> period = period_.Add(window);
    if (!period) return *wanted_;
    const double requests = period->dispatched / period->length_s * settings_.period_s;
    const std::optional<CoresAndBatch> least =
        LeastCores(latency_.Model(),
                   {.requests = static_cast<int64_t>(std::ceil(requests - kRounding)),
                    .waited_s = latency_.WaitedS(),
                    .objective_s = window.objective_s},
                   {.grid = settings_.grid,
                    .least = settings_.least,
                    .most = CpuShare::OfCores(window.job.request.max)});
    if (least) wanted_ = least->cores.Cores();
    return *wanted_;
  }
  void Got(double) override {}

 private:
  static constexpr double kRounding = 1e-9;
  const SpongeSettings settings_;
  ControlPeriod period_;
  LatencyFit latency_;
  std::optional<double> wanted_;
};

constexpr std::array<PolicyParameter, 4> kSpongeParameters{{
    {"period_s", "1", "number > 0 and <= 86400", "between decisions"},
    {"initial", "1", "number >= 0.01 and <= 4096", "cores of an instance at first"},
    {"least", "1", "number >= 0.01 and <= 4096", "cores of an instance, at least"},
    {"grid", "1", "number >= 0.001 and <= 16", "cores are multiples of it"},
}};

}  // namespace

PolicyInfo SpongePolicy() {
  return {
      .name = "sponge",
      .summary = "the least cores that answer a second's requests in time, had they come at once",
      .source = "Razavi et al., EuroMLSys 2024 (Sponge), in batches of one",
      .parameters = kSpongeParameters,
      .needs_speed = true,
      .shares = true,
      .on_settled = false,
      .needs_objective = true,
      .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
        const SpongeSettings settings = {.period_s = NumberOf(parameters, "period_s"),
                                         .least = ShareOf(parameters, "least"),
                                         .grid = ShareOf(parameters, "grid")};
        const ControllerLimits limits = {.least = settings.least,
                                         .grid = settings.grid,
                                         .initial = ShareOf(parameters, "initial")};
        return std::make_unique<CoreController>(
            limits, [settings] { return std::make_unique<SpongeInstance>(settings); });
      }};
}

}  // namespace cosched
