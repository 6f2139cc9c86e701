// The traps of the request formats: exact times, unusual line ends, headers of several versions,
// rows out of order, counts that have to be spread.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/traces/read_trace.h"

namespace cosched {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

std::vector<int64_t> Times(const ReadResult& trace) {
  std::vector<int64_t> times;
  for (const ReadArrival& arrival : trace.arrivals) times.push_back(arrival.facts.time.count());
  return times;
}

TEST(AzureLlm, ExactTo100NanosecondsWithCrlfAndNoFinalNewline) {
  const ReadResult trace = ReadText(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
      "2023-11-16 18:15:46.6805900,374,44\r\n"
      "2023-11-16 18:15:46.6805901,396,109\r\n"
      "2023-11-16 18:15:50.9951690,879,55");
  EXPECT_EQ(trace.format, "azure-llm");
  ASSERT_EQ(trace.arrivals.size(), 3U);
  EXPECT_EQ(trace.arrivals[0].facts.time.count(), 1700158546 * kSecond + 680'590'000);
  EXPECT_EQ((trace.arrivals[1].facts.time - trace.arrivals[0].facts.time).count(), 100);
  EXPECT_EQ(trace.arrivals[2].facts.size, 879 + 55);
  EXPECT_EQ(trace.arrivals[2].cells.at("GeneratedTokens"), "55");
  EXPECT_EQ(trace.arrivals[2].facts.kind, Arrival::Kind::kRequest);
  EXPECT_EQ(trace.arrivals[2].line, 4);
}

TEST(AzureLlm, The2024FilesNameAZone) {
  const ReadResult trace = ReadText(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
      "2024-05-10 00:00:00.009930+00:00,2162,5\n");
  EXPECT_EQ(trace.arrivals.at(0).facts.time.count(), 1715299200 * kSecond + 9'930'000);
}

TEST(AzureLlm, MalformedRowsNameLineColumnAndContent) {
  const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  const InputErrorDetails date = RefusedText(header + "2023-11-16 25:00:00,1,1\n");
  EXPECT_EQ(date.line, 2);
  EXPECT_EQ(date.key, "TIMESTAMP");
  EXPECT_NE(date.problem.find("2023-11-16 25:00:00"), std::string::npos);
  EXPECT_EQ(RefusedText(header + "2023-11-16 05:00:00,-1,1\n").key, "ContextTokens");
  EXPECT_EQ(RefusedText(header + "2023-11-16 05:00:00,1,1.5\n").key, "GeneratedTokens");
  EXPECT_EQ(RefusedText(header + "2023-11-16 05:00:01,1,1\n2023-11-16 05:00:00,1,1\n").line, 3);
  EXPECT_EQ(RefusedText("TIMESTAMP,GeneratedTokens\n", "azure-llm").key, "ContextTokens");
}

TEST(AzureLlm, SkippedRowsAreCountedAndTheFirstIsTold) {
  const ReadResult trace = ReadText(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
      "2023-11-16 05:00:00,1,1\nrubbish\n2023-11-16 04:00:00,1,1\n\n2023-11-16 06:00:00,x,1\n"
      "2023-11-16 05:00:00,2,2\n",
      "", {.on_bad_row = OnBadRow::kSkip});
  EXPECT_EQ(trace.arrivals.size(), 2U);
  EXPECT_EQ(trace.counts.rows, 5);
  EXPECT_EQ(trace.counts.skipped, 3);
  EXPECT_NE(trace.counts.first_skipped.find("memory:3: has 1 cells: \"rubbish\""),
            std::string::npos);
}

TEST(Vidur, SeventeenDigitsAndAnyOrderOfColumns) {
  const ReadResult trace = ReadText(
      "num_decode_tokens,arrived_at,num_prefill_tokens,pd_ratio\n"
      "44,0.0,374,8.5\n109,4.3145789999999998,396,3.6\n7,12.499999999500001,1.0,2\n"
      "7,12.4999999995,1,2\n");
  EXPECT_EQ(trace.format, "vidur");
  EXPECT_EQ(Times(trace), (std::vector<int64_t>{0, 4'314'579'000, 12'500'000'000, 12'500'000'000}));
  EXPECT_EQ(trace.arrivals[1].facts.size, 505);
  EXPECT_EQ(trace.arrivals[1].cells.at("pd_ratio"), "3.6");
}

TEST(BurstGpt, OldHeaderTiesAndFailedRows) {
  const ReadResult trace = ReadText(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n5,GPT-4,1087,0,1087,API log\n"
      "45,ChatGPT,417,276,693,Conversation log\n");
  EXPECT_EQ(trace.format, "burstgpt");
  EXPECT_EQ(Times(trace), (std::vector<int64_t>{5 * kSecond, 5 * kSecond, 45 * kSecond}));
  EXPECT_EQ(trace.arrivals[0].tenant, "ChatGPT");
  EXPECT_EQ(trace.arrivals[1].tenant, "GPT-4") << "a failed request is an arrival";
  EXPECT_EQ(trace.arrivals[1].cells.at("Response tokens"), "0");
  EXPECT_EQ(trace.arrivals[2].facts.size, 693);
  EXPECT_FALSE(trace.arrivals[2].facts.duration.has_value());
}

TEST(BurstGpt, NewHeaderIsReadByName) {
  const ReadResult trace = ReadText(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,"
      "Log Type\n9.5,,2.25,ChatGPT,10,20,30,API log\n3.25,17,,GPT-4,1,2,3,Conversation log\n");
  EXPECT_EQ(Times(trace), (std::vector<int64_t>{3'250'000'000, 9'500'000'000})) << "sorted";
  EXPECT_EQ(trace.arrivals[0].tenant, "GPT-4");
  EXPECT_EQ(trace.arrivals[0].cells.at("Session ID"), "17");
  EXPECT_FALSE(trace.arrivals[0].facts.duration.has_value());
  EXPECT_EQ(trace.arrivals[1].facts.duration, Duration(2'250'000'000));
  EXPECT_EQ(trace.arrivals[1].line, 2) << "the line in the file, whatever the order";
}

TEST(AzureFunctions2021, StartsAreEndsMinusDurationsAndSorted) {
  const ReadResult trace = ReadText(
      "app,func,end_timestamp,duration\n"
      "a,f1,0.07999992370605469,0.078\na,f2,10.5,10.25\nb,f3,2.0,5.5\nb,f4,0.25,0\n");
  EXPECT_EQ(trace.format, "azure-functions-2021");
  EXPECT_EQ(Times(trace),
            (std::vector<int64_t>{-3'500'000'000, 1'999'924, 250'000'000, 250'000'000}));
  EXPECT_EQ(trace.arrivals[0].tenant, "f3") << "under way before the recording began";
  EXPECT_EQ(trace.arrivals[2].tenant, "f2") << "ties in the order of the file";
  EXPECT_EQ(trace.arrivals[3].tenant, "f4");
  EXPECT_EQ(trace.arrivals[2].facts.duration, Duration(10'250'000'000));
  EXPECT_EQ(RefusedText("app,func,end_timestamp,duration\na,f,1,-1\n").key, "duration");
}

TEST(RateSeries, ZeroRunsTrailingBlankAndLineEnds) {
  for (const char* text : {"2 0 0 1 3 ", "2 0 0 1 3", "2\n0\n0\n1\n3\n", "2\t0  0 1.0 3\r\n"}) {
    const ReadResult trace = ReadText(text);
    EXPECT_EQ(trace.format, "rate-series");
    EXPECT_EQ(Times(trace),
              (std::vector<int64_t>{0, 0, 3 * kSecond, 4 * kSecond, 4 * kSecond, 4 * kSecond}))
        << text;
    EXPECT_EQ(trace.counts.rows, 5);
    EXPECT_EQ(trace.arrivals[0].cells.at("count"), "2");
  }
}

TEST(RateSeries, OneLineOfMegabytes) {
  std::string text;
  int64_t expected = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    text += i % 1000 == 999 ? "12 " : "0 ";
    expected += i % 1000 == 999 ? 12 : 0;
  }
  ASSERT_GT(text.size(), size_t{TextInput::kLongestLine});
  const OpenedTrace trace =
      OpenTrace(std::make_unique<TextInput>(OpenBytes(text, "memory"), "memory"));
  Arrival arrival;
  int64_t arrivals = 0;
  while (trace.reader->Next(&arrival)) ++arrivals;
  EXPECT_EQ(arrivals, expected);
  EXPECT_EQ(arrival.time, std::chrono::seconds(999'999));
}

TEST(RateSeries, MalformedCountsAreToldBySecond) {
  const InputErrorDetails error = RefusedText("1 2 -3 4", "rate-series");
  EXPECT_EQ(error.key, "second 2");
  EXPECT_NE(error.problem.find("-3"), std::string::npos);
  for (const char* bad : {"1 2.5", "1 99999999999", "1 1e400", "1 two", "1,2"}) {
    RefusedText(bad, "rate-series");
  }
  RefusedText(std::string(3'000'000, '7'), "rate-series");
  const ReadResult trace = ReadText("1 two 1", "rate-series", {.on_bad_row = OnBadRow::kSkip});
  EXPECT_EQ(Times(trace), (std::vector<int64_t>{0, 2 * kSecond})) << "time passes all the same";
  EXPECT_EQ(trace.counts.skipped, 1);
}

TEST(RateSeries, SpreadOnRequest) {
  const ReadResult trace = ReadText("3 0 2", "", {.spread = Spread::kUniform});
  ASSERT_EQ(trace.arrivals.size(), 5U);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(trace.arrivals[i].facts.time / std::chrono::seconds(1), i < 3 ? 0 : 2);
  }
  EXPECT_NE(trace.arrivals[0].facts.time, trace.arrivals[1].facts.time);
}

std::string InvocationsHeader(int minutes) {
  std::string header = "HashOwner,HashApp,HashFunction,Trigger";
  for (int minute = 1; minute <= minutes; ++minute) header += "," + std::to_string(minute);
  return header + "\n";
}

std::string InvocationsRow(const std::string& name, const std::vector<int>& counts) {
  std::string row = "o" + name + ",a" + name + ",f" + name + ",http";
  for (const int count : counts) row += "," + std::to_string(count);
  return row + "\n";
}

TEST(AzureFunctions2019, WideRowsBecomeArrivalsInOrderOfTime) {
  std::vector<int> x(1440, 0);
  std::vector<int> y(1440, 0);
  x[0] = 5, x[1439] = 2;
  y[0] = 1, y[700] = 3;
  const std::string text = InvocationsHeader(1440) + InvocationsRow("x", x) +
                           InvocationsRow("none", std::vector<int>(1440, 0)) +
                           InvocationsRow("y", y);
  const ReadResult trace = ReadText(text);
  EXPECT_EQ(trace.format, "azure-functions-2019");
  EXPECT_EQ(trace.columns, (std::vector<std::string>{"HashOwner", "HashApp", "HashFunction",
                                                     "Trigger", "minute", "count"}));
  EXPECT_EQ(trace.counts.rows, 3);
  ASSERT_EQ(trace.arrivals.size(), 11U);
  std::map<std::pair<std::string, int64_t>, int> counted;
  for (const ReadArrival& arrival : trace.arrivals) {
    const int64_t minute = arrival.facts.time / std::chrono::minutes(1);
    EXPECT_EQ(arrival.cells.at("minute"), std::to_string(minute + 1));
    EXPECT_EQ(arrival.cells.at("HashFunction"), arrival.tenant);
    EXPECT_EQ(arrival.line, arrival.tenant == "fx" ? 2 : 4);
    ++counted[{arrival.tenant, minute}];
  }
  using Counted = std::map<std::pair<std::string, int64_t>, int>;
  EXPECT_EQ(counted,
            (Counted{{{"fx", 0}, 5}, {{"fx", 1439}, 2}, {{"fy", 0}, 1}, {{"fy", 700}, 3}}));
}

TEST(AzureFunctions2019, TheRuleIsSeededAndAFunctionsOwn) {
  const std::string one = InvocationsHeader(2) + InvocationsRow("x", {4, 4});
  const std::string two =
      InvocationsHeader(2) + InvocationsRow("y", {3, 0}) + InvocationsRow("x", {4, 4});
  for (const Spread spread : {Spread::kUniform, Spread::kExponential}) {
    const std::vector<int64_t> times = Times(ReadText(one, "", {.seed = 5, .spread = spread}));
    EXPECT_EQ(times, Times(ReadText(one, "", {.seed = 5, .spread = spread})));
    EXPECT_NE(times, Times(ReadText(one, "", {.seed = 6, .spread = spread})));
    EXPECT_EQ(std::set<int64_t>(times.begin(), times.end()).size(), 8U);
    std::vector<int64_t> of_x;
    for (const ReadArrival& arrival : ReadText(two, "", {.seed = 5, .spread = spread}).arrivals) {
      if (arrival.tenant == "fx") of_x.push_back(arrival.facts.time.count());
    }
    EXPECT_EQ(of_x, times) << "another function moves nothing";
  }
  EXPECT_EQ(Times(ReadText(one, "", {.spread = Spread::kExponential}))[4], 60 * kSecond)
      << "a minute's first arrival is at its start";
  EXPECT_EQ(
      Times(ReadText(one, "", {.spread = Spread::kStart})),
      (std::vector<int64_t>{0, 0, 0, 0, 60 * kSecond, 60 * kSecond, 60 * kSecond, 60 * kSecond}));
}

// Mean 1/2 and variance 1/12 of the minute, to within five standard errors.
TEST(AzureFunctions2019, UniformIsUniform) {
  const int count = 100'000;
  const ReadResult trace = ReadText(InvocationsHeader(1) + InvocationsRow("x", {count}));
  ASSERT_EQ(trace.arrivals.size(), static_cast<size_t>(count));
  double sum = 0;
  double squares = 0;
  for (const ReadArrival& arrival : trace.arrivals) {
    const double at = ToSeconds(arrival.facts.time) / 60;
    sum += at;
    squares += (at - 0.5) * (at - 0.5);
  }
  EXPECT_NEAR(sum / count, 0.5, 5 * std::sqrt(1.0 / 12 / count));
  EXPECT_NEAR(squares / count, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / count));
}

TEST(AzureFunctions2019, MalformedRowsAndHeaders) {
  EXPECT_EQ(RefusedText(InvocationsHeader(2) + InvocationsRow("x", {1, -1})).key, "2");
  EXPECT_EQ(RefusedText(InvocationsHeader(2) + InvocationsRow("x", {1})).line, 2);
  EXPECT_EQ(RefusedText(InvocationsHeader(2) + "o,a,f,http,1,99999999999\n").key, "2");
  EXPECT_EQ(RefusedText("HashFunction,0\nf,1\n", "azure-functions-2019").key, "0");
  EXPECT_EQ(RefusedText("HashFunction,Trigger\nf,1\n", "azure-functions-2019").key, "1");
  const ReadResult trace =
      ReadText(InvocationsHeader(2) + InvocationsRow("x", {1, -1}) + InvocationsRow("y", {0, 2}),
               "", {.on_bad_row = OnBadRow::kSkip});
  EXPECT_EQ(trace.counts.skipped, 1);
  EXPECT_EQ(trace.arrivals.size(), 2U) << "no part of a malformed row is kept";
}

class AzureFunctions2019Files : public testing::Test {
 protected:
  AzureFunctions2019Files() { std::filesystem::create_directory(folder_); }
  ~AzureFunctions2019Files() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("functions-" + std::to_string(getpid()));
};

TEST_F(AzureFunctions2019Files, DurationsComeFromTheDaysOtherFile) {
  const std::string rows =
      InvocationsHeader(2) + InvocationsRow("x", {1, 0}) + InvocationsRow("y", {0, 1});
  const std::string durations =
      "HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum\n"
      "ox,ax,fx,1500.5,3.0,1,2\noz,az,fz,2,1,1,1\n";
  const auto of = [](const ReadResult& trace, size_t i) {
    return trace.arrivals.at(i).facts.duration;
  };
  const std::filesystem::path trace = Write("invocations_per_function_md.anon.d01.csv", rows);
  EXPECT_EQ(of(Drain(OpenTrace(trace)), 0), std::nullopt);
  const std::filesystem::path other = Write("other.csv", durations);
  const ReadResult explicitly = Drain(OpenTrace(trace, "", {.durations = other}));
  EXPECT_EQ(of(explicitly, 0), Duration(1'500'500'000));
  EXPECT_EQ(of(explicitly, 1), std::nullopt) << "not among them";
  Write("function_durations_percentiles.anon.d01.csv", durations);
  EXPECT_EQ(of(Drain(OpenTrace(trace)), 0), Duration(1'500'500'000)) << "found by its name";
  const std::filesystem::path bad = Write("bad.csv", durations + "o,a,f,long,1,1,1\n");
  EXPECT_THROW(OpenTrace(trace, "", {.durations = bad}), InputError);
  EXPECT_THROW(OpenTrace(trace, "", {.durations = folder_ / "none.csv"}), InputError);
}

}  // namespace
}  // namespace cosched
