#include "engine/base/check.h"
#include "traces/generators/generated_clock.h"
#include "traces/generators/variates.h"

namespace cosched {
namespace {

class Bursts final : public ArrivalProcess {
 public:
  Bursts(const BurstsSpec& spec, const Random& random)
      : spec_(spec), pause_(spec.pause), random_(random) {}

  bool Next(ProcessArrival* arrival) override {
    const double gap_s = Continues() ? spec_.gap_s : pause_.Draw(random_);
    if (!clock_.Advance(gap_s * kNanosecondsPerSecond)) return false;
    arrival->time = clock_.Now();
    return true;
  }

 private:
  // Does this burst have another arrival? Geometric sizes are decided one by one.
  bool Continues() {
    if (spec_.geometric) {
      const bool first = !begun_;
      begun_ = true;
      return !first && random_.Uniform() * spec_.mean_size >= 1;
    }
    if (left_ > 0) {
      --left_;
      return true;
    }
    left_ = static_cast<int64_t>(spec_.mean_size) - 1;
    return false;
  }

  BurstsSpec spec_;
  Sampler pause_;
  Random random_;
  GeneratedClock clock_;
  bool begun_ = false;
  int64_t left_ = 0;  // Arrivals left of this burst; where sizes are fixed.
};

}  // namespace

std::unique_ptr<ArrivalProcess> MakeBursts(const BurstsSpec& spec, const Random& random) {
  CHECK(spec.mean_size >= 1 && spec.gap_s >= 0);
  return std::make_unique<Bursts>(spec, random.Derive("bursts"));
}

}  // namespace cosched
