#pragma once
// How figures and words are written in tables and sentences on a terminal. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cosched {

std::string RoundedText(double value);   // Three significant digits: what some trials can bear.
std::string ShareText(double share);     // In percent: 0.5 is "50".
std::string LevelPercent(double level);  // 0.9375 is "93.7 %": never more than it is.

// "41.2 [40.1 43.0]": median and its interval (statistics.h; the table's title tells its level),
// the median `width` wide; one value has no interval, nor have equal ones; none is "-".
std::string MedianText(const std::vector<double>& values, std::string (*format)(double), int width);

// Broken at words so that no line is wider than a table; the lines after the first are indented as
// far as `first` is long.
std::string Wrapped(std::string_view first, const std::string& text);

std::string Trimmed(std::string line);  // Without spaces at its end.

std::string BytesText(double bytes);  // "850 kB", "1.2 MB", "11 GB".

std::string Counted(int64_t count, std::string_view noun);  // "1 trial", "3 trials".

}  // namespace cosched
