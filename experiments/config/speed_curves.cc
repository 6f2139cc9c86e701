#include "experiments/config/speed_curves.h"

#include "experiments/hosts/simulation/speed_model.h"

namespace cosched {

std::shared_ptr<const SpeedCurve> SpeedCurves::Of(const std::string& program, Elasticity elasticity,
                                                  Split threads) const {
  const bool rigid = elasticity == Elasticity::kRigid;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [curve, is_new] =
      curves_.try_emplace({program, rigid ? threads : Split{0, 0}}, nullptr);
  const ProgramProfile* measured = is_new ? profile_->Find(program) : nullptr;
  if (measured != nullptr) {
    const SpeedModel model(*measured);
    curve->second = std::make_shared<const SpeedCurve>(rigid ? model.CurveWith(threads, cores_)
                                                             : model.Curve(cores_));
  }
  return curve->second;
}

}  // namespace cosched
