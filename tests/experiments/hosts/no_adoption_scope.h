#pragma once
// For children that are to become somebody else's, in tests and benchmarks of who adopts whom.

#include <sys/prctl.h>

#include "experiments/hosts/process_tree.h"

namespace cosched::testing {

// While it lives, this process adopts nobody. No other thread of it may start or lose tenants.
class NoAdoptionScope {
 public:
  NoAdoptionScope() : adopted_(AdoptsOrphans()) {
    if (adopted_) prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  ~NoAdoptionScope() {
    if (adopted_) prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  NoAdoptionScope(const NoAdoptionScope&) = delete;
  NoAdoptionScope& operator=(const NoAdoptionScope&) = delete;

 private:
  const bool adopted_;
};

}  // namespace cosched::testing
