// A trace's description against closed forms and against the same figures computed from all
// arrivals at once.

#include "traces/description/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

#include "engine/base/byte_source.h"
#include "engine/base/error.h"
#include "engine/base/random.h"
#include "tests/paths.h"
#include "tests/traces/listed_arrivals.h"
#include "traces/input/formats.h"

namespace cosched {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

// A text that comes in pieces of so many bytes.
class Pieces final : public ByteSource {
 public:
  Pieces(std::string text, size_t piece) : text_(std::move(text)), piece_(piece) {}
  size_t Read(char* to, size_t most) override {
    const size_t count = std::min({most, piece_, text_.size() - at_});
    text_.copy(to, count, at_);
    at_ += count;
    return count;
  }

 private:
  const std::string text_;
  const size_t piece_;
  size_t at_ = 0;
};

TraceDescription DescribeTimes(const std::vector<Duration>& times) {
  std::vector<ListedArrival> arrivals;
  for (Duration time : times) arrivals.push_back({.time = time});
  ListedArrivals reader(std::move(arrivals));
  return Describe(&reader);
}

TraceDescription DescribeColumn(const std::vector<std::string>& texts) {
  std::vector<ListedArrival> arrivals;
  for (const std::string& text : texts)
    arrivals.push_back({.time = seconds(arrivals.size() * arrivals.size()), .attributes = {text}});
  ListedArrivals reader(std::move(arrivals), {"column"});
  return Describe(&reader);
}

TEST(TraceDescription, FixedGapsVaryNotAtAll) {
  std::vector<Duration> times;
  for (int i = 0; i < 1001; ++i) times.push_back(hours(10) + i * milliseconds(100));
  const TraceDescription description = DescribeTimes(times);
  EXPECT_EQ(description.arrivals(), 1001);
  EXPECT_EQ(description.Span(), seconds(100));
  EXPECT_EQ(description.first(), hours(10));
  EXPECT_DOUBLE_EQ(description.MeanRate(), 10);
  EXPECT_EQ(description.gaps().CoefficientOfVariation(), 0);
  EXPECT_EQ(description.gaps().tied(), 0);
  EXPECT_EQ(description.gaps().LargestTie(), 1);
  const WindowCounts::Summary windows = description.Seconds();
  EXPECT_EQ(windows.windows, 101);  // The last arrival has a window of its own.
  EXPECT_EQ(windows.busiest, 10);
  EXPECT_EQ(windows.busiest_start, seconds(0));
  EXPECT_EQ(windows.empty, 0);
  // 100 tens and a one: the population's variance over the mean.
  const double mean = 1001.0 / 101;
  EXPECT_NEAR(windows.dispersion, (10'001.0 / 101 - mean * mean) / mean, 1e-12);
}

TEST(TraceDescription, TwoGapsInTurnHaveAKnownDeviation) {
  // Gaps a, b, a, b, …: CV = |a - b| / (a + b).
  std::vector<Duration> times = {seconds(0)};
  for (int i = 0; i < 2000; ++i)
    times.push_back(times.back() + (i % 2 == 0 ? Duration(1) : Duration(999'999'999)));
  EXPECT_DOUBLE_EQ(DescribeTimes(times).gaps().CoefficientOfVariation(), 999'999'998 / 1e9);
  // As exact in decades as in seconds, and where the gaps hardly differ.
  std::vector<Duration> decades = {seconds(0)};
  for (int i = 0; i < 20; ++i)
    decades.push_back(decades.back() + hours(24 * 365) + (i % 2 == 0 ? Duration(1) : Duration(0)));
  EXPECT_NEAR(DescribeTimes(decades).gaps().CoefficientOfVariation() * (2 * 8760 * 3600e9 + 1), 1,
              1e-9);
}

TEST(TraceDescription, TheMomentsAreThoseOfAllGapsAtOnce) {
  Random random(5);
  std::vector<Duration> times = {seconds(0)};
  std::vector<long double> gaps;
  for (int i = 0; i < 20'000; ++i) {
    const Duration gap(static_cast<int64_t>(random.Exponential(3e8)));
    gaps.push_back(static_cast<long double>(gap.count()));
    times.push_back(times.back() + gap);
  }
  const auto count = static_cast<long double>(gaps.size());
  const long double mean = std::accumulate(gaps.begin(), gaps.end(), 0.0L) / count;
  long double squares = 0;
  for (long double gap : gaps) squares += (gap - mean) * (gap - mean);
  const TraceDescription description = DescribeTimes(times);
  EXPECT_NEAR(description.gaps().CoefficientOfVariation(),
              static_cast<double>(std::sqrt(squares / count) / mean), 1e-14);
  std::map<int64_t, int64_t> windows;
  for (Duration time : times) ++windows[time / seconds(1)];
  long double counted = 0;
  int64_t busiest = 0;
  for (const auto& [window, arrivals] : windows) {
    counted += static_cast<long double>(arrivals) * static_cast<long double>(arrivals);
    busiest = std::max(busiest, arrivals);
  }
  const auto all = static_cast<long double>(windows.rbegin()->first + 1);
  const long double window_mean = static_cast<long double>(times.size()) / all;
  const WindowCounts::Summary summary = description.Seconds();
  EXPECT_EQ(summary.windows, static_cast<int64_t>(all));
  EXPECT_EQ(summary.empty, static_cast<int64_t>(all) - static_cast<int64_t>(windows.size()));
  EXPECT_EQ(summary.busiest, busiest);
  EXPECT_EQ(windows[summary.busiest_start / seconds(1)], busiest);
  EXPECT_NEAR(summary.dispersion,
              static_cast<double>((counted / all - window_mean * window_mean) / window_mean),
              1e-12);
}

TEST(TraceDescription, TiesAndSilences) {
  const TraceDescription description = DescribeTimes(
      {seconds(0), seconds(0), seconds(0), seconds(5), seconds(6), seconds(6), seconds(10)});
  EXPECT_EQ(description.gaps().tied(), 3);
  EXPECT_EQ(description.gaps().LargestTie(), 3);
  const auto& longest = description.gaps().longest();
  ASSERT_EQ(longest.size(), 3);
  EXPECT_EQ(longest[0].length, seconds(5));
  EXPECT_EQ(longest[0].start, seconds(0));
  EXPECT_EQ(longest[1].length, seconds(4));
  EXPECT_EQ(longest[1].start, seconds(6));
  EXPECT_EQ(longest[2].length, seconds(1));
  EXPECT_EQ(description.Seconds().windows, 11);
  EXPECT_EQ(description.Seconds().empty, 7);
}

TEST(TraceDescription, OfManySilencesTheLongestAreKept) {
  std::vector<Duration> times = {seconds(0)};
  std::vector<Duration> lengths;
  Random random(9);
  for (int i = 0; i < 5000; ++i) {
    lengths.emplace_back(static_cast<int64_t>(random.Below(1'000'000)));
    times.push_back(times.back() + lengths.back());
  }
  std::sort(lengths.rbegin(), lengths.rend());
  const TraceDescription description = DescribeTimes(times);
  ASSERT_EQ(description.gaps().longest().size(), InterArrivalTimes::kLongest);
  for (size_t i = 0; i < InterArrivalTimes::kLongest; ++i)
    EXPECT_EQ(description.gaps().longest()[i].length, lengths[i]);
}

TEST(TraceDescription, OneArrivalAndNone) {
  const TraceDescription one = DescribeTimes({seconds(3)});
  EXPECT_EQ(one.Span(), seconds(0));
  EXPECT_EQ(one.MeanRate(), 0);
  EXPECT_EQ(one.gaps().CoefficientOfVariation(), 0);
  EXPECT_EQ(one.Seconds().windows, 1);
  EXPECT_EQ(one.Seconds().busiest, 1);
  EXPECT_EQ(one.Seconds().dispersion, 0);
  EXPECT_THAT(one.series().Counts(), ElementsAre(1));
  const TraceDescription none = DescribeTimes({});
  EXPECT_EQ(none.arrivals(), 0);
  EXPECT_EQ(none.Seconds().windows, 0);
}

TEST(TraceDescription, ASeriesOfAnyLengthHasBoundedBinsAndLosesNoArrival) {
  for (const Duration gap : {Duration(1), Duration(777), Duration(milliseconds(3)),
                             Duration(seconds(11)), Duration(hours(24 * 40))}) {
    RateSeries series;
    for (int i = 0; i < 2500; ++i) series.Add(i * gap);
    const std::vector<int64_t> counts = series.Counts();
    EXPECT_LE(counts.size(), RateSeries::kMostBins);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}), 2500);
    EXPECT_EQ(static_cast<int64_t>(counts.size()), 2499 * gap / series.width() + 1);
    for (size_t bin = 0; bin < counts.size(); ++bin) {  // Those that begin in the bin.
      const Duration begin = static_cast<int64_t>(bin) * series.width();
      const auto upto = [&](Duration end) {
        return std::min<int64_t>(2500, (end + gap - Duration(1)) / gap);
      };
      EXPECT_EQ(counts[bin], upto(begin + series.width()) - upto(begin)) << bin;
    }
  }
  RateSeries longest;
  longest.Add(Duration{0});
  longest.Add(Duration::max());
  EXPECT_LE(longest.Counts().size(), RateSeries::kMostBins);
  RateSeries hour;  // Bins of a second each, as people expect.
  for (int i = 0; i < 3500; ++i) hour.Add(seconds(i));
  EXPECT_EQ(hour.width(), seconds(1));
}

