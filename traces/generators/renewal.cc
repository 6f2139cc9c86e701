#include "traces/generators/generated_clock.h"
#include "traces/generators/variates.h"

namespace cosched {
namespace {

class Renewal final : public ArrivalProcess {
 public:
  Renewal(const RenewalSpec& spec, const Random& random) : sampler_(spec.gap), random_(random) {}

  bool Next(ProcessArrival* arrival) override {
    if (!clock_.Advance(sampler_.Draw(random_) * kNanosecondsPerSecond)) return false;
    arrival->time = clock_.Now();
    return true;
  }

 private:
  Sampler sampler_;
  Random random_;
  GeneratedClock clock_;
};

}  // namespace

std::unique_ptr<ArrivalProcess> MakeRenewal(const RenewalSpec& spec, const Random& random) {
  return std::make_unique<Renewal>(spec, random.Derive("gaps"));
}

}  // namespace cosched
