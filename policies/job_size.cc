#include "policies/job_size.h"

#include <algorithm>
#include <map>

#include "engine/base/check.h"
#include "engine/base/portable_math.h"

namespace cosched {

double SecondsLeft(const MachineView& view, const JobView& job, int cores) {
  CHECK(job.speed && job.steps > 0) << "the size of job " << job.id.value << " is not known";
  return view.StepsLeft(job) / job.speed->At(cores);
}

double FitSpeedExponent(const std::vector<const JobView*>& jobs, int cores) {
  std::map<const SpeedCurve*, int> count;
  std::vector<const SpeedCurve*> curves;  // Each once, in an order that no address decides.
  for (const JobView* job : jobs) {
    if (++count[job->speed.get()] == 1) curves.push_back(job->speed.get());
  }
  double xy = 0, xx = 0;
  for (const SpeedCurve* curve : curves) {
    for (int k = 2; k <= std::min(cores, curve->Size()); ++k) {
      const double x = PortableLog(k);
      xy += count[curve] * x * PortableLog(curve->At(k) / curve->At(1));
      xx += count[curve] * x * x;
    }
  }
  constexpr double kLeast = 0.01, kMost = 0.99;
  return xx > 0 ? std::clamp(xy / xx, kLeast, kMost) : kLeast;
}

}  // namespace cosched
