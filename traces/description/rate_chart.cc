#include "traces/description/rate_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "traces/description/figures.h"

namespace cosched {
namespace {

constexpr int kRows = 7;
constexpr int kLevels = 8;  // Levels of one character.
constexpr std::array kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

struct RateUnit {
  const char* name;
  double seconds;
};

// Arrivals per second in each of `columns` equal parts of the span. A bin on a border counts for
// both sides, by where the border cuts it.
std::vector<double> Rates(const RateSeries& series, Duration span, int columns) {
  const std::vector<int64_t> counts = series.Counts();
  const double column_s = ToSeconds(span) / columns;
  std::vector<double> arrivals(static_cast<size_t>(columns));
  for (size_t bin = 0; bin < counts.size(); ++bin) {
    if (counts[bin] == 0) continue;
    const double begin = ToSeconds(series.width()) * static_cast<double>(bin);
    const double end = std::min(begin + ToSeconds(series.width()), ToSeconds(span));
    const double per_second = end > begin ? static_cast<double>(counts[bin]) / (end - begin) : 0;
    double at = begin;
    for (auto column = static_cast<size_t>(begin / column_s); column + 1 < arrivals.size();
         ++column) {
      const double border = column_s * static_cast<double>(column + 1);
      if (border >= end) break;
      arrivals[column] += per_second * (border - at);
      at = border;
    }
    const auto last = std::min(static_cast<size_t>(at / column_s + 1e-9), arrivals.size() - 1);
    arrivals[last] += end > begin ? per_second * (end - at) : static_cast<double>(counts[bin]);
  }
  for (double& column : arrivals) column /= column_s;
  return arrivals;
}

// The shortest in which the highest rate is at least 1.
RateUnit RateUnitFor(double top_per_second) {
  constexpr std::array kUnits = {RateUnit{"second", 1}, RateUnit{"minute", 60},
                                 RateUnit{"hour", 3600}, RateUnit{"day", 86'400}};
  for (const RateUnit& unit : kUnits) {
    if (top_per_second * unit.seconds >= 1) return unit;
  }
  return kUnits.back();
}

std::string TimeAxis(Duration span, int columns, int margin) {
  std::string line(static_cast<size_t>(margin) + 1, ' ');
  const std::array labels = {std::string("0"), AxisDuration(span / 2), AxisDuration(span)};
  const std::array<int, 3> starts = {0, columns / 2 - static_cast<int>(labels[1].size()) / 2,
                                     columns - static_cast<int>(labels[2].size())};
  for (size_t i = 0; i < labels.size(); ++i) {
    line.resize(static_cast<size_t>(margin + 1 + starts[i]), ' ');
    line += labels[i];
  }
  return line + "\n";
}

}  // namespace

std::string RateChart(const RateSeries& series, Duration span, int columns) {
  if (span <= Duration{0} || columns < kNarrowestChart) return "";
  // What fits beside the label of the highest rate, which is known only from the columns.
  constexpr int kLabel = 8;
  const int width = columns - kLabel - 1;
  const std::vector<double> rates = Rates(series, span, width);
  const double top = *std::max_element(rates.begin(), rates.end());
  const RateUnit unit = RateUnitFor(top);
  std::string chart = fmt::format("arrivals per {}\n", unit.name);
  for (int row = kRows; row >= 1; --row) {
    const std::string label = row == kRows ? RoundedFigure(top * unit.seconds) : "";
    chart += fmt::format("{:>{}} │", label, kLabel - 1);
    std::string line;
    for (double rate : rates) {
      const auto eighths = static_cast<int>(std::ceil(rate / top * kRows * kLevels - 1e-9));
      line += kBlocks[static_cast<size_t>(std::clamp(eighths - (row - 1) * kLevels, 0, kLevels))];
    }
    chart += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  std::string axis;
  for (int i = 0; i < width; ++i) axis += "─";
  chart += fmt::format("{:>{}} └{}\n", "0", kLabel - 1, axis);
  return chart + TimeAxis(span, width, kLabel);
}

}  // namespace cosched
