#include "experiments/config/distribution_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cosched {
namespace {

using DistributionKind = Distribution::Kind;

constexpr double kMaxGapSeconds = 86'400;
constexpr double kMinCv = 0.01;
constexpr double kMaxCv = 100;       // A gamma's.
constexpr double kMinShape = 0.1;    // A Weibull's, whose deviation is 430 means there.
constexpr double kMinPareto = 1.01;  // The mean is infinite at 1.
constexpr double kMaxShape = 1000;

using DistributionKey = SectionKey<Distribution>;

// A key that belongs to another distribution must not have no effect without a word.
auto OnlyOf(std::vector<DistributionKind> owners, const std::string& names) {
  return [owners = std::move(owners),
          names](const Distribution& drawn) -> std::optional<DistributionKey::Refusal> {
    if (std::find(owners.begin(), owners.end(), drawn.kind) != owners.end()) return {};
    return DistributionKey::Refusal{
        fmt::format("has no meaning for the distribution \"{}\"", ToString(drawn.kind)),
        fmt::format("only with distribution = {}", names)};
  };
}

void ReadDistributionKind(const DistributionKey& key, const TomlTable& table, Distribution* drawn) {
  const std::string name = table.String(key.help.name, std::string(ToString(drawn->kind)));
  if (!ParseDistribution(name, &drawn->kind))
    table.Fail(key.help.name, fmt::format("is \"{}\"", name), DistributionNames());
}

// Others than a normal one may say that it is 0.
DistributionKey::Reader DeviationUpTo(double max) {
  return [max](const DistributionKey& key, const TomlTable& table, Distribution* drawn) {
    const bool normal = drawn->kind == DistributionKind::kNormal;
    drawn->sd = table.Number(key.help.name, normal ? drawn->sd : 0, 0, max);
    if (normal || drawn->sd == 0) return;
    const auto refusal = OnlyOf({DistributionKind::kNormal}, "\"normal\" (or 0)")(*drawn);
    table.Fail(key.help.name, refusal->problem, refusal->allowed);
  };
}

void ReadShape(const DistributionKey& key, const TomlTable& table, Distribution* drawn) {
  const double least = drawn->kind == DistributionKind::kPareto ? kMinPareto : kMinShape;
  drawn->shape = table.Number(key.help.name, {}, least, kMaxShape);
}

}  // namespace

Section<Distribution> DistributionSection(const DrawnQuantity& quantity) {
  using D = Distribution;
  return {
      "{ distribution = \"…\" }",
      "a distribution that is drawn from",
      {DistributionKey::Read({.name = "distribution",
                              .type = "word",
                              .fallback = {},
                              .range = DistributionNames(),
                              .meaning = "which one"},
                             ReadDistributionKind,
                             [](const D& drawn) { return ToString(drawn.kind); }),
       DistributionKey::Number(fmt::format("mean{}", quantity.unit), &D::mean, 0, quantity.max,
                               "its mean"),
       DistributionKey::Read({.name = fmt::format("sd{}", quantity.unit),
                              .type = "number",
                              .fallback = {},
                              .range = NumberRange(0, quantity.max),
                              .meaning = "standard deviation of a normal one"},
                             DeviationUpTo(quantity.max), [](const D& drawn) { return drawn.sd; }),
       DistributionKey::Read(
           {.name = "cv",
            .type = "number",
            .fallback = "required with gamma",
            .range = NumberRange(kMinCv, kMaxCv),
            .meaning = "coefficient of variation of a gamma"},
           [](const DistributionKey& key, const TomlTable& table, D* drawn) {
             drawn->cv = table.Number(key.help.name, {}, kMinCv, kMaxCv);
           },
           [](const D& drawn) { return drawn.cv; })
           .RefusedWhere(OnlyOf({DistributionKind::kGamma}, "\"gamma\"")),
       DistributionKey::Read(
           {.name = "shape",
            .type = "number",
            .fallback = "required with these",
            .range = fmt::format("{} (pareto: {}) to {}", kMinShape, kMinPareto, kMaxShape),
            .meaning = "of a weibull or pareto"},
           ReadShape, [](const D& drawn) { return drawn.shape; })
           .RefusedWhere(OnlyOf({DistributionKind::kWeibull, DistributionKind::kPareto},
                                "\"weibull\" or \"pareto\""))}};
}

Distribution ReadDistribution(const TomlTable& table, const DrawnQuantity& quantity,
                              const Distribution& fallback) {
  Distribution drawn = fallback;
  DistributionSection(quantity).Read(table, &drawn);
  return drawn;
}

Section<Distribution> GapSection() {
  return DistributionSection({.unit = "_s", .max = kMaxGapSeconds});
}

Distribution ReadGap(const TomlTable& table, const Distribution& fallback) {
  return ReadDistribution(table, {.unit = "_s", .max = kMaxGapSeconds}, fallback);
}

}  // namespace cosched
