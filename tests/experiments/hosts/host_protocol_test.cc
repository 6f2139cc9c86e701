// Every message comes back with each of its members, and nothing else is taken.

#include "experiments/hosts/host_protocol.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/experiments/wire/unusual_tenant_spec.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kTime{1'234'567'890'123};

Place SomePlace() { return {CpuSet{0, 2}, CpuShare{1300}, {2, 3}, 5}; }
PipelineCounters SomePipeline() {
  const Duration time(kTime);
  return {.stages = {{1, 2, 3, 4, 5, 6, 7, 8, time, time, true}}, .open = 9, .open_requests = 10};
}

// No member of these has its default.
std::vector<HostCall> Calls() {
  return {BeginCall{.cores = CpuSet{1, 3},
                    .binary = "/bin/cosched",
                    .log_directory = "/logs",
                    .run = "a run",
                    .actuator = Actuator::kQuota,
                    .memory = MemoryMode::kBind,
                    .shares = true,
                    .quota_period = std::chrono::microseconds(5000),
                    .timeouts = {kTime, kTime, kTime, kTime},
                    .sample_threads = true},
          DescribeCall{JobId{7}, UnusualTenantSpec()},
          StartCall{.job = JobId{7},
                    .workload = "net",
                    .request = {2, 3, 4},
                    .elasticity = Elasticity::kMoldable,
                    .threads = Split{5, 6},
                    .steps = 8,
                    .place = SomePlace(),
                    .order = 9},
          GrantCall{JobId{7}, SomePlace(), 2},
          SendCall{JobId{7}, {{11, TimePoint(-kTime), 2.5, ServiceId{1}}, {12, {}, 1, {}}}},
          DrainCall{JobId{7}},
          WakeAtAnswersCall{true},
          QuestionCall{5, "stop", JobId{7}}};
}

std::vector<AgentReport> Reports() {
  const TimePoint time(kTime);
  ObservedReport observed;
  observed.steps = {{JobId{7}, 3, time, kTime, 2, std::nan("")}};
  observed.resizes = {{JobId{7}, time, "grant", {1, 2}, {3, 4}, CpuSet{0}, "Conv2D", kTime}};
  observed.actuations = {{JobId{7}, time, CpuSet{0}, "quota", kTime, std::nullopt}};
  observed.memory_moves = {
      {JobId{7}, time, {CpuSet{0}}, {CpuSet{1}}, kMemoryMoved, 4096, 8192, kTime}};
  observed.requests = {{JobId{7}, 6, time, time, time, time, 8}};
  observed.progress = {{JobId{7}, 0.1 + 0.2, kTime, SomePipeline()}};
  TenantSample sample;
  sample.job = JobId{7};
  sample.time = time;
  sample.granted = CpuSet{0, 1};
  sample.amount = CpuShare{1900};
  sample.runnable_threads = 1;
  sample.compute_threads = 2;
  sample.settling = true;
  sample.run_time = sample.run_queue_wait = sample.spin_time = kTime;
  sample.involuntary_switches = sample.migrations = sample.steps = sample.images = 3;
  sample.throttled = kTime;
  sample.pressure = kTime;
  sample.pipeline = SomePipeline();
  sample.threads = {{41, true, 1, CpuSet{1}, kTime, kTime}};
  return {HelloReport{kHostProtocolVersion + 1, "secret", "n1"}, BegunReport{"no such cores"},
          EventReport{"failed", JobId{7}, "was killed", 4}, observed,
          AnswerReport{5, time, {sample}, {"a mark"}, {{1, kTime}}}};
}

// Each member with a value that is not the one of `usual`, lists by their first item.
void ExpectUnusual(const Json& usual, const Json& unusual, const std::string& where) {
  for (const auto& [name, value] : usual.items()) {
    if (name == "type") continue;
    ASSERT_TRUE(unusual.contains(name));
    EXPECT_NE(value, unusual[name]) << where << "." << name << " is not tried with another value";
    if (value.is_object()) ExpectUnusual(value, unusual[name], fmt::format("{}.{}", where, name));
  }
}

template <typename Message, size_t kIndex = 0>
Message Default(size_t index) {
  if constexpr (kIndex + 1 == std::variant_size_v<Message>) {
    return std::variant_alternative_t<kIndex, Message>{};
  } else {
    if (index == kIndex) return std::variant_alternative_t<kIndex, Message>{};
    return Default<Message, kIndex + 1>(index);
  }
}

