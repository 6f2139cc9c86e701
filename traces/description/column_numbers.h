#pragma once
// A column of a trace file whose meaning nobody has told: is it numbers, and which? Decided from
// its texts, in constant memory:
//   * "" and what programs write for nothing ("NA", "null", …) are missing;
//   * a column is text if more than one in ten of its other values is no number; it is given up,
//     for good, once that is so among at least 100;
//   * a column that repeats the arrival's time (in s, ms, us or ns, from whatever origin) is the
//     time and no column of numbers; looked for among the first rows, and given up once found.
// Not thread-safe.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/base/clock.h"
#include "traces/description/number_statistics.h"

namespace cosched {

class ColumnNumbers {
 public:
  // since: the row's arrival, from the first one.
  void Add(std::string_view text, Duration since);
  bool GivenUp() const { return given_up_; }  // No need to Add more.

  bool IsNumbers() const;
  // REQUIRES: IsNumbers().
  const NumberStatistics& statistics() const { return statistics_; }
  int64_t missing() const { return missing_; }
  int64_t others() const { return others_; }  // Neither missing nor numbers.

 private:
  static constexpr size_t kUnits = 4;

  void AddOther(std::string_view text);
  void CompareWithTime(double value, Duration since);
  bool IsTime() const;

  NumberStatistics statistics_;
  int64_t missing_ = 0;
  int64_t others_ = 0;
  bool given_up_ = false;
  bool time_decided_ = false;
  // By unit: what the first value is ahead of the first arrival, while all later ones are as well.
  std::array<std::optional<double>, kUnits> ahead_s_ = {};
  Duration first_{0};
  Duration last_{0};
  int64_t compared_ = 0;
};

}  // namespace cosched
