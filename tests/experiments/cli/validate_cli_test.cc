// `cosched validate`, `cosched diff` and `cosched replay` as a user meets them. Where a run on
// hardware is needed and its times do not matter, a simulated one stands in for it: both worlds are
// then known.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/experiments/cli/cli_fixture.h"
#include "tests/paths.h"
#include "workloads/profile.h"

namespace cosched {
namespace {

class ValidateCliTest : public CliTest {
 protected:
  ValidateCliTest() {
    WriteText(folder_.path() / "s.toml", R"(name = "s"
trials = 5
policies = ["strict", "static-partition", "equal-share"]
[machine]
profile = "p.json"
[trace]
jobs = 6
gap = { distribution = "exponential", mean_s = 0.2 }
[[workload]]
model = "lenet5"
batch = 8
steps = 30
)");
    WriteProfile("p.json", 0.01);
    WriteProfile("slow.json", 0.015);
  }

  void WriteProfile(const std::string& name, double step_s) {
    const auto estimate = [](double value) { return Estimate{value, value, value, 3}; };
    ProgramProfile program;
    program.program = "lenet5 train batch 8";
    program.alone = {{1, {1, 1}, estimate(step_s)}, {2, {1, 2}, estimate(step_s / 1.8)}};
    program.start_s = estimate(0.1);
    program.stop_s = estimate(0.01);
    Profile profile;
    profile.source = "a test";
    profile.cores = 2;
    profile.programs = {program};
    SaveProfile(profile, folder_.path() / name);
  }

  // A run of s.toml in the simulator that knows this profile.
  std::string Simulated(const std::string& profile, const std::string& out,
                        const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"run",       "s.toml",     "--backend",
                                          "simulated", "--no-plots", "--out",
                                          out,         "--set",      "machine.profile=" + profile};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / out / "s"))
      return (std::filesystem::path(out) / "s" / entry.path().filename()).string();
    return "";
  }

  void ExpectHas(const std::string& text, const std::vector<std::string>& words) {
    for (const std::string& word : words)
      EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  }
};

