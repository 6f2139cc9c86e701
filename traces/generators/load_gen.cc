#include <algorithm>
#include <array>
#include <cmath>

#include "traces/generators/generated_clock.h"
#include "traces/generators/variates.h"

namespace cosched {
namespace {

using Scenario = LoadGenSpec::Scenario;

// LoadGen asks for more samples than the expected rate needs, so that the run is not too short.
constexpr double kOfflineSlack = 1.1;

struct NamedScenario {
  Scenario scenario;
  std::string_view name;
};
constexpr std::array kScenarios = {NamedScenario{Scenario::kSingleStream, "SingleStream"},
                                   NamedScenario{Scenario::kMultiStream, "MultiStream"},
                                   NamedScenario{Scenario::kServer, "Server"},
                                   NamedScenario{Scenario::kOffline, "Offline"}};

class LoadGen final : public ArrivalProcess {
 public:
  LoadGen(const LoadGenSpec& spec, const Random& random) : spec_(spec), random_(random) {
    if (spec.scenario == Scenario::kMultiStream) samples_ = spec.samples_per_query;
    if (spec.scenario == Scenario::kOffline) {
      const double wanted = kOfflineSlack * spec.min_duration_s * spec.target_qps;
      samples_ = std::max({spec.min_query_count, static_cast<int64_t>(wanted), int64_t{1}});
    }
  }

  bool Next(ProcessArrival* arrival) override {
    if (left_ == 0 && !NextQuery()) return false;
    --left_;
    arrival->time = clock_.Now();
    if (spec_.scenario == Scenario::kSingleStream || spec_.scenario == Scenario::kMultiStream)
      arrival->service = Duration(static_cast<int64_t>(spec_.latency_s * kNanosecondsPerSecond));
    return true;
  }

 private:
  // The first query is issued at 0.
  bool NextQuery() {
    if (queries_ > 0 && !clock_.Advance(GapToNext())) return false;
    if (Ended()) return false;
    ++queries_;
    left_ = samples_;
    return true;
  }

  bool Ended() const {
    if (queries_ == 0) return false;
    if (spec_.scenario == Scenario::kOffline) return true;
    const double now_s = static_cast<double>(clock_.Now().count()) / kNanosecondsPerSecond;
    if (spec_.max_query_count > 0 && queries_ >= spec_.max_query_count) return true;
    if (spec_.max_duration_s > 0 && now_s >= spec_.max_duration_s) return true;
    return queries_ >= spec_.min_query_count && now_s >= spec_.min_duration_s;
  }

  double GapToNext() {
    if (spec_.scenario == Scenario::kServer)
      return StandardExponential(random_) * (kNanosecondsPerSecond / spec_.target_qps);
    return spec_.latency_s * kNanosecondsPerSecond;
  }

  LoadGenSpec spec_;
  Random random_;
  GeneratedClock clock_;
  int64_t samples_ = 1;  // Samples of each query.
  int64_t queries_ = 0;  // Issued.
  int64_t left_ = 0;     // Samples of this query.
};

}  // namespace

std::string_view ToString(Scenario scenario) {
  for (const NamedScenario& known : kScenarios) {
    if (known.scenario == scenario) return known.name;
  }
  return "";
}

bool ParseScenario(std::string_view text, Scenario* result) {
  for (const NamedScenario& known : kScenarios) {
    if (known.name != text) continue;
    *result = known.scenario;
    return true;
  }
  return false;
}

std::string ScenarioNames() {
  std::string names;
  for (const NamedScenario& known : kScenarios)
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

std::unique_ptr<ArrivalProcess> MakeLoadGen(const LoadGenSpec& spec, const Random& random) {
  return std::make_unique<LoadGen>(spec, random.Derive("schedule"));
}

}  // namespace cosched
