#include <cmath>
#include <utility>

#include "engine/base/check.h"
#include "traces/generators/generated_clock.h"
#include "traces/generators/variates.h"

namespace cosched {
namespace {

using Matrix = std::vector<std::vector<double>>;

Matrix TransitionsOf(const MmppSpec& spec) {
  if (!spec.transitions.empty()) return spec.transitions;
  const size_t n = spec.states.size();
  Matrix cycle(n, std::vector<double>(n, 0));
  for (size_t i = 0; i < n; ++i) cycle[i][(i + 1) % n] = 1;
  return cycle;
}

// Where the chain is found at any moment: pi Q = 0 with the sum 1, by elimination.
std::vector<double> StationaryOf(const MmppSpec& spec, const Matrix& transitions) {
  const size_t n = spec.states.size();
  Matrix equations(n, std::vector<double>(n + 1, 0));
  for (size_t from = 0; from < n; ++from) {
    for (size_t to = 0; to < n; ++to) {
      const double flow = transitions[from][to] / spec.states[from].mean_stay_s;
      equations[to][from] += flow;
      equations[from][from] -= flow;
    }
  }
  for (double& of_sum : equations[n - 1]) of_sum = 1;
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < n; ++row) {
      if (std::abs(equations[row][column]) > std::abs(equations[pivot][column])) pivot = row;
    }
    std::swap(equations[column], equations[pivot]);
    CHECK(equations[column][column] != 0) << "checked by whoever reads the specification";
    for (size_t row = 0; row < n; ++row) {
      if (row == column) continue;
      const double factor = equations[row][column] / equations[column][column];
      for (size_t k = column; k <= n; ++k) equations[row][k] -= factor * equations[column][k];
    }
  }
  std::vector<double> stationary(n);
  for (size_t i = 0; i < n; ++i) stationary[i] = equations[i][n] / equations[i][i];
  return stationary;
}

size_t Choose(const std::vector<double>& probabilities, Random& random) {
  double point = random.Uniform();
  size_t last = 0;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] <= 0) continue;
    last = i;
    point -= probabilities[i];
    if (point < 0) break;
  }
  return last;
}

class Mmpp final : public ArrivalProcess {
 public:
  Mmpp(const MmppSpec& spec, const Random& random)
      : spec_(spec), transitions_(TransitionsOf(spec)), random_(random) {
    Enter(Choose(StationaryOf(spec, transitions_), random_));
  }

  // In a state, the next arrival competes with the state's end. An arrival that would come after it
  // is drawn anew in the next state: exponential gaps have no memory.
  bool Next(ProcessArrival* arrival) override {
    while (true) {
      const double rate = spec_.states[state_].rate_per_s;
      const double gap =
          rate > 0 ? StandardExponential(random_) * (kNanosecondsPerSecond / rate) : left_;
      if (rate > 0 && gap < left_) {
        left_ -= gap;
        if (!clock_.Advance(gap)) return false;
        arrival->time = clock_.Now();
        return true;
      }
      if (!clock_.Advance(left_)) return false;
      Enter(Choose(transitions_[state_], random_));
    }
  }

 private:
  void Enter(size_t state) {
    state_ = state;
    left_ = StandardExponential(random_) * spec_.states[state].mean_stay_s * kNanosecondsPerSecond;
  }

  MmppSpec spec_;
  Matrix transitions_;
  Random random_;
  GeneratedClock clock_;
  size_t state_ = 0;
  double left_ = 0;  // Nanoseconds of the stay in this state.
};

}  // namespace

std::unique_ptr<ArrivalProcess> MakeMmpp(const MmppSpec& spec, const Random& random) {
  CHECK(spec.states.size() >= 2);
  return std::make_unique<Mmpp>(spec, random.Derive("states and gaps"));
}

}  // namespace cosched
