// Percentiles against those of the sorted values: within the stated error, for any range of values.

#include "traces/description/value_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/base/random.h"
#include "traces/description/number_statistics.h"

namespace cosched {
namespace {

constexpr std::array kShares = {0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0};

// The nearest rank, in whole numbers: shares are thousandths.
double NearestRank(const std::vector<double>& sorted, double share) {
  const auto thousandths = static_cast<size_t>(std::llround(share * 1000));
  const size_t rank = (thousandths * sorted.size() + 999) / 1000;
  return sorted[std::max<size_t>(rank, 1) - 1];
}

void ExpectWithinError(std::vector<double> values) {
  NumberStatistics statistics;
  for (double value : values) statistics.Add(value);
  std::sort(values.begin(), values.end());
  for (double share : kShares) {
    const double expected = NearestRank(values, share);
    EXPECT_LE(std::abs(statistics.Quantile(share) - expected),
              ValueHistogram::kRelativeError * std::abs(expected))
        << share << ": " << statistics.Quantile(share) << " for " << expected;
  }
  EXPECT_EQ(statistics.Min(), values.front());
  EXPECT_EQ(statistics.Max(), values.back());
}

TEST(ValueHistogram, PercentilesAreWithinTheStatedError) {
  Random random(1);
  const auto draw = [&](int count, auto value) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(value());
    return values;
  };
  ExpectWithinError(draw(10'000, [&] { return random.Uniform(); }));
  ExpectWithinError(draw(10'000, [&] { return random.Exponential(1e9); }));
  ExpectWithinError(draw(10'000, [&] { return random.Normal(0, 1e-6); }));  // Values of both signs.
  ExpectWithinError(draw(9'999, [&] { return std::exp(random.Normal(0, 100)); }));
  ExpectWithinError(draw(3, [&] { return random.Uniform(); }));
  ExpectWithinError(draw(1, [&] { return -random.Uniform(); }));
  ExpectWithinError(draw(5'000, [&] { return std::floor(random.Exponential(1e5)); }));
  ExpectWithinError(draw(5'000, [&] { return -std::floor(random.Exponential(1e5)); }));
}

TEST(ValueHistogram, SmallIntegersAreExact) {
  for (int largest : {1, 7, 1023}) {
    NumberStatistics statistics;
    std::vector<double> values;
    for (int i = -largest; i <= largest; ++i) {
      statistics.Add(int64_t{i});
      values.push_back(i);
    }
    for (double share : kShares)
      EXPECT_EQ(statistics.Quantile(share), NearestRank(values, share)) << share;
  }
}

TEST(ValueHistogram, BucketsHoldTheirValuesUpwards) {
  ValueHistogram histogram;
  Random random(2);
  for (int i = 0; i < 1000; ++i) histogram.Add(random.Normal(0, 1e3));
  histogram.Add(0.0);
  histogram.Add(-0.0);
  int64_t count = 0;
  double last = -1e300;
  histogram.ForEach([&](double low, double high, int64_t in_bucket) {
    EXPECT_LE(low, high);
    EXPECT_GT(low, last);
    EXPECT_LE(high - low, 2 * ValueHistogram::kRelativeError * std::max(-low, high));
    last = high;
    count += in_bucket;
  });
  EXPECT_EQ(count, 1002);
  EXPECT_EQ(histogram.count(), 1002);
}

TEST(NumberStatistics, SumsAreExact) {
  NumberStatistics integers;
  for (int i = 0; i < 4; ++i) integers.Add(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(*integers.IntegerSum(), Int128{4} * std::numeric_limits<int64_t>::max());
  EXPECT_EQ(integers.IntegerMax(), std::numeric_limits<int64_t>::max());
  NumberStatistics decimals;  // Added one by one, 1e16 would swallow the halves.
  for (double value : {1e16, 0.5, 0.5, -1e16}) decimals.Add(value);
  EXPECT_EQ(decimals.Sum(), 1);
  EXPECT_FALSE(decimals.AllIntegers());
  EXPECT_FALSE(decimals.IntegerSum());
  NumberStatistics mixed;
  mixed.Add(int64_t{-3});
  mixed.Add(2.5);
  EXPECT_EQ(mixed.Min(), -3);
  EXPECT_EQ(mixed.Max(), 2.5);
  EXPECT_EQ(mixed.Mean(), -0.25);
}

TEST(NumberStatistics, NumbersAsFilesWriteThem) {
  const auto expect = [](std::string_view text, double value) {
    double parsed = 0;
    EXPECT_TRUE(ParseDecimal(text, &parsed)) << text;
    EXPECT_EQ(parsed, value) << text;
  };
  expect("007", 7);
  expect("+12", 12);
  expect("-1", -1);
  expect("0.25", 0.25);
  expect("3.0", 3);
  expect("-1e3", -1000);
  expect("9223372036854775808", 9223372036854775808.0);
  expect("0.1234567890123456789", 0.1234567890123456789);
  double untouched = 5;
  for (std::string_view text : {"", "+", "-", "1,5", "12a", "0x10", "1e", "inf", "nan", "1 ",
                                "1e999", "--1", "+-1", "++1"}) {
    EXPECT_FALSE(ParseDecimal(text, &untouched)) << text;
  }
  EXPECT_EQ(untouched, 5);
}

}  // namespace
}  // namespace cosched
