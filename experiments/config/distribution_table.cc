#include "experiments/config/distribution_table.h"

#include <fmt/format.h>

#include <string>

namespace cosched {
namespace {

using DistributionKind = Distribution::Kind;

constexpr double kMaxGapSeconds = 86'400;
constexpr double kMaxCv = 100;       // Of a gamma.
constexpr double kMinShape = 0.1;    // Of a Weibull, whose deviation is 430 means there.
constexpr double kMinPareto = 1.01;  // The mean is infinite at 1.
constexpr double kMaxShape = 1000;

// A key that belongs to another distribution, and does not say that it has no effect.
void RefuseKey(const TomlTable& table, const std::string& key, bool belongs,
               std::string_view chosen, const std::string& owners) {
  if (belongs || !table.Has(key)) return;
  table.Fail(key, fmt::format("has no meaning for the distribution \"{}\"", chosen),
             fmt::format("only with distribution = {}", owners));
}

}  // namespace

Distribution ReadDistribution(const TomlTable& table, const DrawnQuantity& quantity,
                              const Distribution& fallback) {
  const std::string mean = fmt::format("mean{}", quantity.unit);
  const std::string sd = fmt::format("sd{}", quantity.unit);
  table.AllowOnly({"distribution", mean, sd, "cv", "shape"});
  Distribution read = fallback;
  const std::string name = table.String("distribution", std::string(ToString(fallback.kind)));
  if (!ParseDistribution(name, &read.kind))
    table.Fail("distribution", fmt::format("is \"{}\"", name), DistributionNames());
  read.mean = table.Number(mean, fallback.mean, 0, quantity.max);
  const bool normal = read.kind == DistributionKind::kNormal;
  read.sd = table.Number(sd, normal ? fallback.sd : 0, 0, quantity.max);
  if (read.sd != 0) RefuseKey(table, sd, normal, name, "\"normal\" (or 0)");
  RefuseKey(table, "cv", read.kind == DistributionKind::kGamma, name, "\"gamma\"");
  const bool shaped =
      read.kind == DistributionKind::kWeibull || read.kind == DistributionKind::kPareto;
  RefuseKey(table, "shape", shaped, name, "\"weibull\" or \"pareto\"");
  if (read.kind == DistributionKind::kGamma) read.cv = table.Number("cv", {}, 0.01, kMaxCv);
  if (shaped) {
    const double least = read.kind == DistributionKind::kPareto ? kMinPareto : kMinShape;
    read.shape = table.Number("shape", {}, least, kMaxShape);
  }
  return read;
}

Distribution ReadGap(const TomlTable& table, const Distribution& fallback) {
  return ReadDistribution(table, {.unit = "_s", .max = kMaxGapSeconds}, fallback);
}

}  // namespace cosched
