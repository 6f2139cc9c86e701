// [[gate]], --junit and `trials = "until …"` as a user meets them, on simulated runs.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/experiments/cli/cli_fixture.h"
#include "tests/experiments/cli/noisy_experiment.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class GatesCliTest : public CliTest {
 protected:
  GatesCliTest() {
    WriteText(folder_.path() / "g.toml",
              NoisyExperiment("trials = 6\nbaseline = \"strict\"\n", R"([[gate]]
metric = "makespan"
policy = "equal-share"
against = "strict"
max = 2
)"));
  }
  Ended RunIt(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run", "g.toml", "--no-plots"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
  json Manifest() { return json::parse(ReadText(Runs().front() / "manifest.json")); }
};

constexpr const char* kUntil = "until makespan ± 20 %";

TEST_F(GatesCliTest, AGateThatFailsIsTheExitCodeOfRunAndOfCompare) {
  const Ended holds = RunIt({"--junit", "gates.xml"});
  EXPECT_EQ(holds.exit_code, 0) << holds.err;
  EXPECT_THAT(holds.out,
              HasSubstr("gate equal-share/malleable: makespan_s / that of strict at most "
                        "2: holds: "));
  EXPECT_THAT(ReadText(folder_.path() / "gates.xml"), HasSubstr(R"(tests="1" failures="0")"));
  EXPECT_EQ(Run({"compare", "--no-plots", "x"}).exit_code, 0);

  const Ended fails = RunIt({"--set", "gate.0.max=0.1", "--out", "other"});
  EXPECT_EQ(fails.exit_code, 1) << fails.err;
  EXPECT_THAT(fails.out, HasSubstr("! gate equal-share/malleable"));
  const Ended compared = Run({"compare", "--no-plots", "other/x", "--junit", "gates.xml"});
  EXPECT_EQ(compared.exit_code, 1);
  EXPECT_THAT(ReadText(folder_.path() / "gates.xml"), HasSubstr("<failure message=\"FAILS: "));
  EXPECT_EQ(Run({"compare", "--json", "other/x"}).exit_code, 1);
}

TEST_F(GatesCliTest, WhatCannotBeJudgedIsRefusedBeforeAnythingRuns) {
  ExpectRefused({"run", "g.toml", "--set", "gate.0.metric=makespam_s"},
                {"gate.0.metric", "did you mean \"makespan_s\"?", "of services:"});
  ExpectRefused({"run", "g.toml", "--set", "gate.0.metric=slo_attainment"}, {"is of services"});
  ExpectRefused({"run", "g.toml", "--trials", "until makespam ± 2 %"}, {"trials", "makespam"});
  ExpectRefused({"run", "x.toml", "--junit", "gates.xml"}, {"--junit", "no gate"});
  ExpectRefused({"run", "g.toml", "--trials", kUntil, "--launcher", "slurm"},
                {"--launcher slurm", "until they decide"});
  ExpectRefused(
      {"validate", "x.toml", "--trials", kUntil, "--set", "workload.0.model=resnet20", "--set",
       "workload.0.batch=32", "--profile", InSource("experiments/profiles/example.json")},
      {"--trials", "until they decide"});
}

TEST_F(GatesCliTest, TrialsStopWhenTheIntervalIsNarrow) {
  const Ended dry = RunIt({"--trials", kUntil, "--dry-run"});
  EXPECT_THAT(dry.out, AllOf(HasSubstr("8 to 40 trials"), HasSubstr("(the fewest trials) to"),
                             HasSubstr("looked at after 8, 12, 18, 27, 40")));
  const Ended ended = RunIt({"--trials", kUntil});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("(equal-share/malleable / strict): that is enough"));
  EXPECT_THAT(ended.out, HasSubstr("TRIALS until makespan ± 20 %: stopped after"));
  const int trials = Manifest()["stopped"]["trials"];
  EXPECT_EQ(Manifest()["cells"], 2 * trials);
  EXPECT_EQ(Manifest()["order"].size(), 2 * trials);
  const Ended compared = Run({"compare", "--no-plots", "x"});
  EXPECT_EQ(compared.exit_code, 0) << compared.out;
  EXPECT_THAT(compared.out, Not(HasSubstr("DAMAGED")));
  const Ended redo = RunIt({"--trials", kUntil, "--redo-marked"});
  EXPECT_THAT(redo.err, HasSubstr("nothing runs anew"));
  EXPECT_EQ(Manifest()["status"], "done");

  // What the trials have reached is told of the cells that are there now.
  const json before = Manifest();
  const std::filesystem::path run = Runs().front();
  json manifest = before;
  manifest["stopped"] = {{"trials", trials}, {"within", nullptr}, {"widest", "nobody"}};
  WriteText(run / "manifest.json", manifest.dump());
  const std::filesystem::path cell = run / "strict" / "malleable" / "1" / "cell.json";
  json failed = json::parse(ReadText(cell));
  failed["status"] = "failed";
  WriteText(cell, failed.dump());
  EXPECT_EQ(RunIt({"--trials", kUntil, "--redo-marked"}).exit_code, 0);
  EXPECT_EQ(Manifest()["stopped"], before["stopped"]);
  EXPECT_EQ(Manifest()["order"].back(), "strict/malleable/1");
}

TEST_F(GatesCliTest, AResumedRunTakesTheSameLooks) {
  ASSERT_EQ(RunIt({"--trials", kUntil, "--set", "most_trials=12"}).exit_code, 0);
  const std::filesystem::path run = Runs().front();
  json manifest = Manifest();
  const json stopped = manifest["stopped"];
  manifest.erase("stopped");
  manifest["status"] = "running";
  WriteText(run / "manifest.json", manifest.dump());
  std::filesystem::remove_all(run / "strict" / "malleable" / "2");
  const Ended resumed = RunIt({"--trials", kUntil, "--set", "most_trials=12", "--resume"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(Runs().size(), 1);
  EXPECT_EQ(Manifest()["stopped"], stopped);
}

TEST_F(GatesCliTest, TheMostTrialsEndARunThatNeverGetsThere) {
  const Ended ended = RunIt({"--trials", "until makespan ± 0.001 %", "--set", "most_trials=9"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("no more trials are allowed"));
  EXPECT_THAT(ended.out, HasSubstr("NOT REACHED after 9 of at most 9"));
}

TEST_F(GatesCliTest, EveryPointOfASweepStopsByItself) {
  const Ended ended =
      RunIt({"--set", "sweep.trials=[3, 'until makespan ± 20 %']", "--set", "most_trials=8"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(Manifest()["cells"], 2 * 3 + 2 * 8);
  EXPECT_EQ(Run({"compare", "--no-plots", "x"}).exit_code, 0);
}

}  // namespace
}  // namespace cosched
