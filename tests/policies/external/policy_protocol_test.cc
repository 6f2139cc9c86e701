// What a program is told of pipelines, and what it may answer of them, as texts.

#include "policies/external/policy_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

namespace cosched {
namespace {

using ::testing::HasSubstr;
using Parsed = nlohmann::json;

// Job 1 is a pipeline of two stages, the second of which waits; job 2 trains.
Parsed ViewAsTold() {
  const Topology topology = Topology::Synthetic("pack:1 core:2 pu:1");
  JobView pipeline;
  pipeline.id = {1};
  pipeline.service = ServiceId{0};
  pipeline.open_range = {.at_start = 2, .most = 8};
  pipeline.open_requests = 3;
  JobView training;
  training.id = {2};
  const ServerWindow window{.in_flight = 7,
                            .cpu_time = std::chrono::milliseconds(1500),
                            .stages = {{.ready = 4,
                                        .running = 2,
                                        .parked = 1,
                                        .items = 9,
                                        .calls = 5,
                                        .taken = 10,
                                        .busy = std::chrono::milliseconds(250),
                                        .lasted = std::chrono::milliseconds(500)},
                                       {.waits = true}},
                            .open = 3};
  MachineView view;
  view.topology = &topology;
  view.cores = CpuSet{0, 1};
  view.services = {{.id = {0}, .name = "adding", .servers = {{JobId{1}, window}}},
                   {.id = {1}, .name = "plain", .servers = {{DeviceId{0}, ServerWindow()}}}};
  view.services[1].mean_work = 2.5;
  view.devices = {{.id = {0}, .name = "gpu", .node = 0, .slots = 2, .busy = 0.75}};
  view.jobs = JobTable{pipeline, training};
  return Parsed::parse(DecideRequest(view, WindowOver{}, false, false))["view"];
}

TEST(PolicyProtocol, OfAPipelineStagesAreTold) {
  const Parsed server = ViewAsTold()["services"][0]["servers"][0];
  EXPECT_EQ(server["job"], 1);
  EXPECT_EQ(server["in_flight"], 7);
  EXPECT_EQ(server["open"], 3);
  EXPECT_EQ(server["cpu_time_s"], 1.5);
  ASSERT_EQ(server["stages"].size(), 2U);
  EXPECT_EQ(server["stages"][0], Parsed::parse(R"({"ready": 4, "running": 2, "parked": 1,
      "items": 9, "calls": 5, "taken": 10, "busy_s": 0.25, "lasted_s": 0.5, "waits": false})"));
  EXPECT_EQ(server["stages"][1]["waits"], true);
}

TEST(PolicyProtocol, OnlyPipelinesHaveOpenRequestsAndStages) {
  const Parsed view = ViewAsTold();
  EXPECT_EQ(view["jobs"][0]["open_requests"], 3);
  EXPECT_EQ(view["jobs"][0]["most_open_requests"], 8);
  EXPECT_FALSE(view["jobs"][1].contains("open_requests"));
  EXPECT_FALSE(view["jobs"][1].contains("most_open_requests"));
  const Parsed device = view["services"][1]["servers"][0];
  for (const char* key : {"stages", "open", "cpu_time_s"})
    EXPECT_FALSE(device.contains(key)) << key;
}

TEST(PolicyProtocol, DevicesAndTheWorkOfRequestsAreTold) {
  const Parsed view = ViewAsTold();
  EXPECT_EQ(view["services"][1]["mean_work"], 2.5);
  EXPECT_EQ(view["devices"], Parsed::parse(R"([{"id": 0, "name": "gpu", "node": 0, "slots": 2,
      "busy": 0.75}])"));
}

std::optional<int> OpenRequestsOf(const Allocation& allocation, int64_t job) {
  return std::get<Run>(allocation.jobs.at({job})).open_requests;
}

TEST(PolicyProtocol, AnAnswerMaySetOpenRequests) {
  const Allocation allocation = ParseDecision(
      R"({"jobs": {"1": {"cores": "0-1", "open_requests": 4}, "2": {"share": 0.5, "open_requests": 1},
                   "3": {"cores": 2}, "4": 2}})");
  EXPECT_EQ(OpenRequestsOf(allocation, 1), 4);
  EXPECT_EQ(OpenRequestsOf(allocation, 2), 1);
  EXPECT_EQ(OpenRequestsOf(allocation, 3), std::nullopt);
  EXPECT_EQ(OpenRequestsOf(allocation, 4), std::nullopt);
}

std::string WhyRefused(const std::string& job) {
  try {
    ParseDecision("{\"jobs\": {\"1\": " + job + "}}");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "it is taken";
}

TEST(PolicyProtocol, OpenRequestsThatAreNoneAreRefused) {
  for (const char* count :
       {"0", "-1", "1.5", "\"4\"", "[2]", "true", "null", "1e30", "5000000000"}) {
    EXPECT_EQ(WhyRefused(std::string(R"({"cores": 1, "open_requests": )") + count + "}"),
              "job 1: open_requests is " + Parsed::parse(count).dump() +
                  ", not a number of requests from 1 on");
  }
  EXPECT_THAT(WhyRefused(R"({"open_requests": 2})"), HasSubstr("or neither"));
  EXPECT_THAT(WhyRefused(R"({"cores": 1, "open": 2})"), HasSubstr("there is no key \"open\""));
}

}  // namespace
}  // namespace cosched
