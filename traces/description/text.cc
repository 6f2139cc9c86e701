#include "traces/description/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "traces/description/figures.h"
#include "traces/description/rate_chart.h"

namespace cosched {
namespace {

constexpr size_t kPrintedTenants = 10;

std::string Plural(int64_t count, const char* noun) {
  return fmt::format("{} {}{}", Grouped(count), noun, count == 1 ? "" : "s");
}

std::string Percentage(int64_t part, int64_t whole) {
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// A line above the tables: "name            text            remark".
std::string Fact(std::string_view name, const std::string& text, const std::string& remark = "") {
  if (remark.empty()) return fmt::format("{:<16}{}\n", name, text);
  return fmt::format("{:<16}{:<38}  {}\n", name, text, remark);
}

std::string ArrivalsText(const DescribedTrace& trace, const TraceDescription& description) {
  const int64_t requests = description.requests();
  const int64_t jobs = description.arrivals() - requests;
  std::string text = requests == 0 ? Plural(jobs, "job") : Plural(requests, "request");
  if (requests > 0 && jobs > 0) text += " and " + Plural(jobs, "job");
  if (trace.counts.rows != description.arrivals() && trace.counts.skipped == 0)
    text += fmt::format(" from {}", Plural(trace.counts.rows, "row"));
  std::string facts = Fact("arrivals", text);
  if (trace.counts.skipped > 0) {
    facts += Fact("skipped",
                  fmt::format("{} of {}, malformed; the first: {}", Grouped(trace.counts.skipped),
                              Plural(trace.counts.rows, "row"), trace.counts.first_skipped));
  }
  return facts;
}

std::string BusiestText(std::string_view name, const WindowCounts::Summary& windows, int width_s) {
  const std::string rate = RoundedFigure(static_cast<double>(windows.busiest) / width_s);
  return Fact(name, fmt::format("{} ({} /s)", Plural(windows.busiest, "arrival"), rate),
              windows.busiest_start == Duration{0}
                  ? "from the first arrival on"
                  : fmt::format("from {} on", HumanDuration(windows.busiest_start)));
}

std::string RatesText(const TraceDescription& description) {
  const WindowCounts::Summary seconds = description.Seconds();
  const WindowCounts::Summary minutes = description.Minutes();
  const bool has_minutes = minutes.windows > 1;
  std::string text;
  if (description.MeanRate() > 0) {
    const auto gap = static_cast<int64_t>(description.gaps().statistics().Mean());
    text += Fact("mean rate", RoundedFigure(description.MeanRate()) + " /s",
                 "one every " + AxisDuration(Duration(gap)));
  }
  text += BusiestText("busiest second", seconds, 1);
  if (has_minutes) text += BusiestText("busiest minute", minutes, 60);
  if (description.Span() == Duration{0}) return text;
  text +=
      Fact("regularity",
           fmt::format("CV {:.4f} between arrivals", description.gaps().CoefficientOfVariation()),
           "Poisson: 1, equal gaps: 0");
  std::string dispersion = fmt::format("{} in windows of 1 s", RoundedFigure(seconds.dispersion));
  if (has_minutes) dispersion += fmt::format(", {} of 60 s", RoundedFigure(minutes.dispersion));
  return text + Fact("dispersion", dispersion, "Poisson: 1");
}

std::string SilencesText(const TraceDescription& description) {
  const InterArrivalTimes& gaps = description.gaps();
  const WindowCounts::Summary seconds = description.Seconds();
  std::string longest;
  for (const InterArrivalTimes::Silence& silence : gaps.longest()) {
    longest += fmt::format("{}{} at {}", longest.empty() ? "longest " : ", ",
                           AxisDuration(silence.length), AxisDuration(silence.start));
  }
  std::string text = longest.empty() ? "" : Fact("silences", longest);
  if (seconds.empty > 0) {
    text += Fact(longest.empty() ? "silences" : "",
                 fmt::format("{} of the seconds have no arrival ({} of {})",
                             Percentage(seconds.empty, seconds.windows), Grouped(seconds.empty),
                             Grouped(seconds.windows)));
  }
  return text + Fact("ties", gaps.tied() == 0
                                 ? "none: no two arrivals at one instant"
                                 : fmt::format("{} at the instant of the one before ({}), at most "
                                               "{} at one instant",
                                               Plural(gaps.tied(), "arrival"),
                                               Percentage(gaps.tied(), description.arrivals()),
                                               Grouped(gaps.LargestTie())));
}

using TextRow = std::vector<std::string>;

// Characters, as fmt counts them when it aligns: names may be in any script.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // No continuation of UTF-8.
  }));
}

// The first column to the left, the others to the right, then what stands behind each row.
std::string TextTable(const std::vector<TextRow>& rows,
                      const std::vector<std::string>& behind = {}) {
  std::vector<size_t> widths(rows.front().size());
  for (const TextRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    text += fmt::format("{:<{}}", rows[r][0], widths[0]);
    for (size_t i = 1; i < rows[r].size(); ++i)
      text += fmt::format("  {:>{}}", rows[r][i], widths[i]);
    if (!behind.empty()) text += "  " + behind[r];
    text += "\n";
  }
  return text;
}