TEST_F(ValidateCliTest, AWorldThatIsTheSimulatorsOwnHasNoErrorAndHoldsEveryGate) {
  const std::string run = Simulated("p.json", "first");
  const Ended ended = Run({"validate", "s.toml", "--measured", run, "--no-plots", "--out", "second",
                           "--max-error", "0.01", "--max-error", "p95=0.01", "--min-tau", "0.8"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  ExpectHas(ended.out,
            {"15 cells, measured and simulated", "all decisions are alike in all cells",
             "Kendall's tau 1.00 [1.00 1.00], level 93.7 %", "calibration draws no trace",
             "gate: mean absolute error of a trace, p95 turnaround: median 0.0 % <= 1 %: holds"});
  EXPECT_EQ(ended.out.find("does not hold"), std::string::npos) << ended.out;
  const auto json = nlohmann::json::parse(ReadText(folder_.path() / run / "validation.json"));
  EXPECT_EQ(json["cells"].size(), 15U);
}

TEST_F(ValidateCliTest, BelowAGateIsExitOne) {
  const std::string run = Simulated("p.json", "first");
  const Ended ended = Run({"validate", "s.toml", "--measured", run, "--profile", "slow.json",
                           "--no-plots", "--max-error", "0.01", "--max-error", "makespan=5"});
  EXPECT_EQ(ended.exit_code, 1) << ended.out << ended.err;
  ExpectHas(ended.out, {"makespan", "<= 500 %: holds", "turnaround", "> 1 %: does not hold"});
  // The steps' times differ, and nothing else.
  ExpectHas(ended.out, {"\nsteps of lenet5 on 1 core ", "10.00      15.00  +50.0 %",
                        "\nstarts of lenet5 on 1 core ", "100.00     100.00   +0.0 %"});
  const Ended without = Run({"validate", "s.toml", "--measured", run, "--profile", "slow.json",
                             "--no-plots", "--out", "third"});
  EXPECT_EQ(without.exit_code, 0) << "without gates there is nothing to fail: " << without.err;
}

TEST_F(ValidateCliTest, EachPolicyHasItsGate) {
  const std::string run = Simulated("p.json", "first", {"--trials", "6"});
  const Ended ended = Run({"validate", "s.toml", "--measured", run, "--trials", "6", "--profile",
                           "slow.json", "--no-plots", "--max-policy-error", "makespan=0.08",
                           "--max-policy-error", "core-seconds=9", "--max-regret", "0.02"});
  EXPECT_EQ(ended.exit_code, 1) << ended.out << ended.err;
  for (const char* policy : {"strict", "static-partition", "equal-share"}) {
    ExpectHas(ended.out, {fmt::format("gate: error of {} malleable, makespan: +", policy),
                          fmt::format("gate: error of {} malleable, core-seconds: +", policy)});
  }
  ExpectHas(ended.out, {"at most 8 %: does not hold\n", "at most 900 %: holds\n",
                        "gate: regret by makespan against policies that the hardware tells apart",
                        "gate: regret by mean turnaround against"});
}

TEST_F(ValidateCliTest, RunsTheHardwareAgainToSayWhatItMissesItselfBy) {
  WriteProfile("p.json", 0.01);
  const Ended ended = Run({"validate", "x.toml", "--profile", "p.json", "--no-plots", "--again"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  ExpectHas(ended.out, {"of the hardware run again"});
  EXPECT_EQ(Runs().size(), 3U);
}

TEST_F(ValidateCliTest, TwoProfilesAreCompared) {
  const Ended same = Run({"profile", "compare", "p.json", "p.json", "--experiment", "s.toml"});
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  ExpectHas(same.out, {"4 of 4 quantities agree", "strict malleable",
                       "mean absolute difference over all cells: 0.0 %"});
  const Ended slow = Run({"profile", "compare", "p.json", "slow.json", "--experiment", "s.toml"});
  EXPECT_EQ(slow.exit_code, 1) << slow.out << slow.err;
  ExpectHas(slow.out, {"drifted: lenet5 train batch 8: step on 1 core, 1x1 threads: +50.0 %",
                       "B takes 1.500 times as long as A", "predicted makespan, mean"});
  ExpectRefused({"profile", "compare", "p.json", "none.json"}, {"none.json", "can't be opened"});
  std::filesystem::copy_file(folder_.path() / "slow.json", folder_.path() / "Bob's \"own\".json");
  const Ended quoted =
      Run({"profile", "compare", "p.json", "Bob's \"own\".json", "--experiment", "s.toml"});
  EXPECT_EQ(quoted.exit_code, slow.exit_code) << quoted.err;
  EXPECT_EQ(quoted.out.substr(quoted.out.find("predicted makespan")),
            slow.out.substr(slow.out.find("predicted makespan")));
  ExpectRefused({"validate", "s.toml", "--profile", "Bob's.json"},
                {"Bob's.json", "can't be opened"});
  ExpectRefused({"validate", "s.toml", "--profile", "\xff.json"}, {"is not UTF-8"});
  std::string sequential = ReadText(folder_.path() / "s.toml");
  const size_t at = sequential.find("trials = ");
  sequential.replace(at, sequential.find('\n', at) - at, "trials = \"until makespan ± 50 %\"");
  WriteText(folder_.path() / "sequential.toml", sequential);
  ExpectRefused({"profile", "compare", "p.json", "slow.json", "--experiment", "sequential.toml"},
                {"--experiment", "go on until they decide"});
  EXPECT_EQ(Run({"profile", "compare", "p.json"}).exit_code, 2);
}

TEST_F(ValidateCliTest, RunsOnHardwareAndSimulated) {
  WriteProfile("p.json", 0.01);
  const Ended ended =
      Run({"validate", "x.toml", "--profile", "p.json", "--no-plots", "--trials", "2"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  ExpectHas(ended.out, {"2 cells, measured and simulated", "strict malleable", "no ranking"});
  EXPECT_EQ(Runs().size(), 2U);
}

TEST_F(ValidateCliTest, BadInputIsOneMessage) {
  ExpectRefused({"validate", "x.toml"}, {"machine.profile", "is required"});
  ExpectRefused({"validate", "missing.toml"}, {"missing.toml", "No such file"});
  ExpectRefused({"validate", "s.toml", "--profile", "none.json"}, {"none.json", "can't be opened"});
  ExpectRefused({"validate", "s.toml", "--max-error", "much"}, {"--max-error", "\"much\""});
  ExpectRefused({"validate", "s.toml", "--max-error", "speed=1"},
                {"--max-error", "no metric \"speed\"", "makespan, turnaround, p95"});
  ExpectRefused({"validate", "s.toml", "--min-tau", "2"}, {"--min-tau", "\"2\"", "-1 to 1"});
  ExpectRefused({"validate", "s.toml", "--max-policy-error", "speed=1"},
                {"--max-policy-error", "no metric \"speed\""});
  ExpectRefused({"validate", "s.toml", "--max-regret", "-1"}, {"--max-regret", "\"-1\""});
  ExpectRefused({"validate", "s.toml", "--measured", "a", "--measured", "b"},
                {"--measured", "2 times", "one run for each"});
  ExpectRefused({"validate", "s.toml", "--trials", "0"}, {"trials"});
  EXPECT_EQ(Run({"validate"}).exit_code, 2);
}

TEST_F(ValidateCliTest, ARunOfOtherJobsIsNoMeasurement) {
  const std::string run = Simulated("p.json", "first", {"--seed", "7"});
  const Ended ended = Run({"validate", "s.toml", "--measured", run, "--no-plots"});
  EXPECT_EQ(ended.exit_code, 2);
  ExpectHas(ended.err, {"--measured", "other arrivals"});
}

TEST_F(ValidateCliTest, DiffShowsWhereRecordsPart) {
  const std::string fast = Simulated("p.json", "first"), slow = Simulated("slow.json", "second");
  EXPECT_EQ(Run({"diff", fast, fast}).exit_code, 0);
  const Ended runs = Run({"diff", fast, slow});
  EXPECT_EQ(runs.exit_code, 1) << runs.err;
  ExpectHas(runs.out, {"of 15 cells have all decisions alike", "decisions are alike; then"});
  const std::string cell = "/equal-share/malleable/1";
  const Ended cells = Run({"diff", fast + cell, slow + cell});
  EXPECT_EQ(cells.exit_code, 1) << cells.err;
  ExpectHas(cells.out, {"event", "decided", "steps done"});
  ExpectRefused({"diff", fast, "."}, {"no finished cell of a run"});
  ExpectRefused({"diff", fast, fast + cell}, {"A B", "no cell in common"});
  EXPECT_EQ(Run({"diff", fast}).exit_code, 2);
}

// An experiment's folder, or its name below results/, is its newest run; several are too many.
TEST_F(ValidateCliTest, AnExperimentStandsForItsNewestRun) {
  const std::string older = Simulated("slow.json", "results"), run = Simulated("p.json", "second");
  const std::string newest = "results/s/99991231T000000Z-ffff";
  std::filesystem::rename(folder_.path() / run, folder_.path() / newest);
  for (const std::string& word : {std::string("s"), std::string("results/s")}) {
    const Ended ended = Run({"diff", word, newest});
    EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
    ExpectHas(ended.out, {"15 of 15 cells"});
    ExpectHas(ended.err, {"has 2 runs: the newest, 99991231T000000Z-ffff, is taken"});
  }
  EXPECT_EQ(Run({"diff", "s", older}).exit_code, 1) << "they differ";
  const Ended several = Run({"diff", "results", newest});
  EXPECT_EQ(several.exit_code, 2);
  ExpectHas(several.err, {"runs of several experiments are there", "allowed: results/s"});
}

// The simulator is deterministic, so the twin of a simulated run is that run.
TEST_F(ValidateCliTest, TheTwinOfASimulatedRunIsTheRun) {
  const std::string run = Simulated("p.json", "first");
  const Ended ended = Run({"replay", run, "--policy", "max-prop", "--recorded", "strict"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  ExpectHas(
      ended.out,
      {"strict (malleable), max-prop in its place; 5 trials: median [interval], which holds the "
       "true median with 93.7 %",
       "makespan", "+0.0 [+0.0 +0.0]\n", "what the policy changes is the change over the twin"});
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "results" / "s-replay"));
}

TEST_F(ValidateCliTest, ReplayTakesAPolicyFromOutside) {
  const std::string run = Simulated("p.json", "first");
  const Ended ended = Run({"replay", run, "--policy-library", InBuild(COSCHED_LIBRARY_EXAMPLE),
                           "--recorded", "strict"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  ExpectHas(ended.out, {"strict (malleable), largest-first in its place; 5 trials"});
  const Ended without = Run({"replay", run});
  EXPECT_EQ(without.exit_code, 2);
  ExpectHas(without.err, {"--policy", "is required"});
}

TEST_F(ValidateCliTest, ReplayGivesTheOtherPolicysOwnRun) {
  const std::string run = Simulated("p.json", "first");
  ASSERT_EQ(Run({"replay", run, "--policy", "max-prop"}).exit_code, 0);
  const std::string other = Simulated("p.json", "second", {"--policy", "max-prop"});
  std::string replayed;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder_.path() / "results" / "s-replay"))
    replayed = entry.path();
  for (const char* file : {"jobs.csv", "decisions.csv", "grants.csv"}) {
    EXPECT_EQ(ReadText(std::filesystem::path(replayed) / "max-prop/malleable/2" / file),
              ReadText(folder_.path() / other / "max-prop/malleable/2" / file))
        << file;
  }
}

// Up to the moment the same, from then on the other policy.
TEST_F(ValidateCliTest, ReplayFromAMoment) {
  const std::string run = Simulated("p.json", "first");
  const Ended late = Run({"replay", run, "--policy", "equal-share", "--recorded", "strict",
                          "--from", "1000", "--out", "late"});
  EXPECT_EQ(late.exit_code, 0) << late.err;
  ExpectHas(late.out, {"no decision was recorded at or after 1000 s"});
  EXPECT_EQ(late.out.find("+1"), std::string::npos) << "nothing changes: " << late.out;
  const Ended now = Run({"replay", run, "--policy", "equal-share", "--recorded", "strict", "--from",
                         "0.3", "--out", "now"});
  EXPECT_EQ(now.exit_code, 0) << now.err;
  ExpectHas(now.out, {"the first decision from 0.3 s on", "recorded", "its twin", "steps done"});
}

TEST_F(ValidateCliTest, ReplayRefusesWhatItCannotDo) {
  const std::string run = Simulated("p.json", "first");
  ExpectRefused({"replay", "nowhere", "--policy", "strict"},
                {"nowhere", "no finished cell of a run"});
  ExpectRefused({"replay", run, "--policy", "lottery"}, {"--policy", "lottery", "max-prop"});
  ExpectRefused({"replay", run, "--policy", "max-prop", "--recorded", "fcfs"},
                {"--recorded", "no policy \"fcfs\"", "strict, static-partition"});
  ExpectRefused({"replay", run, "--policy", "strict", "--recorded", "strict"},
                {"--policy", "which the run had itself"});
  ExpectRefused({"replay", run, "--policy", "max-prop", "--from", "noon"}, {"--from", "\"noon\""});
  ExpectRefused({"replay", run, "--policy", "max-prop", "--from", "1"},
                {"--from", "one recorded policy", "--recorded"});
  ExpectRefused({"replay", run, "--policy", "max-prop", "--profile", "none.json"}, {"none.json"});
  EXPECT_EQ(Run({"replay", run}).exit_code, 2) << "without --policy";
  ExpectRefused({"replay", run, "--policy", "max-prop", "--set", "workload.0.name=other"},
                {"--set", "leaves no workload", "which was recorded"});
  ExpectRefused({"replay", run, "--policy", "max-prop", "--set", "trials=20"},
                {"--set", "trials is 20, but 5 were recorded"});
  const std::string loose = Simulated("p.json", "second", {"--policy", "no-control"});
  ExpectRefused({"replay", loose, "--policy", "strict", "--from", "1"},
                {"--policy", "no-control grants a core twice"});
}

TEST_F(ValidateCliTest, ReplayOfARunWithoutAProfileNeedsOne) {
  ASSERT_EQ(Run({"run", "x.toml", "--no-plots", "--out", "hardware"}).exit_code, 0);
  std::string run;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "hardware" / "x"))
    run = entry.path();
  ExpectRefused({"replay", run, "--policy", "max-prop"}, {"--profile", "is required"});
  const Ended ended = Run({"replay", run, "--policy", "max-prop", "--profile", "p.json"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  ExpectHas(ended.out, {"strict (malleable), max-prop in its place; 1 trial: no interval",
                        "the twin's error"});
}

}  // namespace
}  // namespace cosched