TEST(TraceDescription, CenturiesFitAndWhatDoesNotIsRefused) {
  const TraceDescription longest = DescribeTimes({seconds(0), Duration::max()});
  EXPECT_EQ(longest.Span(), Duration::max());
  EXPECT_EQ(longest.Seconds().busiest, 1);
  EXPECT_LE(longest.series().Counts().size(), RateSeries::kMostBins);
  EXPECT_EQ(longest.gaps().CoefficientOfVariation(), 0);
  EXPECT_THROW(DescribeTimes({Duration::min(), Duration::max()}), InputError);
}

TEST(TraceDescription, WhatTheRowsSayOfThemselves) {
  std::vector<ListedArrival> arrivals;
  for (int i = 0; i < 200; ++i) {
    arrivals.push_back({.time = i * i * milliseconds(10),
                        .tenant = i % 4 == 0 ? "a" : "b",
                        .size = i,
                        .duration = milliseconds(i),
                        .attributes = {std::to_string(i * i * 10) + ".0", std::to_string(i),
                                       i % 2 == 0 ? "x" : "y", i == 7 ? "" : "2.5"}});
  }
  ListedArrivals reader(std::move(arrivals), {"time_ms", "steps", "kind", "gpus"});
  const TraceDescription description = Describe(&reader);
  const std::vector<TraceDescription::Numbers> numbers = description.AllNumbers();
  ASSERT_EQ(numbers.size(), 3);  // time_ms is the time again; kind is text.
  EXPECT_EQ(numbers[0].name, "size");
  EXPECT_EQ(*numbers[0].statistics->IntegerSum(), 19'900);
  EXPECT_THAT(numbers[0].also, ElementsAre("steps"));
  EXPECT_EQ(numbers[1].name, "duration");
  EXPECT_EQ(numbers[1].unit, "s");
  EXPECT_EQ(numbers[1].statistics->Max(), 199e6);
  EXPECT_EQ(numbers[2].name, "gpus");
  EXPECT_EQ(numbers[2].missing, 1);
  EXPECT_EQ(numbers[2].statistics->count(), 199);
  EXPECT_DOUBLE_EQ(numbers[2].statistics->Sum(), 2.5 * 199);
  const TenantShares::Summary tenants = description.Tenants(10);
  ASSERT_EQ(tenants.largest.size(), 2);
  EXPECT_EQ(tenants.largest[0].tenant, "b");
  EXPECT_EQ(tenants.largest[0].arrivals, 150);
  EXPECT_EQ(tenants.largest[1].arrivals, 50);
  EXPECT_EQ(tenants.others, 0);
  EXPECT_TRUE(tenants.exact);
}

TEST(TraceDescription, AColumnIsNumbersIfNearlyAllOfItIs) {
  std::vector<std::string> texts(99, "5");
  texts.insert(texts.end(), {"many", "NA", "", "null"});
  const TraceDescription few = DescribeColumn(texts);
  ASSERT_EQ(few.AllNumbers().size(), 1);
  EXPECT_EQ(few.AllNumbers()[0].not_numbers, 1);
  EXPECT_EQ(few.AllNumbers()[0].missing, 3);
  EXPECT_EQ(*few.AllNumbers()[0].statistics->IntegerSum(), 495);
  EXPECT_TRUE(DescribeColumn({"5", "6", "seven", "8"}).AllNumbers().empty());
  std::vector<std::string> names(1000, "x");
  names.insert(names.end(), 100, "5");
  EXPECT_TRUE(DescribeColumn(names).AllNumbers().empty());
  EXPECT_TRUE(DescribeColumn({"", "", ""}).AllNumbers().empty());
}

// A time in any unit and from any origin is recognised; a counter beside equal gaps may pass as
// one, beside others it does not.
TEST(TraceDescription, TheTimeIsNoColumnOfNumbers) {
  for (const auto& [unit, digits] : std::vector<std::pair<double, const char*>>{
           {1.0, "%.6f"}, {1e3, "%.3f"}, {1e6, "%.0f"}, {1e9, "%.0f"}}) {
    std::vector<ListedArrival> arrivals;
    for (int i = 0; i < 100; ++i) {
      const Duration time = i * i * milliseconds(7);
      std::array<char, 64> text;
      std::snprintf(text.data(), text.size(), digits, (1.7e9 + ToSeconds(time)) * unit);
      arrivals.push_back({.time = time, .attributes = {text.data(), std::to_string(i)}});
    }
    ListedArrivals reader(std::move(arrivals), {"time", "id"});
    const auto numbers = Describe(&reader).AllNumbers();
    ASSERT_EQ(numbers.size(), 1) << unit;
    EXPECT_EQ(numbers[0].name, "id");
  }
}

// Whatever sizes the pieces have in which the file is read.
TEST(TraceDescription, DoesNotDependOnHowTheTextArrives) {
  std::string text = "arrival_s,workload,size\n";
  Random random(11);
  double time = 0;
  for (int i = 0; i < 3000; ++i) {
    time += random.Exponential(0.5);
    text += std::to_string(time) + (i % 3 == 0 ? ",a," : ",bb,") +
            std::to_string(random.Below(100'000)) + "\n";
  }
  std::optional<TraceDescription> whole;
  for (size_t piece : {text.size(), size_t{1}, size_t{7}, size_t{4096}}) {
    auto source = std::make_unique<Pieces>(text, piece);
    const OpenedTrace trace = OpenTrace(std::make_unique<TextInput>(std::move(source), "pieces"));
    TraceDescription description = Describe(trace.reader.get());
    if (!whole) {
      whole.emplace(std::move(description));
      EXPECT_EQ(whole->arrivals(), 3000);
      continue;
    }
    EXPECT_EQ(description.arrivals(), whole->arrivals());
    EXPECT_EQ(description.Span(), whole->Span());
    EXPECT_EQ(description.gaps().CoefficientOfVariation(), whole->gaps().CoefficientOfVariation());
    EXPECT_EQ(description.Seconds().busiest, whole->Seconds().busiest);
    EXPECT_EQ(description.series().Counts(), whole->series().Counts());
    ASSERT_EQ(description.AllNumbers().size(), whole->AllNumbers().size());
    const NumberStatistics& sizes = *description.AllNumbers()[0].statistics;
    EXPECT_EQ(sizes.IntegerSum(), whole->AllNumbers()[0].statistics->IntegerSum());
    EXPECT_EQ(sizes.Quantile(0.9), whole->AllNumbers()[0].statistics->Quantile(0.9));
    EXPECT_EQ(description.Tenants(2).largest[0].arrivals, 2000);
  }
}

// The totals that others have counted of the published sample.
TEST(TraceDescription, OfAzuresConversationsOf2023) {
  const char* shared = std::getenv("COSCHED_SHARED_DATA");
  const std::filesystem::path file =
      (shared != nullptr ? std::filesystem::path(shared)
                         : std::filesystem::path(InSource("../shared/data"))) /
      "traces" / "azure_llm_2023_conv.csv.gz";
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << "no sample: " << file << " is missing; set COSCHED_SHARED_DATA";
  const OpenedTrace trace = OpenTrace(file);
  const TraceDescription description = Describe(trace.reader.get());
  EXPECT_EQ(description.arrivals(), 19'366);
  EXPECT_EQ(description.Span().count(), 3'501'721'937'000);
  EXPECT_NEAR(description.gaps().CoefficientOfVariation(), 1.0941699818, 5e-11);
  EXPECT_EQ(description.Seconds().busiest, 16);
  std::map<std::string, Int128> sums;
  for (const TraceDescription::Numbers& numbers : description.AllNumbers())
    sums[numbers.name] = numbers.statistics->IntegerSum().value_or(0);
  EXPECT_TRUE(sums["ContextTokens"] == 22'361'870);
  EXPECT_TRUE(sums["GeneratedTokens"] == 4'088'665);
}

TEST(TenantShares, AreExactUpToTheirBound) {
  TenantShares shares(100);
  for (int i = 0; i < 20'000; ++i) shares.Add("tenant " + std::to_string(i % 200));
  const TenantShares::Summary summary = shares.Summarize(3);
  EXPECT_TRUE(summary.exact);
  EXPECT_EQ(summary.tenants, 200);
  ASSERT_EQ(summary.largest.size(), 3);
  EXPECT_EQ(summary.largest[0].arrivals, 100);
  EXPECT_EQ(summary.largest[0].tenant, "tenant 0");
  EXPECT_EQ(summary.largest[1].tenant, "tenant 1");
  EXPECT_EQ(summary.others, 19'700);
}

TEST(TenantShares, BeyondItTheFrequentOnesAreOffByNoMoreThanStated) {
  TenantShares shares(100);
  std::map<std::string, int64_t> exact;
  Random random(3);
  constexpr int kArrivals = 200'000;
  for (int i = 0; i < kArrivals; ++i) {
    // Zipf-like: few are frequent, most come once.
    const auto tenant = static_cast<int>(std::exp(random.Uniform() * 12));
    const std::string name = "t" + std::to_string(tenant);
    ++exact[name];
    shares.Add(name);
  }
  const TenantShares::Summary summary = shares.Summarize(20);
  EXPECT_FALSE(summary.exact);
  EXPECT_GT(summary.tenants, 100);
  EXPECT_LE(summary.tenants, static_cast<int64_t>(exact.size()));
  EXPECT_GT(summary.too_low, 0);
  EXPECT_LE(summary.too_low, kArrivals / 100);
  int64_t listed = 0;
  for (const TenantShares::Share& share : summary.largest) {
    EXPECT_LE(share.arrivals, exact[share.tenant]) << share.tenant;
    EXPECT_GE(share.arrivals, exact[share.tenant] - summary.too_low) << share.tenant;
    listed += share.arrivals;
  }
  EXPECT_EQ(summary.others, kArrivals - listed);
  EXPECT_EQ(summary.largest[0].tenant,
            std::max_element(exact.begin(), exact.end(), [](auto& a, auto& b) {
              return a.second < b.second;
            })->first);
}

}  // namespace
}  // namespace cosched