template <typename Message>
void ExpectAllComeBack(const std::vector<Message>& messages,
                       Parsed<Message> (*parse)(std::string_view)) {
  std::vector<size_t> kinds;
  for (const Message& message : messages) {
    const std::string text = Encode(message);
    const Parsed<Message> read = parse(text);
    ASSERT_TRUE(read.message) << text << ": " << read.error;
    EXPECT_EQ(read.message->index(), message.index());
    EXPECT_EQ(Encode(*read.message), text);
    ExpectUnusual(Json::parse(Encode(Default<Message>(message.index()))), Json::parse(text),
                  Json::parse(text)["type"]);
    kinds.push_back(message.index());
  }
  for (size_t kind = 0; kind < std::variant_size_v<Message>; ++kind)
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), kind), 1) << "message " << kind;
}

TEST(HostProtocol, EveryCallComesBack) { ExpectAllComeBack(Calls(), &ParseHostCall); }
TEST(HostProtocol, EveryReportComesBack) { ExpectAllComeBack(Reports(), &ParseAgentReport); }

// Values, not only texts.
TEST(HostProtocol, ValuesComeBack) {
  const auto start = std::get<StartCall>(*ParseHostCall(Encode(Calls()[2])).message);
  EXPECT_EQ(start.place, SomePlace());
  EXPECT_EQ(start.request, (CoreRequest{2, 3, 4}));
  EXPECT_EQ(start.threads, (Split{5, 6}));
  const auto send = std::get<SendCall>(*ParseHostCall(Encode(Calls()[4])).message);
  EXPECT_EQ(send.requests.at(0).scheduled, TimePoint(-kTime));
  EXPECT_EQ(send.requests.at(0).work, 2.5);
  const auto observed = std::get<ObservedReport>(*ParseAgentReport(Encode(Reports()[3])).message);
  EXPECT_TRUE(std::isnan(observed.steps.at(0).loss));
  EXPECT_EQ(observed.actuations.at(0).fast, kTime);
  EXPECT_FALSE(observed.actuations.at(0).runtime);
  EXPECT_EQ(observed.memory_moves.at(0).to, NumaNodes{CpuSet{1}});
  EXPECT_EQ(observed.progress.at(0).progress, 0.1 + 0.2);
  const auto answer = std::get<AnswerReport>(*ParseAgentReport(Encode(Reports()[4])).message);
  EXPECT_EQ(answer.samples.at(0).threads.at(0).cores, CpuSet{1});
  EXPECT_EQ(answer.busy.at(0).busy, kTime);
}

TEST(HostProtocol, LossesThatAreNoNumbersComeBack) {
  for (const double loss : {std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(), 1e-300}) {
    ObservedReport report;
    report.steps.resize(1);
    report.steps[0].loss = loss;
    const auto read = ParseAgentReport(Encode(report));
    ASSERT_TRUE(read.message) << read.error;
    EXPECT_EQ(std::get<ObservedReport>(*read.message).steps[0].loss, loss);
  }
}

// A library's message may be in any encoding.
TEST(HostProtocol, ReasonsMayHoldAnyBytes) {
  const auto read = ParseAgentReport(Encode(EventReport{"failed", JobId{1}, "\xFF\n\"", 0}));
  ASSERT_TRUE(read.message) << read.error;
  EXPECT_TRUE(std::get<EventReport>(*read.message).reason.ends_with("\n\""));
}

std::string Refused(size_t call, const std::function<void(Json*)>& change) {
  Json json = Json::parse(Encode(Calls()[call]));
  change(&json);
  const Parsed<HostCall> read = ParseHostCall(json.dump());
  EXPECT_EQ(read.message.has_value(), read.error.empty());
  return read.error;
}

