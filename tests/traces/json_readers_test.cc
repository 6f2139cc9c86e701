// The JSON formats, with the traps of each: mooncake, disb, gaps, elastisim; and what every JSON
// reader has to survive.

#include <gtest/gtest.h>

#include "tests/traces/read_trace.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TraceOptions kSkip = {.on_bad_row = OnBadRow::kSkip};

std::string Nested(int depth, const std::string& open, const std::string& close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(Mooncake, MillisecondsTiesAndTokens) {
  const ReadResult trace = ReadText(
      R"({"timestamp": 0, "input_length": 6755, "output_length": 500, "hash_ids": [0, 1, 2]})"
      "\n"
      R"({"timestamp": 0, "input_length": 7319, "output_length": 490, "hash_ids": []})"
      "\r\n\n"
      R"({"timestamp": 3052.5, "input_length": 10, "session_id": "a", "x": {"y": null}})");
  EXPECT_EQ(trace.format, "mooncake");
  ASSERT_EQ(trace.arrivals.size(), 3U);
  EXPECT_EQ(trace.arrivals[1].facts.time, seconds(0));
  EXPECT_EQ(trace.arrivals[2].facts.time, Duration(3'052'500'000));
  EXPECT_EQ(trace.arrivals[0].facts.kind, Arrival::Kind::kRequest);
  EXPECT_EQ(trace.arrivals[0].facts.size, 7255);
  EXPECT_EQ(trace.arrivals[0].cells.at("hash_ids"), "[0,1,2]");
  EXPECT_EQ(trace.arrivals[1].cells.at("hash_ids"), "[]");
  EXPECT_EQ(trace.arrivals[2].facts.size, 10);
  EXPECT_EQ(trace.arrivals[2].tenant, "a");
  EXPECT_EQ(trace.arrivals[2].line, 4);
  EXPECT_EQ(trace.arrivals[0].cells.at("session_id"), "");
}

TEST(Mooncake, BadLinesAreToldOrCounted) {
  const std::string good = R"({"timestamp": 5, "input_length": 1})";
  for (const std::string bad :
       {R"({"timestamp": 6, "input_length": 1)", R"({"timestamp": -6, "input_length": 1})",
        R"({"timestamp": "soon"})", R"({"input_length": 1})", R"([1, 2])", R"("x")", R"({} {})",
        R"({"timestamp": 1e400})", R"({"timestamp": 6, "input_length": 1.5})",
        R"({"timestamp": 6, "timestamp": 7})", R"({"timestamp": 99999999999999999999})"}) {
    const InputErrorDetails error = RefusedText(good + "\n" + bad + "\n", "mooncake");
    EXPECT_EQ(error.line, 2) << bad;
    const ReadResult trace = ReadText(good + "\n" + bad + "\n" + good, "mooncake", kSkip);
    EXPECT_EQ(trace.arrivals.size(), 2U) << bad;
    EXPECT_EQ(trace.counts.skipped, 1) << bad;
    EXPECT_NE(trace.counts.first_skipped.find(":2:"), std::string::npos)
        << trace.counts.first_skipped;
  }
}

TEST(Mooncake, AnyOrderIsSorted) {
  const ReadResult trace = ReadText(
      "{\"timestamp\": 9, \"input_length\": 1}\n{\"timestamp\": 2, \"input_length\": 2}\n");
  ASSERT_EQ(trace.arrivals.size(), 2U);
  EXPECT_EQ(trace.arrivals[0].facts.time, milliseconds(2));
  EXPECT_EQ(trace.arrivals[0].line, 2);
}

constexpr const char* kTasks = R"({
  "time": 2,
  "tasks": [
    {"id": "rt", "load": {"type": "trace", "trace": [0, 150, 250.5]},
     "client": {"model_name": "vgg19", "batch_size": 4}},
    {"load": {"trace": [100, 150], "type": "trace"}, "id": "late id", "client": {}},
    {"id": "beat", "load": {"type": "periodic", "priority": 0, "frequency": 2}},
    {"id": "chance", "load": {"type": "poisson", "frequency": 1000}},
    {"id": "be", "load": {"type": "continuous"}}
  ]
})";

TEST(Disb, EachClientAsksAsItsLoadSays) {
  const ReadResult trace = ReadText(kTasks);
  EXPECT_EQ(trace.format, "disb");
  std::map<std::string, std::vector<Duration>> times;
  for (const ReadArrival& arrival : trace.arrivals)
    times[arrival.tenant].push_back(arrival.facts.time);
  EXPECT_EQ(times["rt"],
            (std::vector<Duration>{seconds(0), milliseconds(150), Duration(250'500'000)}));
  EXPECT_EQ(times["late id"], (std::vector<Duration>{milliseconds(100), milliseconds(150)}));
  EXPECT_EQ(times["beat"],
            (std::vector<Duration>{seconds(0), milliseconds(500), seconds(1), milliseconds(1500)}));
  EXPECT_NEAR(static_cast<double>(times["chance"].size()), 2000, 5 * 45);
  EXPECT_LT(times["chance"].back(), seconds(2));
  EXPECT_EQ(times.count("be"), 0U) << "a closed loop has no arrivals of its own";
  EXPECT_EQ(trace.arrivals[0].facts.kind, Arrival::Kind::kRequest);
  for (const ReadArrival& arrival : trace.arrivals) {
    if (arrival.tenant != "rt") continue;
    EXPECT_EQ(arrival.facts.size, 4);
    EXPECT_EQ(arrival.cells.at("client.model_name"), "vgg19");
    EXPECT_EQ(arrival.cells.at("load.type"), "trace");
  }
  EXPECT_EQ(trace.counts.rows, 5 + 3);  // Offsets, and the tasks without any.
}

TEST(Disb, DrawsFromTheSeed) {
  TraceOptions other;
  other.seed = 2;
  const auto times = [](const TraceOptions& options) {
    std::vector<Duration> all;
    for (const ReadArrival& arrival : ReadText(kTasks, "", options).arrivals)
      all.push_back(arrival.facts.time);
    return all;
  };
  EXPECT_EQ(times({}), times({}));
  EXPECT_NE(times({}), times(other));
}

TEST(Disb, WhatIsWrongIsNamed) {
  const auto task = [](const std::string& load) {
    return "{\"tasks\": [\n{\"id\": \"a\", \"load\": {" + load + "}}]}";
  };
  EXPECT_EQ(RefusedText(task(R"("type": "trace", "trace": [1, -2])")).key, "load.trace");
  EXPECT_EQ(RefusedText(task(R"("type": "trace", "trace": [1, [2]])")).key, "load.trace");
  EXPECT_EQ(RefusedText(task(R"("type": "trace", "trace": [1, "x"])")).line, 2);
  EXPECT_EQ(RefusedText(task(R"("type": "trace")")).key, "load.trace");
  EXPECT_EQ(RefusedText(task(R"("type": "steady")")).key, "load.type");
  EXPECT_EQ(RefusedText(task(R"("type": "steady", "trace": [1])")).key, "load.type");
  EXPECT_EQ(RefusedText(task(R"("type": "poisson")")).key, "load.frequency");
  EXPECT_EQ(RefusedText(task(R"("type": "poisson", "frequency": 5)")).key, "time");
  EXPECT_EQ(RefusedText(task(R"("type": "continuous")")).key, "tasks");
  EXPECT_EQ(RefusedText(R"({"tasks": [], "load": 1, "type": 2})").key, "tasks");
  EXPECT_EQ(RefusedText(R"({"tasks": [5], "load": 1, "type": 2})").key, "tasks");
  EXPECT_EQ(RefusedText(R"({"tasks": 5, "load": 1, "type": 2})").key, "tasks");
  const ReadResult skipped = ReadText(task(R"("type": "trace", "trace": [1, -2, 3])"), "", kSkip);
  EXPECT_EQ(skipped.arrivals.size(), 2U);
  EXPECT_EQ(skipped.counts.skipped, 1);
}

TEST(Gaps, AddUpExactly) {
  const ReadResult trace = ReadText("[0.1, 0.2, 0,\n 1e-9, 3]\n");
  EXPECT_EQ(trace.format, "gaps");
  ASSERT_EQ(trace.arrivals.size(), 5U);
  EXPECT_EQ(trace.arrivals[1].facts.time, milliseconds(300));
  EXPECT_EQ(trace.arrivals[3].facts.time, Duration(300'000'001));
  EXPECT_EQ(trace.arrivals[4].facts.time, Duration(3'300'000'001));
  EXPECT_EQ(trace.arrivals[4].line, 2);
  EXPECT_EQ(trace.arrivals[3].cells.at("gap_s"), "1e-9");
}

TEST(Gaps, WhatIsNoGapIsRefused) {
  EXPECT_EQ(RefusedText("[1, -1]", "gaps").key, "gap_s");
  EXPECT_EQ(RefusedText("[1,\n null]", "gaps").line, 2);
  EXPECT_EQ(RefusedText("[9e9, 9e9]", "gaps").key, "gap_s");
  for (const char* text :
       {"[]", "[1, [2]]", "{\"a\": 1}", "[1, {}]", "5", "[1", "[1,]", "[1] 2", "[NaN]", "[1 2]"}) {
    RefusedText(text, "gaps");
  }
  EXPECT_EQ(ReadText("[1, null, 2]", "gaps", kSkip).counts.skipped, 1);
}

constexpr const char* kJobs = R"({"jobs": [
  {"type": "malleable", "submit_time": 159.25, "num_nodes_min": 2, "num_nodes_max": 16,
   "application_model": "model.json", "walltime": 60,
   "arguments": {"flops": 131866146977721, "alpha": 0.79, "work": "x/num_nodes"},
   "attributes": {"priority": 7, "name": "special"}},
  {"type": "rigid", "submit_time": 81, "num_nodes": 14, "application_model": "other.json"},
  {"type": "adaptive", "submit_time": 81, "num_nodes_min": "x/2", "num_nodes_max": "8"}
], "more": [1, {"jobs": []}]})";

