#include <functional>
#include <queue>
#include <string>
#include <utility>

#include "engine/base/check.h"
#include "traces/generators/generated_clock.h"

namespace cosched {
namespace {

class ClosedLoop final : public ArrivalProcess {
 public:
  ClosedLoop(const ClosedLoopSpec& spec, const Random& random)
      : service_(spec.service), think_(spec.think) {
    for (int user = 0; user < spec.users; ++user) {
      users_.push_back({random.Derive("user " + std::to_string(user)), {}});
      Think(static_cast<size_t>(user));
    }
  }

  bool Next(ProcessArrival* arrival) override {
    if (next_.empty()) return false;
    const auto [time, user] = next_.top();
    next_.pop();
    const double service = service_.Draw(users_[user].random) * kNanosecondsPerSecond;
    arrival->time = Duration(time);
    if (users_[user].clock.Advance(service)) {
      arrival->service = users_[user].clock.Now() - arrival->time;
      Think(user);
    } else {
      arrival->service = kLongestTrace;
    }
    return true;
  }

 private:
  struct User {
    Random random;
    GeneratedClock clock;
  };
  using Coming = std::pair<int64_t, size_t>;  // Nanoseconds, user: ties go by number.

  void Think(size_t user) {
    User& of = users_[user];
    if (of.clock.Advance(think_.Draw(of.random) * kNanosecondsPerSecond))
      next_.push({of.clock.Now().count(), user});
  }

  Sampler service_;
  Sampler think_;
  std::vector<User> users_;
  std::priority_queue<Coming, std::vector<Coming>, std::greater<>> next_;
};

}  // namespace

std::unique_ptr<ArrivalProcess> MakeClosedLoop(const ClosedLoopSpec& spec, const Random& random) {
  CHECK(spec.users >= 1);
  return std::make_unique<ClosedLoop>(spec, random);
}

}  // namespace cosched
