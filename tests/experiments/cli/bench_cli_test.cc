// `cosched bench engine` as other programs use it: one JSON object a cell on stdout, with what it
// promises in it. No speed is judged here. And what `cosched bench serve` says of a run.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "engine/kernels/kernel.h"
#include "experiments/bench/bench_serve.h"
#include "tests/experiments/cli/cli_fixture.h"

namespace cosched {
namespace {

using Json = nlohmann::json;

class BenchCliTest : public CliTest {
 protected:
  std::vector<Json> Rows(std::vector<std::string> options) {
    std::vector<std::string> arguments = {"bench", "engine",        "--json", "--seconds",
                                          "0.005", "--repetitions", "2"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    std::vector<Json> rows;
    std::istringstream lines(ended.out);
    for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line));
    return rows;
  }
};

TEST_F(BenchCliTest, AnObjectACell) {
  const std::vector<Json> rows = Rows({"--model", "lenet5", "--batch", "1,3", "--threads", "1"});
  ASSERT_EQ(rows.size(), 2);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Json& row = rows[i];
    EXPECT_EQ(row["model"], "lenet5");
    EXPECT_EQ(row["mode"], "infer");
    EXPECT_EQ(row["batch"], i == 0 ? 1 : 3);
    EXPECT_EQ(row["threads"], 1);
    EXPECT_EQ(row["repetitions"], 2);
    // 416,520 multiply-accumulates an image.
    EXPECT_NEAR(row["gflop"].get<double>(), (i == 0 ? 1 : 3) * 2 * 416'520e-9, 1e-12);
    for (const char* key : {"images_per_s", "gflop_per_s", "peak_gflop_per_s", "share_of_peak",
                            "share_of_kernels", "peak_memory_bytes"}) {
      EXPECT_GT(row[key].get<double>(), 0) << key;
    }
    EXPECT_LE(row["images_per_s_low"], row["images_per_s"]);
    EXPECT_FALSE(row.contains("nodes"));
  }
}

TEST_F(BenchCliTest, TheTableOfOpsAddsUp) {
  const std::vector<Json> rows =
      Rows({"--model", "lenet5", "--mode", "train", "--batch", "2", "--per-op"});
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0]["mode"], "train");
  double share_of_ops = 0, share_of_nodes = 0;
  size_t nodes = 0;
  for (const Json& op : rows[0]["ops"]) {
    share_of_ops += op["share"].get<double>();
    nodes += op["nodes"].get<size_t>();
  }
  for (const Json& node : rows[0]["nodes"]) share_of_nodes += node["share"].get<double>();
  EXPECT_EQ(nodes, rows[0]["nodes"].size());
  EXPECT_NEAR(share_of_ops, 1, 1e-9);
  EXPECT_NEAR(share_of_nodes, 1, 1e-9);
}

TEST_F(BenchCliTest, SpeedOnlyLeavesOutWhatLimitsIt) {
  const std::vector<Json> rows = Rows({"--model", "lenet5", "--speed-only"});
  ASSERT_EQ(rows.size(), 1);
  EXPECT_TRUE(rows[0].contains("images_per_s"));
  EXPECT_FALSE(rows[0].contains("share_of_peak"));
  EXPECT_FALSE(rows[0].contains("share_of_kernels"));
}

TEST_F(BenchCliTest, PrecisionsBesideEachOther) {
  if (!CpuHasBFloat16()) {
    ExpectRefused({"bench", "engine", "--precision", "bf16"}, {"--precision", "bf16", "f32"});
    return;
  }
  const std::vector<Json> rows = Rows({"--model", "lenet5", "--precision", "f32", "bf16"});
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0]["precision"], "f32");
  EXPECT_EQ(rows[1]["precision"], "bf16");
  EXPECT_GT(rows[1]["images_per_s"], 0);
  EXPECT_TRUE(rows[1]["peak_gflop_per_s"].is_null());  // Only measured in f32.
}

TEST_F(BenchCliTest, TheSplitMayBeChosenAtTheStart) {
  const std::vector<Json> rows = Rows({"--model", "lenet5", "--speed-only", "--inter", "auto"});
  ASSERT_EQ(rows.size(), 1);
  EXPECT_GE(rows[0]["inter"], 1);
  EXPECT_LE(rows[0]["inter"], rows[0]["threads"]);
  ExpectRefused({"bench", "engine", "--inter", "aut"}, {"--inter", "auto, or an integer from 1"});
}

