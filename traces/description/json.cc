#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "traces/description/text.h"

namespace cosched {
namespace {

using PlainJson = nlohmann::json;

constexpr size_t kListedTenants = 1000;
constexpr size_t kMostDistributionPoints = 500;  // Points of a distribution.
constexpr std::array<std::pair<const char*, double>, 10> kPercentiles = {{{"p1", 0.01},
                                                                          {"p5", 0.05},
                                                                          {"p10", 0.1},
                                                                          {"p25", 0.25},
                                                                          {"p50", 0.5},
                                                                          {"p75", 0.75},
                                                                          {"p90", 0.9},
                                                                          {"p95", 0.95},
                                                                          {"p99", 0.99},
                                                                          {"p99.9", 0.999}}};

// An integer as one, as long as a reader can take it as one.
PlainJson Exact(std::optional<Int128> integer, double value) {
  constexpr auto kLargest = std::numeric_limits<int64_t>::max();
  if (integer && *integer <= kLargest && *integer >= -kLargest)
    return static_cast<int64_t>(*integer);
  return value;
}

// unit: what the numbers are divided by; integers are told as such where it is 1.
PlainJson NumbersJson(const NumberStatistics& statistics, double unit) {
  PlainJson json = {{"count", statistics.count()}};
  if (statistics.count() == 0) return json;
  const auto exact = [&](std::optional<Int128> integer, double value) {
    return unit == 1 ? Exact(integer, value) : PlainJson(value / unit);
  };
  json["min"] = exact(statistics.IntegerMin(), statistics.Min());
  json["max"] = exact(statistics.IntegerMax(), statistics.Max());
  json["mean"] = statistics.Mean() / unit;
  json["sum"] = exact(statistics.IntegerSum(), statistics.Sum());
  for (const auto& [name, share] : kPercentiles)
    json["percentiles"][name] = statistics.Quantile(share) / unit;
  return json;
}

PlainJson WindowsJson(const WindowCounts::Summary& windows, int width_s) {
  return {{"width_s", width_s},
          {"windows", windows.windows},
          {"empty", windows.empty},
          {"busiest", windows.busiest},
          {"busiest_start_s", ToSeconds(windows.busiest_start)},
          {"dispersion", windows.dispersion}};
}

// [gap in seconds, share of gaps above it], thinned out evenly in the share's buckets.
PlainJson Survival(const NumberStatistics& gaps) {
  size_t buckets = 0;
  gaps.histogram().ForEach([&](double, double, int64_t) { ++buckets; });
  const size_t step = buckets / kMostDistributionPoints + 1;
  PlainJson points = PlainJson::array();
  int64_t below = 0;
  size_t bucket = 0;
  gaps.histogram().ForEach([&](double, double high, int64_t count) {
    below += count;
    if (++bucket % step != 0 && bucket + 2 * step < buckets) return;
    const double gap = std::min(std::floor(high), gaps.Max());
    points.push_back({gap * 1e-9, static_cast<double>(gaps.count() - below) /
                                      static_cast<double>(gaps.count())});
  });
  return points;
}

PlainJson GapsJson(const InterArrivalTimes& gaps) {
  PlainJson json = NumbersJson(gaps.statistics(), 1e9);
  json["unit"] = "s";
  json["cv"] = gaps.CoefficientOfVariation();
  json["tied"] = gaps.tied();
  json["largest_tie"] = gaps.LargestTie();
  json["longest"] = PlainJson::array();
  for (const InterArrivalTimes::Silence& silence : gaps.longest()) {
    json["longest"].push_back(
        {{"start_s", ToSeconds(silence.start)}, {"length_s", ToSeconds(silence.length)}});
  }
  json["share_above"] = Survival(gaps.statistics());
  return json;
}

PlainJson TenantsJson(const TenantShares::Summary& tenants) {
  PlainJson largest = PlainJson::array();
  for (const TenantShares::Share& share : tenants.largest)
    largest.push_back({{"tenant", share.tenant}, {"arrivals", share.arrivals}});
  return {{"tenants", tenants.tenants},
          {"exact", tenants.exact},
          {"too_low_by_at_most", tenants.too_low},
          {"largest", largest},
          {"others", tenants.others}};
}

}  // namespace

PlainJson DescriptionJson(const DescribedTrace& trace, const TraceDescription& description) {
  PlainJson json = {{"file", trace.file},
                    {"format", trace.format},
                    {"rows", trace.counts.rows},
                    {"skipped", trace.counts.skipped},
                    {"arrivals", description.arrivals()},
                    {"requests", description.requests()},
                    {"jobs", description.arrivals() - description.requests()}};
  if (trace.counts.skipped > 0) json["first_skipped"] = trace.counts.first_skipped;
  if (description.arrivals() == 0) return json;
  json["first_ns"] = description.first().count();
  json["span_ns"] = description.Span().count();
  json["span_s"] = ToSeconds(description.Span());
  json["mean_rate_per_s"] = description.MeanRate();
  json["windows"] = {WindowsJson(description.Seconds(), 1), WindowsJson(description.Minutes(), 60)};
  json["between_arrivals"] = GapsJson(description.gaps());
  if (description.NamesTenants())
    json["tenants"] = TenantsJson(description.Tenants(kListedTenants));
  json["numbers"] = PlainJson::array();
  for (const TraceDescription::Numbers& numbers : description.AllNumbers()) {
    PlainJson one = NumbersJson(*numbers.statistics, numbers.unit == "s" ? 1e9 : 1);
    one["name"] = numbers.name;
    one["unit"] = numbers.unit;
    one["is_column"] = numbers.is_column;
    one["missing"] = numbers.missing;
    one["not_numbers"] = numbers.not_numbers;
    one["also"] = numbers.also;
    json["numbers"].push_back(std::move(one));
  }
  json["percentile_error"] = ValueHistogram::kRelativeError;
  json["rate"] = {{"width_s", ToSeconds(description.series().width())},
                  {"arrivals", description.series().Counts()}};
  return json;
}

}  // namespace cosched
