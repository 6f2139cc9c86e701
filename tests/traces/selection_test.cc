// What is selected of a trace, and where it moves to: selection.h, sentence by sentence.

#include "traces/selection.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/error.h"
#include "tests/traces/listed_arrivals.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

std::unique_ptr<TraceReader> Times(const std::vector<Duration>& times) {
  std::vector<ListedArrival> arrivals;
  for (Duration time : times) arrivals.push_back({.time = time, .tenant = "t"});
  return std::make_unique<ListedArrivals>(std::move(arrivals));
}

std::unique_ptr<TraceReader> EverySecond(int count, Duration first = Duration{0}) {
  std::vector<Duration> times;
  for (int i = 0; i < count; ++i) times.push_back(first + seconds(i));
  return Times(times);
}

std::vector<Duration> Selected(std::unique_ptr<TraceReader> reader,
                               const TraceSelection& selection) {
  SelectedTrace trace(std::move(reader), selection);
  std::vector<Duration> times;
  for (Arrival arrival; trace.Next(&arrival);) times.push_back(arrival.time);
  return times;
}

TEST(Selection, WithoutOptionsNothingChanges) {
  EXPECT_EQ(Selected(Times({seconds(-5), seconds(7), seconds(7)}), {}),
            (std::vector<Duration>{seconds(-5), seconds(7), seconds(7)}));
}

TEST(Selection, TheWindowIsHalfOpenAndCountsFromTheFirstArrival) {
  EXPECT_EQ(Selected(EverySecond(10, seconds(100)), {.start = seconds(2), .length = seconds(3)}),
            (std::vector<Duration>{seconds(102), seconds(103), seconds(104)}));
  EXPECT_EQ(Selected(EverySecond(3, seconds(100)), {.start = nanoseconds(1'000'000'001)}),
            (std::vector<Duration>{seconds(102)}));
  EXPECT_TRUE(Selected(EverySecond(3), {.start = seconds(3)}).empty());
}

TEST(Selection, SpeedupComesAfterTheWindowAndKeepsItsBegin) {
  EXPECT_EQ(
      Selected(EverySecond(10, seconds(100)),
               {.start = milliseconds(1500), .length = seconds(3), .speedup = 10}),
      (std::vector<Duration>{milliseconds(101'550), milliseconds(101'650), milliseconds(101'750)}));
  EXPECT_EQ(Selected(EverySecond(3), {.speedup = 0.5}),
            (std::vector<Duration>{seconds(0), seconds(2), seconds(4)}));
  // To the nearest nanosecond.
  EXPECT_EQ(Selected(Times({Duration(0), Duration(5)}), {.speedup = 3}),
            (std::vector<Duration>{Duration(0), Duration(2)}));
}

TEST(Selection, ASampleKeepsItsShareAndDependsOnTheSeedOnly) {
  constexpr int kArrivals = 20'000;
  const TraceSelection tenth = {.sample = 0.1, .seed = 7};
  const std::vector<Duration> kept = Selected(EverySecond(kArrivals), tenth);
  const double deviation = std::sqrt(kArrivals * 0.1 * 0.9);
  EXPECT_NEAR(static_cast<double>(kept.size()), kArrivals * 0.1, 5 * deviation);
  EXPECT_EQ(kept, Selected(EverySecond(kArrivals), tenth));
  EXPECT_NE(kept, Selected(EverySecond(kArrivals), {.sample = 0.1, .seed = 8}));
}

// Stored, so that another platform or a change to the generator can't pass unnoticed.
TEST(Selection, ASampleIsTheSameEverywhere) {
  std::vector<Duration> expected;
  for (int second : {1, 11, 27, 29, 30, 31, 33, 39, 49, 54}) expected.push_back(seconds(second));
  EXPECT_EQ(Selected(EverySecond(60), {.sample = 0.2, .seed = 1}), expected);
}

TEST(Selection, AWindowOfASampleIsTheSampleOfThatWindow) {
  const TraceSelection both = {
      .start = seconds(400), .length = seconds(200), .sample = 0.3, .seed = 3};
  std::vector<Duration> expected;
  for (Duration time : Selected(EverySecond(1000), {.sample = 0.3, .seed = 3})) {
    if (time >= seconds(400) && time < seconds(600)) expected.push_back(time);
  }
  EXPECT_EQ(Selected(EverySecond(1000), both), expected);
  EXPECT_FALSE(expected.empty());
}

TEST(Selection, ReadingEndsWithTheWindow) {
  SelectedTrace trace(EverySecond(1000), {.length = seconds(2)});
  Arrival arrival;
  EXPECT_FALSE(trace.Begin());
  EXPECT_TRUE(trace.Next(&arrival));
  EXPECT_EQ(arrival.tenant, "t");
  EXPECT_EQ(trace.Begin(), seconds(0));
  EXPECT_TRUE(trace.Next(&arrival));
  EXPECT_FALSE(trace.Next(&arrival));
  EXPECT_FALSE(trace.Next(&arrival));
  EXPECT_EQ(trace.RowCounts().rows, 3);
}

TEST(Selection, TimesAtTheirLimits) {
  EXPECT_TRUE(Selected(Times({Duration::max() - seconds(1)}), {.start = seconds(2)}).empty());
  EXPECT_THROW(Selected(Times({Duration::min(), Duration::max()}), {.speedup = 2}), InputError);
}

TEST(Selection, AnArrivalThatWouldComeInAnotherCenturyIsRefused) {
  EXPECT_THROW(Selected(EverySecond(3), {.speedup = 1e-12}), InputError);
}

}  // namespace
}  // namespace cosched
