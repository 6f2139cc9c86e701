// --resume, --redo-marked and --extrapolate as a user meets them, on simulated runs.

#include <nlohmann/json.hpp>

#include "tests/experiments/cli/cli_fixture.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using nlohmann::json;

class ResumeCliTest : public CliTest {
 protected:
  static std::vector<std::string> Simulated(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"run",   InSource("experiments/examples/simulated.toml"),
                                          "--set", "name=x",
                                          "--set", "trace.jobs=4",
                                          "--set", "elasticity=[\"malleable\"]"};
    for (const char* one : {"--no-plots", "--trials=2", "--policy=strict", "--policy=equal-share"})
      arguments.emplace_back(one);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::filesystem::path Run1() { return Runs().front(); }
  json Manifest() { return json::parse(ReadText(Run1() / "manifest.json")); }
  void Edit(const std::filesystem::path& file, const char* key, const json& value) {
    json whole = json::parse(ReadText(file));
    whole[json::json_pointer(key)] = value;
    WriteText(file, whole.dump());
  }
  void ExpectSaid(const std::string& text, const std::vector<std::string>& words) {
    for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
  }
};

TEST_F(ResumeCliTest, ARunOfAnotherBinaryIsRefusedOrRecordedAsMixed) {
  ASSERT_EQ(Run(Simulated()).exit_code, 0);
  Edit(Run1() / "manifest.json", "/status", "running");
  Edit(Run1() / "manifest.json", "/build/git_commit", "0123456789abcdef");
  std::filesystem::remove_all(Run1() / "strict" / "malleable" / "2");

  const Ended refused = Run(Simulated({"--resume", "--quiet"}));
  EXPECT_EQ(refused.exit_code, 2) << "there is no --quiet, and it is not taken for --resume's";
  const Ended other = Run(Simulated({"--resume", "--set", "simulation.noise=0.02"}));
  EXPECT_EQ(other.exit_code, 2);
  ExpectSaid(other.err, {"--resume", "commit 0123456789 -> ", "--resume=anyway"});
  EXPECT_EQ(std::count(other.err.begin(), other.err.end(), '\n'), 1) << other.err;
  ExpectSaid(Run(Simulated({"--resume=soon"})).err, {"--resume", "soon", "--resume=anyway"});

  const Ended anyway = Run(Simulated({"--resume=anyway"}));
  EXPECT_EQ(anyway.exit_code, 0) << anyway.err;
  EXPECT_TRUE(std::filesystem::exists(Run1() / "strict" / "malleable" / "2" / "cell.json"));
  EXPECT_EQ(Manifest()["status"], "done");
  ExpectSaid(Manifest()["resumed"][0]["differences"].dump(), {"commit 0123456789 -> "});
}

TEST_F(ResumeCliTest, MarkedCellsRunAnewInTheirPlace) {
  ExpectSaid(Run(Simulated({"--redo-marked"})).err, {"--redo-marked", "there is no run"});
  ASSERT_EQ(Run(Simulated()).exit_code, 0);
  const Ended none = Run(Simulated({"--redo-marked"}));
  EXPECT_EQ(none.exit_code, 0) << none.err;
  ExpectSaid(none.err, {"none of its 4 cells is marked or failed"});
  EXPECT_TRUE(Manifest()["redone"].empty());

  const std::filesystem::path cell = Run1() / "equal-share" / "malleable" / "1" / "cell.json";
  const std::string jobs = ReadText(cell.parent_path() / "jobs.csv");
  Edit(cell, "/status", "failed");
  WriteText(cell.parent_path() / "jobs.csv", "");
  const Ended redone = Run(Simulated({"--redo-marked"}));
  EXPECT_EQ(redone.exit_code, 0) << redone.err;
  ExpectSaid(redone.err, {"1 of 4 cells, marked or failed, run anew"});
  EXPECT_EQ(Runs().size(), 1U);
  EXPECT_EQ(json::parse(ReadText(cell))["status"], "done");
  EXPECT_EQ(ReadText(cell.parent_path() / "jobs.csv"), jobs) << "simulated, so the very same";
  EXPECT_EQ(Manifest()["redone"][0]["cells"], json({"equal-share/malleable/1"}));
  EXPECT_EQ(Manifest()["order"].back(), "equal-share/malleable/1");
  EXPECT_EQ(Manifest()["status"], "done");

  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"--redo-marked", "--resume"},
        {"--redo-marked", "--launcher", "slurm"},
        {"--redo-marked=all"}}) {
    const Ended ended = Run(Simulated(wrong));
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    ExpectSaid(ended.err, {"--redo-marked"});
  }
}

TEST_F(ResumeCliTest, WhatFailedBeforeTheInterruptIsNotForgotten) {
  ASSERT_EQ(Run(Simulated()).exit_code, 0);
  Edit(Run1() / "manifest.json", "/status", "running");
  Edit(Run1() / "equal-share" / "malleable" / "1" / "cell.json", "/status", "failed");
  std::filesystem::remove_all(Run1() / "strict" / "malleable" / "2");
  const Ended ended = Run(Simulated({"--resume", "--json"}));
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_EQ(json::parse(ended.out)["status"], "failed");
  ExpectSaid(ended.err, {"1 of 4 cells failed"});
  EXPECT_EQ(Manifest()["status"], "failed");
}

TEST_F(ResumeCliTest, ASweepsMarkedCellsRunAnewToo) {
  const std::vector<std::string> sweep = {"--set", "sweep.trace.jobs=[2,4]"};
  ASSERT_EQ(Run(Simulated(sweep)).exit_code, 0);
  const std::filesystem::path point = Run1() / "jobs=4";
  Edit(point / "strict" / "malleable" / "2" / "cell.json", "/status", "failed");
  std::vector<std::string> redo = sweep;
  redo.emplace_back("--redo-marked");
  const Ended ended = Run(Simulated(redo));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(Manifest()["redone"][0]["cells"], json({"jobs=4/strict/malleable/2"}));
  const json of_point = json::parse(ReadText(point / "manifest.json"));
  EXPECT_EQ(of_point["redone"][0]["cells"], json({"strict/malleable/2"}));
}

TEST_F(ResumeCliTest, RunsSayWhereTheyGoAndWhatMakesThemDoubtful) {
  const Ended ended = Run(Simulated());
  ExpectSaid(ended.err, {"results go to results/x/", "doubts about ", "example.json",
                         "written by hand: an example, no measurement"});
  EXPECT_TRUE(ended.err.starts_with("results go to ")) << ended.err;
  ExpectSaid(Manifest()["profile_doubts"].dump(), {"written by hand"});
}

TEST_F(ResumeCliTest, FarExtrapolationIsAskedFor) {
  const std::vector<std::string> large = {"--set", "machine.topology=pack:2 core:64 pu:1"};
  ExpectRefused(Simulated(large), {"machine.profile", "example.json",
                                   "measured on at most 16 cores, but 128", "--extrapolate"});
  std::vector<std::string> asking = large;
  asking.emplace_back("--extrapolate");
  const Ended ended = Run(Simulated(asking));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  ExpectSaid(ended.err, {"128 cores, 16 measured", "over more than 4 times"});
  EXPECT_EQ(Manifest()["experiment"]["simulation"]["extrapolate"], true);
}

}  // namespace
}  // namespace cosched
