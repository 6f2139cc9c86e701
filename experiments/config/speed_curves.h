#pragma once
// The speed curves that policies are told of (policies/speed_curve.h), from a profile; each is made
// once and shared by the jobs that have it. Thread-safe.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "engine/base/split.h"
#include "policies/speed_curve.h"
#include "workloads/profile.h"

namespace cosched {

class SpeedCurves {
 public:
  // cores: of the experiment; curves go up to them.
  SpeedCurves(std::shared_ptr<const Profile> profile, int cores)
      : profile_(std::move(profile)), cores_(cores) {}

  // A program's curve by itself: with threads that follow its cores or, if rigid, with `threads`.
  // nullptr if the profile does not have it.
  std::shared_ptr<const SpeedCurve> Of(const std::string& program, Elasticity elasticity,
                                       Split threads) const;

 private:
  const std::shared_ptr<const Profile> profile_;
  const int cores_;
  mutable std::mutex mutex_;
  // By program and threads; {0, 0} = following.
  mutable std::map<std::pair<std::string, Split>, std::shared_ptr<const SpeedCurve>> curves_;
};

}  // namespace cosched