// Smallest, percentiles, largest, mean, sum; durations in a unit that suits their median.
TextRow NumbersRow(const std::string& name, const NumberStatistics& statistics, bool is_time) {
  const TimeUnit unit = is_time ? UnitFor(statistics.Quantile(0.5)) : TimeUnit{"", 1};
  TextRow row = {is_time ? fmt::format("{} [{}]", name, unit.name) : name};
  const auto figure = [&](double value) { row.push_back(RoundedFigure(value / unit.nanoseconds)); };
  const auto exact = [&](std::optional<int64_t> integer, double value) {
    constexpr int64_t kWidest = 1'000'000'000'000;
    if (integer && !is_time && *integer > -kWidest && *integer < kWidest)
      return row.push_back(Grouped(*integer));
    figure(value);
  };
  exact(statistics.IntegerMin(), statistics.Min());
  for (double share : {0.5, 0.9, 0.99}) figure(statistics.Quantile(share));
  exact(statistics.IntegerMax(), statistics.Max());
  figure(statistics.Mean());
  if (const std::optional<Int128> sum = statistics.IntegerSum(); sum && !is_time) {
    row.push_back(Grouped(*sum));
  } else {
    figure(statistics.Sum());
  }
  return row;
}

// What is said below the table of a row in it.
std::string NumbersNotes(const TraceDescription::Numbers& numbers, int64_t arrivals) {
  std::string notes;
  if (!numbers.also.empty())
    notes += fmt::format("{} is also column {}\n", numbers.name, fmt::join(numbers.also, ", "));
  const int64_t missing = numbers.missing + numbers.not_numbers;
  if (missing == 0) return notes;
  notes += fmt::format("{}: {} of {} have none", numbers.name, Grouped(missing),
                       Plural(arrivals, "arrival"));
  if (numbers.not_numbers > 0)
    notes += fmt::format(" ({} are no numbers)", Grouped(numbers.not_numbers));
  return notes + "\n";
}

std::string NumbersText(const TraceDescription& description) {
  std::vector<TextRow> rows = {{"", "min", "p50", "p90", "p99", "max", "mean", "sum"}};
  std::string notes;
  std::vector<std::string> constant;
  if (description.gaps().statistics().count() > 0)
    rows.push_back(NumbersRow("between arrivals", description.gaps().statistics(), true));
  for (const TraceDescription::Numbers& numbers : description.AllNumbers()) {
    const NumberStatistics& statistics = *numbers.statistics;
    if (numbers.is_column && statistics.Min() == statistics.Max()) {
      constant.push_back(fmt::format("{} {}", numbers.name, RoundedFigure(statistics.Min())));
    } else {
      rows.push_back(NumbersRow(numbers.name, statistics, numbers.unit == "s"));
    }
    notes += NumbersNotes(numbers, description.arrivals());
  }
  if (!constant.empty()) notes += fmt::format("constant: {}\n", fmt::join(constant, ", "));
  if (rows.size() == 1) return notes.empty() ? "" : "\n" + notes;
  return "\n" + TextTable(rows) + notes;
}

std::string Bar(int64_t part, int64_t largest) {
  constexpr int64_t kLongest = 30;
  std::string bar;
  for (int64_t i = 0; i < kLongest * part / largest; ++i) bar += "█";
  return bar;
}

std::string TenantsText(const TraceDescription& description, bool bars) {
  if (!description.NamesTenants()) return "";
  const TenantShares::Summary tenants = description.Tenants(kPrintedTenants);
  const int64_t longest_bar = std::max(tenants.largest.front().arrivals, tenants.others);
  std::vector<TextRow> rows;
  std::vector<std::string> bar_of;
  const auto row = [&](const std::string& name, int64_t arrivals) {
    rows.push_back({"  " + name, Grouped(arrivals), Percentage(arrivals, description.arrivals())});
    if (bars) bar_of.push_back(Bar(arrivals, longest_bar));
  };
  for (const TenantShares::Share& share : tenants.largest)
    row(share.tenant.empty() ? "(nobody named)" : share.tenant, share.arrivals);
  if (tenants.others > 0) row("others", tenants.others);
  std::string text = fmt::format("\n{}{}\n{}", tenants.exact ? "" : "at least ",
                                 Plural(tenants.tenants, "tenant"), TextTable(rows, bar_of));
  if (!tenants.exact) {
    text += fmt::format("too many to count each: a tenant's number may be up to {} too low\n",
                        Grouped(tenants.too_low));
  }
  return text;
}

}  // namespace

std::string DescriptionText(const DescribedTrace& trace, const TraceDescription& description,
                            const DescriptionTextOptions& options) {
  std::string text =
      Fact("file", trace.file) + Fact("format", trace.format) + ArrivalsText(trace, description);
  if (description.arrivals() == 0) return text;
  text += Fact("span", fmt::format("{} s{}", ExactSeconds(description.Span()),
                                   description.Span() >= std::chrono::minutes(1)
                                       ? " (" + HumanDuration(description.Span()) + ")"
                                       : ""));
  const std::string date = DateText(description.first());
  text += Fact("first arrival", date.empty() ? ExactSeconds(description.first()) + " s" : date);
  text += RatesText(description) + SilencesText(description);
  if (options.chart_columns > 0) {
    const std::string chart =
        RateChart(description.series(), description.Span(), options.chart_columns);
    if (!chart.empty()) text += "\n" + chart;
  }
  return text + NumbersText(description) + TenantsText(description, options.chart_columns > 0);
}

}  // namespace cosched