TEST(HostProtocol, WhatIsNoMessageIsRefusedWithTheReason) {
  EXPECT_EQ(Refused(3, [](Json*) {}), "");
  EXPECT_EQ(Refused(3, [](Json* json) { json->erase("job"); }), "has no \"job\"");
  EXPECT_EQ(Refused(3, [](Json* json) { (*json)["job"] = "7"; }),
            "\"job\": is no integer that fits");
  EXPECT_EQ(Refused(3, [](Json* json) { (*json)["job"] = uint64_t{1} << 63; }),
            "\"job\": is no integer that fits");
  EXPECT_EQ(Refused(3, [](Json* json) { (*json)["colour"] = 1; }), "has an unknown \"colour\"");
  EXPECT_EQ(Refused(3, [](Json* json) { json->erase("type"); }), "no \"type\"");
  EXPECT_EQ(Refused(3, [](Json* json) { (*json)["type"] = 3; }), "no \"type\"");
  EXPECT_EQ(Refused(3, [](Json* json) { (*json)["type"] = "gift"; }), "unknown type \"gift\"");
  EXPECT_EQ(Refused(3, [](Json* json) { (*json)["place"]["cores"] = "2-1"; }),
            "\"place\": \"cores\": is unknown");
  EXPECT_EQ(Refused(3, [](Json* json) { (*json)["place"]["threads"] = 3; }),
            "\"place\": \"threads\": is no JSON object");
  EXPECT_EQ(Refused(3, [](Json* json) { (*json)["place"]["amount_milli"] = 2001; }),
            "\"place\": is none");
  EXPECT_EQ(Refused(4, [](Json* json) { (*json)["requests"] = 3; }), "\"requests\": is no list");
  EXPECT_EQ(Refused(4, [](Json* json) { (*json)["requests"][0]["work"] = "much"; }),
            "\"requests\": \"work\": is no number");
  EXPECT_EQ(Refused(7, [](Json* json) { (*json)["what"] = "why"; }), "\"what\": is unknown");
  EXPECT_EQ(Refused(0, [](Json* json) { (*json)["cores"] = ""; }), "\"cores\": are none");
  EXPECT_EQ(Refused(0, [](Json* json) { (*json)["quota_period_us"] = 0; }),
            "\"quota_period_us\": is none");
  EXPECT_EQ(Refused(1, [](Json* json) { (*json)["spec"]["mode"] = "serve"; }),
            "\"spec\": \"mode\": is unknown");
}

// A job is paused by a grant of nothing, but not started on it.
TEST(HostProtocol, OnlyAGrantMayPause) {
  EXPECT_TRUE(ParseHostCall(Encode(GrantCall{JobId{1}, Place::Paused(), 1})).message);
  StartCall start;
  start.job = JobId{1};
  start.place = Place::Paused();
  EXPECT_FALSE(ParseHostCall(Encode(start)).message);
}

TEST(HostProtocol, AnyBytesAreAnswered) {
  const std::string deep(100'000, '[');
  for (const std::string& text : {std::string(), std::string("{"), std::string("[]"), deep,
                                  std::string("\0\xFF", 2), std::string("{\"type\":null}")}) {
    EXPECT_FALSE(ParseHostCall(text).error.empty());
    EXPECT_FALSE(ParseAgentReport(text).error.empty());
  }
  for (const HostCall& call : Calls()) {
    const std::string text = Encode(call);
    for (size_t length = 0; length < text.size(); ++length)
      EXPECT_FALSE(ParseHostCall(text.substr(0, length)).error.empty());
    for (size_t i = 0; i < text.size(); ++i) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      const Parsed<HostCall> read = ParseHostCall(changed);
      ASSERT_EQ(read.message.has_value(), read.error.empty()) << changed;
    }
  }
}

TEST(HostProtocol, LongReportsAreCutInOrder) {
  ObservedReport report;
  for (int64_t i = 0; i < 25; ++i) report.steps.push_back({JobId{1}, i, {}, {}, 0, 0});
  for (int64_t i = 0; i < 3; ++i) report.requests.push_back({JobId{1}, i, {}, {}, {}, {}, 0});
  const std::vector<ObservedReport> parts = InParts(report, 10);
  ASSERT_EQ(parts.size(), 3U);
  int64_t next = 0;
  for (const ObservedReport& part : parts) {
    EXPECT_LE(part.steps.size(), 10U);
    for (const StepSample& step : part.steps) EXPECT_EQ(step.step, next++);
  }
  EXPECT_EQ(next, 25);
  EXPECT_EQ(parts[0].requests.size(), 3U);
  EXPECT_TRUE(parts[1].requests.empty());
  EXPECT_EQ(InParts(report, 25).size(), 1U);
}

}  // namespace
}  // namespace cosched
