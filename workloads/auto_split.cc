#include "workloads/auto_split.h"

namespace cosched {

void AutoSplit::BeginStep() {
  const WantedThreads wanted = session_.Pools().Wanted();
  const int cores = wanted.cores.Count();
  if (cores > 0 && !wanted.paused) {
    split_ = chooser_.Next(cores);
    if (wanted.split != split_) {
      session_.Resize({.inter = split_.inter, .intra = split_.intra, .cause = "auto"});
    }
  }
  begun_with_ = session_.Pools().Wanted();
  begun_ = std::chrono::steady_clock::now();
}

void AutoSplit::EndStep() {
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun_;
  const WantedThreads wanted = session_.Pools().Wanted();
  const bool undisturbed = !wanted.paused && !begun_with_.paused && wanted.split == split_ &&
                           wanted.cores == begun_with_.cores;
  if (undisturbed && !wanted.cores.Empty()) chooser_.Note(taken.count());
}

}  // namespace cosched
