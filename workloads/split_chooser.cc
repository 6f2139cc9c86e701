#include "workloads/split_chooser.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace cosched {
namespace {

// A visit lasts so many steps and so long, for steps much shorter than a scheduler's tick.
constexpr int kSteps = 2;
constexpr double kSeconds = 0.01;
// The first step of a visit, in which threads still move, counts only if it is so long that this
// does not matter.
constexpr double kLongStep = 0.05;
// Candidates so much slower than the best are left out after each round; after the last all but the
// best. What is wrongly left out in a round was measured to be slower by that much in every round
// before.
constexpr double kMargins[] = {0.3, 0.15, 0.08, 0.05, 0.03, 0.03, 0.0};

}  // namespace

std::vector<int> PowersUpTo(int most) {
  std::vector<int> powers;
  for (int power = 1; power < most; power *= 2) powers.push_back(power);
  powers.push_back(most);
  return powers;
}

double SplitChooser::Candidate::Best() const {
  return *std::min_element(visits.begin(), visits.end());
}

Split SplitChooser::Next(int cores) {
  CHECK(cores >= 1) << "a split of " << cores << " cores";
  if (cores != cores_) Restart(cores);
  return candidates_[current_].split;
}

void SplitChooser::Restart(int cores) {
  cores_ = cores;
  candidates_.clear();
  const int widest = std::max(1, static_cast<int>(std::min<double>(
                                     std::ceil(width_ - 0.05), std::min(cores, capacity_.inter))));
  std::vector<int> intras = PowersUpTo(std::min(cores, capacity_.intra));
  std::reverse(intras.begin(), intras.end());  // The default split first.
  for (int inter : PowersUpTo(widest)) {
    for (int intra : intras) {
      for (int open : PowersUpTo(most_open_)) candidates_.push_back({{inter, intra}, open});
    }
  }
  current_ = 0;
  round_ = 0;
  arrived_ = false;
  steps_ = 0;
  seconds_ = 0;
}

void SplitChooser::Note(double seconds) {
  if (Settled()) return;
  if (!arrived_ && seconds < kLongStep) {
    arrived_ = true;
    return;
  }
  arrived_ = true;
  ++steps_;
  seconds_ += seconds;
  if (seconds < kLongStep && (steps_ < kSteps || seconds_ < kSeconds)) return;
  EndVisit();
}

void SplitChooser::EndVisit() {
  candidates_[current_].visits.push_back(seconds_ / steps_);
  arrived_ = false;
  steps_ = 0;
  seconds_ = 0;
  if (++current_ == candidates_.size()) EndRound();
}

// The fastest visit of each counts: what disturbs a machine only ever adds.
void SplitChooser::EndRound() {
  current_ = 0;
  const auto faster = [](const Candidate& a, const Candidate& b) { return a.Best() < b.Best(); };
  const Candidate best = *std::min_element(candidates_.begin(), candidates_.end(), faster);
  const double margin = kMargins[round_++];
  if (margin == 0) {
    candidates_ = {best};
    return;
  }
  std::erase_if(candidates_, [&](const Candidate& candidate) {
    return candidate.Best() > best.Best() * (1 + margin);
  });
}

}  // namespace cosched