TEST_F(BenchCliTest, TheGridHasEachSplitOnceAndTheChoiceIsOneOfThem) {
  const std::vector<Json> rows = Rows({"--model", "lenet5", "--threads", "1", "--split-grid"});
  ASSERT_EQ(rows.size(), 4);  // On one core there is one split.
  EXPECT_EQ(rows[0]["setting"], "fixed");
  EXPECT_EQ(rows[0]["share_of_best"], 1);
  EXPECT_EQ(rows[1]["setting"], "auto");
  EXPECT_EQ(rows[2]["setting"], "tensorflow");
  EXPECT_EQ(rows[3]["setting"], "intel");
  EXPECT_EQ(rows[1]["inter"], 1);
  EXPECT_EQ(rows[1]["intra"], 1);
}

TEST_F(BenchCliTest, CapacitiesStandBesideASessionOfNoOther) {
  const std::vector<Json> rows = Rows(
      {"--model", "lenet5", "--batch", "3", "--threads", "1", "--capacity", "1,4", "--per-op"});
  ASSERT_EQ(rows.size(), 2);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Json& row = rows[i];
    EXPECT_EQ(row["capacity"], i == 0 ? 1 : 4);
    EXPECT_EQ(row["threads"], 1);
    EXPECT_EQ(row["repetitions"], 2);
    EXPECT_GT(row["own_step_s"], 0);
    EXPECT_LE(row["cost_low"], row["cost"]);
    EXPECT_LE(row["cost"], row["cost_high"]);
    double seconds = 0, own_seconds = 0;
    for (const Json& node : row["nodes"]) {
      seconds += node["seconds"].get<double>();
      own_seconds += node["own_seconds"].get<double>();
    }
    EXPECT_GT(seconds, 0);
    EXPECT_GT(own_seconds, 0);
  }
  ExpectRefused({"bench", "engine", "--threads", "1", "--capacity", "0"},
                {"--capacity", "\"0\"", "1 to 1024"});
}

TEST_F(BenchCliTest, RefusesBadInput) {
  ExpectRefused({"bench", "engine", "--model", "lenet6"}, {"lenet6", "allowed", "lenet5"});
  ExpectRefused({"bench", "engine", "--batch", "1,x"}, {"--batch", "\"x\"", "1 to"});
  ExpectRefused({"bench", "engine", "--threads", "100000"}, {"--threads", "100000"});
  ExpectRefused({"bench", "engine", "--precision", "f16"}, {"--precision", "f16", "f32 or bf16"});
  ExpectRefused({"bench", "engine", "--mode", "serve"}, {"--mode", "infer or train"});
  ExpectRefused({"bench", "serve", "--rate", "2e6", "--seconds", "10"},
                {"--seconds", "more than 10000000 requests", "at most 5 then"});
}

ServiceSummary Service(double offered, double answered, int64_t dropped, double lag_ms) {
  ServiceSummary service;
  service.requests = 1000;
  service.dropped = dropped;
  service.served = service.requests - dropped;
  service.offered_per_s = offered;
  service.throughput_per_s = answered;
  service.worst_lag_ms = lag_ms;
  return service;
}

// Whether the rate was answered says nothing of the generator, nor the other way round.
TEST(BenchServeTest, JudgesTheServiceAndTheGeneratorApart) {
  EXPECT_TRUE(Judge(Service(1000, 995, 0, 1)).answered);
  EXPECT_TRUE(Judge(Service(1000, 995, 0, 1)).kept_up);
  EXPECT_FALSE(Judge(Service(1000, 980, 0, 1)).answered) << "its queue grew";
  EXPECT_TRUE(Judge(Service(1000, 980, 0, 1)).kept_up);
  EXPECT_FALSE(Judge(Service(1000, 1000, 1, 1)).answered) << "one was dropped";
  EXPECT_TRUE(Judge(Service(1000, 1000, 0, 50)).answered);
  EXPECT_FALSE(Judge(Service(1000, 1000, 0, 50)).kept_up);
  EXPECT_FALSE(Judge(Service(1000, 0, 1000, 1)).answered);
}

}  // namespace
}  // namespace cosched
