#pragma once
// Gives a session the split that runs its steps fastest (split = "auto"; SplitChooser says how),
// and looks again when the number of granted cores changes. Results do not change with the split:
// the session's capacity decides how work is divided. Called by jobs around their steps, on their
// thread; others may resize the session at any time, but a split that they ask for does not last.

#include <chrono>

#include "engine/session/session.h"
#include "workloads/split_chooser.h"

namespace cosched {

// What follows "with split = auto" where `deterministic = false` is refused.
inline constexpr char kWhyTriedSplitsAreDeterministic[] =
    "each split that is tried would be measured with the making of its kernels";

class AutoSplit {
 public:
  // `width` as in Session::GraphWidth. The session outlives it.
  AutoSplit(Session* session, double width)
      : session_(*session), chooser_(width, session->Pools().Capacity()) {}

  void BeginStep();
  void EndStep();
  bool Settled() const { return chooser_.Settled(); }
  Split Chosen() const { return chooser_.Chosen(); }  // REQUIRES: Settled().

 private:
  Session& session_;
  SplitChooser chooser_;
  Split split_;
  WantedThreads begun_with_;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace cosched