TEST(Elastisim, ClassesNodesAndExpressions) {
  const ReadResult trace = ReadText(kJobs);
  EXPECT_EQ(trace.format, "elastisim");
  ASSERT_EQ(trace.arrivals.size(), 3U);
  const ReadArrival& rigid = trace.arrivals[0];
  EXPECT_EQ(rigid.cells.at("type"), "rigid");
  EXPECT_EQ(rigid.facts.time, seconds(81));
  EXPECT_EQ(rigid.facts.cores_min, 14);
  EXPECT_EQ(rigid.facts.cores_preferred, 14);
  EXPECT_EQ(rigid.facts.cores_max, 14);
  EXPECT_EQ(rigid.tenant, "other.json");
  EXPECT_EQ(rigid.line, 6);
  const ReadArrival& expression = trace.arrivals[1];  // In a tie, the first in the file is first.
  EXPECT_FALSE(expression.facts.cores_min.has_value()) << "an expression is never evaluated";
  EXPECT_EQ(expression.facts.cores_max, 8);
  EXPECT_EQ(expression.cells.at("num_nodes_min"), "x/2");
  const ReadArrival& malleable = trace.arrivals[2];
  EXPECT_EQ(malleable.facts.time, Duration(159'250'000'000));
  EXPECT_EQ(malleable.facts.cores_min, 2);
  EXPECT_FALSE(malleable.facts.cores_preferred.has_value());
  EXPECT_EQ(malleable.facts.cores_max, 16);
  EXPECT_EQ(malleable.facts.priority, 7);
  EXPECT_FALSE(malleable.facts.duration.has_value()) << "walltime is a limit";
  EXPECT_EQ(malleable.cells.at("arguments.work"), "x/num_nodes");
  EXPECT_EQ(malleable.cells.at("arguments.flops"), "131866146977721");
}

TEST(Elastisim, WhatIsWrongIsNamed) {
  const auto job = [](const std::string& rest) {
    return "{\"jobs\": [\n{\"application_model\": \"m\", " + rest + "}]}";
  };
  const struct {
    const char* rest;
    const char* key;
  } kCases[] = {
      {R"("type": "rigid", "num_nodes": 2)", "submit_time"},
      {R"("type": "rigid", "submit_time": "x/2", "num_nodes": 2)", "submit_time"},
      {R"("type": "rigid", "submit_time": -1, "num_nodes": 2)", "submit_time"},
      {R"("submit_time": 1, "num_nodes": 2)", "type"},
      {R"("type": "elastic", "submit_time": 1, "num_nodes": 2)", "type"},
      {R"("type": "rigid", "submit_time": 1)", "num_nodes"},
      {R"("type": "rigid", "submit_time": 1, "num_nodes": 0)", "num_nodes"},
      {R"("type": "rigid", "submit_time": 1, "num_nodes": 2.5)", "num_nodes"},
      {R"("type": "malleable", "submit_time": 1, "num_nodes": 2)", "num_nodes_min"},
      {R"("type": "malleable", "submit_time": 1, "num_nodes_min": 2)", "num_nodes_max"},
      {R"("type": "malleable", "submit_time": 1, "num_nodes_min": 4, "num_nodes_max": 2)",
       "num_nodes_min"},
      {R"("type": "rigid", "submit_time": 1, "num_nodes": 1, "attributes": {"priority": "x"})",
       "attributes.priority"},
  };
  for (const auto& [rest, key] : kCases) {
    const InputErrorDetails error = RefusedText(job(rest), "elastisim");
    EXPECT_EQ(error.key, key) << rest;
    EXPECT_EQ(error.line, 2) << rest;
  }
}

// JSON that is no trace: an InputError for each, whatever the format, in bounded time and memory.
TEST(JsonFormats, HostileInputEndsInAnError) {
  const std::string in_jobs = "{\"jobs\": [{\"a\": ";
  const std::string inputs[] = {
      "",
      "{",
      "[",
      "nul",
      "{\"jobs\": [{]}",
      Nested(100'000, "[", "]"),
      Nested(100'000, "{\"a\":", "}"),
      in_jobs + Nested(100'000, "[", ""),
      in_jobs + Nested(100'000, "{\"jobs\":[", ""),
      in_jobs + "\"" + std::string(3 << 20, 'x') + "\"}]}",
      in_jobs + std::string(3 << 20, '1') + "}]}",
      in_jobs + std::string(3 << 20, ' ') + "1}]}",
      in_jobs + "\"\xff\xfe\"}]}",
      in_jobs + "\"\\ud800\"}]}",
      std::string("{\"jobs\": \0 1}", 13),
      "{\"jobs\": [{}, {}, {}]}",
      "{\"tasks\": [{}, {}, {}]}",
      "{\"tasks\": [{\"load\": {\"trace\": [[[[1]]]]}}]}",
  };
  for (const char* format : {"mooncake", "disb", "gaps", "elastisim", "tfcs"}) {
    for (const std::string& input : inputs) RefusedText(input, format);
  }
}

// A record may not be large, nor may a file have any number of keys.
TEST(JsonFormats, KeysAndObjectsAreBounded) {
  std::string many = R"({"jobs": [{"type": "rigid", "submit_time": 1, "num_nodes": 1)";
  for (int i = 0; i < 300; ++i) many += ", \"key" + std::to_string(i) + "\": 1";
  EXPECT_NE(RefusedText(many + "}]}", "elastisim").problem.find("256 keys"), std::string::npos);
  std::string spread = R"({"jobs": [)";
  for (int i = 0; i < 300; ++i) {
    if (i > 0) spread += ',';
    spread += R"({"type": "rigid", "submit_time": 1, "num_nodes": 1, "key)";
    spread += std::to_string(i);
    spread += "\": 1}";
  }
  EXPECT_NE(RefusedText(spread + "]}", "elastisim").problem.find("256 keys"), std::string::npos);
  const std::string half = std::string(600'000, 'x');
  EXPECT_NE(
      RefusedText(R"({"jobs": [{"a": ")" + half + R"(", "b": ")" + half + R"("}]})", "elastisim")
          .problem.find("1 MiB"),
      std::string::npos);
}

}  // namespace
}  // namespace cosched
