#include "experiments/hosts/simulation/speed_model.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/portable_math.h"

namespace cosched {
namespace {

// In a straight line between the neighbours. REQUIRES: x within the points.
double Interpolate(const std::map<double, double>& points, double x) {
  const auto above = points.lower_bound(x);
  if (above->first == x || above == points.begin()) return above->second;
  const auto below = std::prev(above);
  const double share = (x - below->first) / (above->first - below->first);
  return below->second + share * (above->second - below->second);
}

}  // namespace

SpeedModel::SpeedModel(const ProgramProfile& program) : law_(program.law) {
  for (const SpeedPoint& point : program.alone) {
    exact_[{point.cores, point.threads}] = point.step_s.value;
    if (ThreadsOf(point.threads) == point.cores)
      by_inter_[point.threads.inter].speed[point.cores] = 1 / point.step_s.value;
  }
  // The mean over numbers of cores, where a ratio was measured at several.
  std::map<std::pair<int, double>, std::vector<double>> penalties;
  for (const SpeedPoint& point : program.alone) {
    const auto inter = by_inter_.find(point.threads.inter);
    const int threads = ThreadsOf(point.threads);
    if (threads <= point.cores || inter == by_inter_.end()) continue;
    if (point.cores > inter->second.speed.rbegin()->first) continue;
    const double ratio = PortableLog2(static_cast<double>(threads) / point.cores);
    penalties[{point.threads.inter, ratio}].push_back(point.step_s.value *
                                                      Speed(inter->second, point.cores).value);
  }
  for (auto& [inter, points] : by_inter_) points.penalty[0] = 1;
  for (const auto& [key, values] : penalties) {
    double sum = 0;
    for (const double value : values) sum += value;
    by_inter_[key.first].penalty[key.second] = sum / static_cast<double>(values.size());
  }
  for (const CrowdingPoint& point : program.crowding) {
    Points& losses = losses_[PortableLog2(point.threads)];
    losses[0] = 1;
    losses[point.others] = point.loss.value;
  }
  CHECK(by_inter_.contains(1)) << program.program << " has no point of 1 core and 1 thread";
}

int SpeedModel::MeasuredCores() const {
  return static_cast<int>(by_inter_.at(1).speed.rbegin()->first);
}

SpeedModel::Value SpeedModel::Speed(const Inter& inter, double cores) const {
  const auto& [fewest, slowest] = *inter.speed.begin();
  const auto& [most, fastest] = *inter.speed.rbegin();
  if (cores < fewest) return {slowest * cores / fewest, false};
  if (cores > most) return {fastest * law_.SpeedUp(cores) / law_.SpeedUp(most), true};
  return {Interpolate(inter.speed, cores), false};
}

SpeedModel::Value SpeedModel::Penalty(const Inter& inter, double threads_per_core) {
  const double ratio = PortableLog2(std::max(1.0, threads_per_core));
  const double most = inter.penalty.rbegin()->first;
  return {Interpolate(inter.penalty, std::min(ratio, most)), ratio > most};
}

SpeedModel::StepTime SpeedModel::Step(Split threads, double cores, double threads_per_core,
                                      bool penalty) const {
  const int count = ThreadsOf(threads);
  const auto known = by_inter_.find(threads.inter);
  const Inter& inter = known == by_inter_.end() ? by_inter_.at(1) : known->second;
  const Value speed = Speed(inter, std::min<double>(cores, count));
  int beyond = (known == by_inter_.end() ? kSplit : 0) | (speed.beyond ? kCores : 0);
  double seconds = 1 / speed.value;
  if (penalty) {
    const Value slower = Penalty(inter, threads_per_core);
    seconds *= slower.value;
    beyond |= slower.beyond ? kThreadsPerCore : 0;
  }
  return {seconds, beyond};
}

SpeedModel::Value SpeedModel::Loss(double threads, double others) const {
  const auto of = [others](const Points& losses) {
    const double most = losses.rbegin()->first;
    return Value{Interpolate(losses, std::min(others, most)), others > most};
  };
  const double x = PortableLog2(threads);
  const auto above = losses_.lower_bound(x);
  if (above == losses_.end()) return of(losses_.rbegin()->second);
  const Value more = of(above->second);
  if (above == losses_.begin() || above->first == x) return more;
  const auto below = std::prev(above);
  const Value fewer = of(below->second);
  const double share = (x - below->first) / (above->first - below->first);
  return {fewer.value + share * (more.value - fewer.value), fewer.beyond || more.beyond};
}

SpeedModel::StepTime SpeedModel::Shared(Split threads, int cores, double rate,
                                        double others) const {
  StepTime step = Alone(threads, cores);
  const Value loss = Loss(ThreadsOf(threads), others);
  step.seconds *= loss.value / rate;
  step.beyond |= loss.beyond ? kThreadsPerCore : 0;
  return step;
}

SpeedModel::StepTime SpeedModel::Alone(Split threads, int cores) const {
  if (const auto point = exact_.find({cores, threads}); point != exact_.end())
    return {point->second, kNothing};
  return Step(threads, cores, static_cast<double>(ThreadsOf(threads)) / cores, true);
}

SpeedCurve SpeedModel::Curve(int cores) const {
  std::vector<double> speeds;
  for (int k = 1; k <= cores; ++k) speeds.push_back(1 / Alone(DefaultSplit(k), k).seconds);
  return SpeedCurve(std::move(speeds));
}

SpeedCurve SpeedModel::CurveWith(Split threads, int cores) const {
  std::vector<double> speeds;
  for (int k = 1; k <= cores; ++k) speeds.push_back(1 / Alone(threads, k).seconds);
  return SpeedCurve(std::move(speeds));
}

}  // namespace cosched
