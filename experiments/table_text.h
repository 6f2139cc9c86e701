#pragma once
// How figures are written in the tables of comparisons. Pure.

#include <string>
#include <vector>

namespace cosched {

std::string Number(double value);   // Three significant digits: what a handful of trials can bear.
std::string Percent(double share);  // 0.5 is "50".

// "41.2 [40.1 43.0]": median and its interval (MedianInterval), the median `width` wide; one value has no
// interval, none is "-".
std::string MedianText(const std::vector<double>& values, std::string (*format)(double), int width);

}  // namespace cosched
