// Answers what experiments/analysis/statistics.h says of data on standard input, for scipy_test.py:
// a line a question, "NAME [NUMBER…] [| NUMBER…]", a line an answer, its numbers with 17 digits.

#include <fmt/format.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "experiments/analysis/ranking.h"
#include "experiments/analysis/statistics.h"

namespace cosched {
namespace {

std::vector<double> Append(const Interval& interval, std::vector<double> values) {
  values.insert(values.end(), {interval.low, interval.high, interval.level});
  return values;
}

std::vector<double> Answer(const std::string& name, const std::vector<double>& a,
                           const std::vector<double>& b) {
  if (name == "median") return Append(MedianInterval(a), {Median(a)});
  if (name == "level") return {MedianLevel(static_cast<int>(a.at(0)), a.at(1))};
  if (name == "quantile") return {Quantile(a, b.at(0))};
  if (name == "signed_rank") return {SignedRankTest(a).p, SignedRankTest(a).effect};
  if (name == "mann_whitney") return {MannWhitneyU(a, b).u, MannWhitneyU(a, b).p};
  if (name == "ratio")
    return Append(IndependentRatio(a, b).interval, {IndependentRatio(a, b).ratio});
  if (name == "kendall") return {KendallTau(a, b)};
  if (name == "holm") return HolmAdjusted(a);
  fmt::print(stderr, "there is no \"{}\"\n", name);
  std::exit(2);
}

}  // namespace
}  // namespace cosched

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    std::vector<double> values[2];
    int side = 0;
    for (std::string word; words >> word;) {
      if (word == "|")
        side = 1;
      else
        values[side].push_back(std::stod(word));
    }
    std::string text;
    for (const double value : cosched::Answer(name, values[0], values[1]))
      text += fmt::format("{:.17g} ", value);
    std::cout << text << "\n";
  }
}
