#include <algorithm>
#include <cmath>

#include "traces/generators/generated_clock.h"
#include "traces/generators/variates.h"

namespace cosched {
namespace {

using Scenario = LoadGenSpec::Scenario;

// LoadGen asks for more samples than the expected rate needs, so that the run is not too short.
constexpr double kOfflineSlack = 1.1;

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
    const int64_t least =
        spec_.scenario == Scenario::kOffline ? 1 : std::max(spec_.min_query_count, int64_t{1});
    if (queries_ >= least &&
        (spec_.scenario == Scenario::kOffline ||
         clock_.Now().count() >= spec_.min_duration_s * kNanosecondsPerSecond)) {
      return false;
    }
    ++queries_;
    left_ = samples_;
    return true;
  }

  double GapToNext() {
    if (spec_.scenario == Scenario::kServer)
      return StandardExponential(random_) * (kNanosecondsPerSecond / spec_.target_qps);
    return spec_.latency_s * kNanosecondsPerSecond;
  }

  LoadGenSpec spec_;
  Random random_;
  GeneratedClock clock_;
  int64_t samples_ = 1;  // Of each query.
  int64_t queries_ = 0;  // Issued.
  int64_t left_ = 0;     // Samples of this query.
};

}  // namespace

std::unique_ptr<ArrivalProcess> MakeLoadGen(const LoadGenSpec& spec, const Random& random) {
  return std::make_unique<LoadGen>(spec, random.Derive("schedule"));
}

}  // namespace cosched
