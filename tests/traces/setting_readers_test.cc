// Formats from which arrivals are made rather than listed: tfcs (the published container
// scheduler's request files and parameters) and loadgen (MLPerf LoadGen's settings).

#include <gtest/gtest.h>

#include "tests/traces/read_trace.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TraceOptions kSkip = {.on_bad_row = OnBadRow::kSkip};

TEST(Tfcs, GapsComeBeforeTheirRequestsAndUpdatesAreNoArrivals) {
  const ReadResult trace = ReadText(
      "execution,0,tf_scheduler,8,40.5,3\n"
      "update,0,tf_scheduler,12,1,0\n"
      "execution,1,tf_scheduler,2,[38.25],0\r\n"
      "\n"
      "execution,2,other,16,-1.5\n"
      "update,0,tf_scheduler,4,0.5");
  EXPECT_EQ(trace.format, "tfcs");
  ASSERT_EQ(trace.arrivals.size(), 3U);
  EXPECT_EQ(trace.counts.rows, 5);
  const ReadArrival& first = trace.arrivals[0];
  EXPECT_EQ(first.facts.time, milliseconds(40'500));
  EXPECT_EQ(first.facts.cores_preferred, 8);
  EXPECT_EQ(first.facts.priority, 3);
  EXPECT_EQ(first.tenant, "tf_scheduler");
  EXPECT_EQ(first.cells.at("updates"), "41500ms:12 80250ms:4");
  EXPECT_EQ(trace.arrivals[1].facts.time, milliseconds(79'750));  // The update's gap counts.
  EXPECT_EQ(trace.arrivals[1].facts.priority, 0);
  EXPECT_EQ(trace.arrivals[2].facts.time, milliseconds(79'750));  // Nobody waits -1.5 s.
  EXPECT_FALSE(trace.arrivals[2].facts.priority.has_value());
  EXPECT_EQ(trace.arrivals[2].line, 5);
}

TEST(Tfcs, WhatIsWrongIsNamed) {
  const struct {
    const char* line;
    const char* key;
  } kCases[] = {{"execution,1,image,8,soon", "gap_s"},
                {"execution,1,image,8,[1", "gap_s"},
                {"execution,1,image,0,1", "cores"},
                {"execution,1,image,2.5,1", "cores"},
                {"execution,1,image,8,1,high", "priority"},
                {"execution,0,image,8,1", "id"},
                {"update,7,image,8,1", "id"},
                {"execution,1,image,8", ""},
                {"execution,1,image,8,1,2,3", ""},
                {"finish,1,image,8,1", ""},
                {"execution,1,image,8,9e9", ""}};
  for (const auto& [line, key] : kCases) {
    const std::string text = std::string("execution,0,image,8,5e9\n") + line + "\n";
    const InputErrorDetails error = RefusedText(text, "tfcs");
    EXPECT_EQ(error.line, 2) << line;
    if (*key != '\0') {
      EXPECT_EQ(error.key, key) << line;
    }
    EXPECT_EQ(ReadText(text, "tfcs", kSkip).counts.skipped, 1) << line;
  }
  RefusedText("update,0,image,8,1", "tfcs");
}

constexpr const char* kParameters = R"({"policy": "fcfs", "tf_dockerimage": "tf_scheduler",
 "number_containers": 400, "time_distribution": "normal", "time_gap": [40, 5],
 "resources_distribution": "random", "resources_per_container": [8, 16]})";

TEST(Tfcs, ParametersAreDrawnFrom) {
  const ReadResult trace = ReadText(kParameters);
  EXPECT_EQ(trace.format, "tfcs");
  ASSERT_EQ(trace.arrivals.size(), 400U);
  EXPECT_NEAR(ToSeconds(trace.arrivals.back().facts.time), 400 * 40, 5 * 5 * 20);
  std::map<int, int> cores, priorities;
  for (const ReadArrival& arrival : trace.arrivals) {
    ++cores[*arrival.facts.cores_preferred];
    ++priorities[*arrival.facts.priority];
  }
  EXPECT_EQ(cores.begin()->first, 8);
  EXPECT_EQ(cores.rbegin()->first, 15);  // numpy's randint leaves the end out.
  EXPECT_EQ(priorities.size(), 5U);
  TraceOptions other;
  other.seed = 2;
  EXPECT_NE(ReadText(kParameters, "", other).arrivals[0].facts.time, trace.arrivals[0].facts.time);
}

TEST(Tfcs, StaticParametersAreWhatTheySay) {
  const ReadResult trace = ReadText(
      R"({"number_containers": 3, "time_distribution": "static", "time_gap": [15, 0],
          "resources_distribution": "static", "resources_per_container": [8, 0],
          "tf_dockerimage": "i"})");
  ASSERT_EQ(trace.arrivals.size(), 3U);
  EXPECT_EQ(trace.arrivals[2].facts.time, seconds(45));
  EXPECT_EQ(trace.arrivals[2].facts.cores_preferred, 8);
}

TEST(Tfcs, WrongParametersAreNamed) {
  const std::string good = kParameters;
  const auto replaced = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(RefusedText(replaced("400", "0")).key, "number_containers");
  EXPECT_EQ(RefusedText(replaced("\"normal\"", "\"zipf\"")).key, "time_distribution");
  EXPECT_EQ(RefusedText(replaced("[40, 5]", "[40]")).key, "time_gap");
  EXPECT_EQ(RefusedText(replaced("[40, 5]", "[40, -5]")).key, "time_gap");
  EXPECT_EQ(RefusedText(replaced("[8, 16]", "[8, 8]")).key, "resources_per_container");
  EXPECT_EQ(RefusedText(replaced("[8, 16]", "[0, 8]")).key, "resources_per_container");
}

constexpr const char* kSettings =
    "# The format of this config file is 'key = value'.\n"
    "\n"
    "*.*.schedule_rng_seed = 18209322760996052031\n"
    "*.Server.target_latency = 10\n"
    "*.Server.min_duration = 20000\n"
    "resnet50.Server.target_qps = 50.5\n"
    "llama3.1-8b.Offline.min_query_count = 30   # samples\n"
    "llama3.1-8b.Offline.min_duration = 0\n"
    "bert.SingleStream.target_latency = 2.5\n"
    "bert.*.max_query_count = 4\n";

TEST(Loadgen, EachModelAndScenarioIsATenant) {
  const ReadResult trace = ReadText(kSettings);
  EXPECT_EQ(trace.format, "loadgen");
  std::map<std::string, std::vector<ReadArrival>> of;
  for (const ReadArrival& arrival : trace.arrivals) of[arrival.tenant].push_back(arrival);
  ASSERT_EQ(of.size(), 3U);
  const auto& server = of["resnet50.Server"];
  EXPECT_NEAR(static_cast<double>(server.size()), 1010, 5 * 32);
  EXPECT_EQ(server.front().facts.deadline, milliseconds(10));
  EXPECT_EQ(server.front().facts.kind, Arrival::Kind::kRequest);
  EXPECT_EQ(server.front().cells.at("model"), "resnet50");
  EXPECT_EQ(server.front().cells.at("scenario"), "Server");
  EXPECT_LT(server.back().facts.time, seconds(20));
  const auto& offline = of["llama3.1-8b.Offline"];
  ASSERT_EQ(offline.size(), 30U);
  EXPECT_EQ(offline.back().facts.time, seconds(0));
  const auto& stream = of["bert.SingleStream"];
  ASSERT_EQ(stream.size(), 4U);  // max_query_count is reached before LoadGen's 100.
  EXPECT_EQ(stream[3].facts.time, Duration(7'500'000));
  EXPECT_EQ(stream[3].facts.duration, Duration(2'500'000));
  EXPECT_EQ(trace.counts.rows, 8);
}

TEST(Loadgen, SettingsForAnyModelAreEnough) {
  const ReadResult trace = ReadText("*.MultiStream.samples_per_query = 3\n*.*.min_duration = 0\n");
  EXPECT_EQ(trace.arrivals.size(), 300U);
  EXPECT_EQ(trace.arrivals[5].tenant, "MultiStream");
  EXPECT_EQ(trace.arrivals[5].facts.time, milliseconds(8));  // LoadGen's default.
}

TEST(Loadgen, WhatIsWrongIsNamed) {
  for (const char* line :
       {"resnet50.Server.target_qps 5", "resnet50.Server.target_qps = fast", "target_qps = 5",
        "resnet50.Sever.target_qps = 5", "resnet50.Server.target_qps =", "= 5", "a..b = 5"}) {
    const std::string text = std::string("a.Server.target_qps = 5\n") + line + "\n";
    EXPECT_EQ(RefusedText(text, "loadgen").line, 2) << line;
    EXPECT_EQ(ReadText(text, "loadgen", kSkip).counts.skipped, 1) << line;
  }
  EXPECT_EQ(RefusedText("a.Server.target_qps = 0\n").key, "target_qps");
  EXPECT_EQ(RefusedText("a.Server.min_duration = -5\n").key, "min_duration");
  RefusedText("*.*.qsl_rng_seed = 5\n");
}

}  // namespace
}  // namespace cosched
