#include "experiments/analysis/table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/word_wrap.h"
#include "experiments/analysis/statistics.h"

namespace cosched {
namespace {

constexpr size_t kWidth = 110;

}  // namespace

std::string RoundedText(double value) {
  if (std::abs(value) >= 99.95) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, std::abs(value) >= 9.995 ? 1 : 2);
}

std::string ShareText(double share) {
  const double value = share * 100;
  if (value == 0) return "0";
  return fmt::format("{:.{}f}", value, value >= 9.95 ? 0 : 1);
}

std::string LevelPercent(double level) {
  std::string percent = fmt::format("{:.1f}", std::floor(level * 1000) / 10);
  if (percent.ends_with(".0")) percent.resize(percent.size() - 2);
  return percent + " %";
}

std::string MedianText(const std::vector<double>& values, std::string (*format)(double),
                       int width) {
  if (values.empty()) return fmt::format("{:>{}}", "-", width);
  std::string median = fmt::format("{:>{}}", format(Median(values)), width);
  if (values.size() == 1) return median;
  const Interval interval = MedianInterval(values);
  if (interval.low == interval.high) return median;
  return fmt::format("{} [{} {}]", median, format(interval.low), format(interval.high));
}

std::string Wrapped(std::string_view first, const std::string& text) {
  const size_t indent = first.empty() ? 0 : first.size() + 1;
  std::string wrapped, before(first);
  for (const std::string& line : WordsInLines(text, kWidth - indent)) {
    wrapped += fmt::format("{:<{}}{}\n", before, indent, line);
    before.clear();
  }
  return wrapped;
}

std::string Trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string BytesText(double bytes) {
  const auto in = [bytes](double unit, const char* name) {
    std::string number = fmt::format("{:.{}f}", bytes / unit, bytes / unit < 9.95 ? 1 : 0);
    if (number.ends_with(".0")) number.resize(number.size() - 2);
    return fmt::format("{} {}", number, name);
  };
  if (bytes >= 999.5e6) return in(1e9, "GB");
  return bytes >= 999.5e3 ? in(1e6, "MB") : in(1e3, "kB");
}

std::string Counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace cosched
