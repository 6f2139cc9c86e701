// Policies from outside of the tree: the two examples run as registered ones do, and one that can't
// be loaded, or misbehaves, is told about, and does no harm.

#include "policies/external/external_policy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "experiments/analysis/metrics.h"
#include "experiments/launch/run_folder.h"
#include "tests/experiments/cli/cli_fixture.h"
#include "tests/experiments/harness/checked_run.h"
#include "tests/experiments/harness/fake_observed_host.h"
#include "tests/paths.h"

namespace cosched {
namespace {

// A program of the shell that describes itself and starts as it should, and answers to "decide" as
// told.
std::string Program(
    const std::string& decide, const std::string& start = "echo '{}'",
    const std::string& describe = R"(echo '{"protocol": 1, "name": "odd", "summary": "s"}')") {
  return fmt::format(
      "while read -r line; do case \"$line\" in *'\"kind\":\"describe\"'*) {};; "
      "*'\"kind\":\"start\"'*) {};; *) {};; esac; done",
      describe, start, decide);
}

class ExternalPolicyTest : public testing::Test {
 protected:
  // policy: the keys of [policy.mine].
  ExperimentConfig Config(const std::string& policy, const std::vector<std::string>& set = {}) {
    WriteText(folder_.path() / "x.toml", R"(name = "x"
trials = 1
policies = ["mine", "equal-share"]
[trace]
jobs = 4
gap = { distribution = "fixed", mean_s = 0.01 }
[[workload]]
model = "lenet5"
steps = 30
cores = { min = 1, preferred = 2, max = 4 }
[policy.mine]
)" + policy);
    return LoadConfig(folder_.path() / "x.toml", set, topology_);
  }
  // With time to answer also on a machine that is suspended meanwhile, unless `more` has a limit.
  ExperimentConfig WithProgram(const std::string& command, std::string more = "") {
    if (more.find("time_limit_s") == std::string::npos) more += "time_limit_s = 60\n";
    return Config("exec = " + nlohmann::json(command).dump() + "\n" + more);
  }

  InputErrorDetails Refused(const std::string& policy) {
    try {
      Config(policy);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << "not refused: " << policy;
    return {};
  }
  InputErrorDetails RefusedProgram(const std::string& command) {
    return Refused("exec = " + nlohmann::json(command).dump() + "\n");
  }

  HarnessResult RunAll(const ExperimentConfig& config) {
    const Plan plan = MakePlan(config);
    return RunCells(
        config, plan, plan.cells,
        {.run = Run(), .topology = topology_, .hosts = FakeObservedHost::Factory(&script_)});
  }
  std::filesystem::path Run() const { return folder_.path() / "run"; }
  CellKey Mine() const { return {"mine", Elasticity::kMalleable, 1}; }

  // Why the cell of this program failed; the other cell of the run is done.
  std::string ReasonOfFailure(const std::string& command, const std::string& more = "") {
    std::filesystem::remove_all(Run());
    const HarnessResult result = RunAll(WithProgram(command, more));
    EXPECT_EQ(result.failed, 1) << command;
    EXPECT_EQ(result.done, 1) << command;
    const std::string cell = ReadText(CellFolder(Run(), Mine()) / "cell.json");
    return nlohmann::json::parse(cell)["reason"];
  }

  const TemporaryFolder folder_;
  const Topology topology_ = Topology::Synthetic("pack:1 [numa] l3:1 core:4 pu:1");
  FakeHostScript script_;
};

void ExpectContains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in: " << text;
}

const std::string kPythonExample =
    "python3 " + InSource("experiments/examples/policy_exec/newest_first.py");

TEST_F(ExternalPolicyTest, ALibraryRunsUnderTheNameOfTheExperiment) {
  const ExperimentConfig config =
      Config("library = \"" + InBuild(COSCHED_LIBRARY_EXAMPLE) + "\"\nleast = 2\n");
  EXPECT_EQ(RunAll(config).done, 2);
  // Two each: 0 and 1 fill the machine, and nobody starts on what less than two cores leave.
  const CellSummary summary = Summarize(Run(), Mine());
  EXPECT_EQ(summary.jobs, 4);
  ExpectContains(ReadText(CellFolder(Run(), Mine()) / "decisions.csv"), "job-arrived 1,1=2-3");
  EXPECT_EQ(WholeCells(Run()).size(), 2U);
}

TEST_F(ExternalPolicyTest, ALibrarysParametersAreCheckedAsThoseOfTheTree) {
  const std::string library = "library = \"" + InBuild(COSCHED_LIBRARY_EXAMPLE) + "\"\n";
  const InputErrorDetails value = Refused(library + "least = 0\n");
  EXPECT_EQ(value.key, "policy.mine.least");
  EXPECT_EQ(value.line, 13);
  EXPECT_EQ(value.allowed, "integer >= 1");
  EXPECT_EQ(Refused(library + "most = 1\n").allowed, "least");
}

TEST_F(ExternalPolicyTest, ALibraryThatIsNoneIsRefusedWithTheReason) {
  const InputErrorDetails missing = Refused("library = \"nowhere.so\"\n");
  EXPECT_EQ(missing.key, "policy.mine.library");
  EXPECT_EQ(missing.line, 12);
  ExpectContains(missing.problem, (folder_.path() / "nowhere.so").string());
  ExpectContains(Refused("library = \"x.toml\"\n").problem, "x.toml");
  ExpectContains(Refused("library = \"" + InBuild(COSCHED_LIBRARY_NOTHING) + "\"\n").problem,
                 "does not export CoschedPolicyLibrary");
  ExpectContains(Refused("library = \"" + InBuild(COSCHED_LIBRARY_VERSION) + "\"\n").problem,
                 "is of version 999 of the interface, this cosched of 1");
  ExpectContains(Refused("library = \"" + InBuild(COSCHED_LIBRARY_LAYOUT) + "\"\n").problem,
                 "other headers");
}

TEST_F(ExternalPolicyTest, AProgramRunsUnderTheNameOfTheExperiment) {
  const ExperimentConfig config = WithProgram(kPythonExample, "most = 1\ntime_limit_s = 60\n");
  EXPECT_EQ(config.FindPolicy("mine")->summary, "starts the job that came last first");
  EXPECT_EQ(RunAll(config).done, 2);
  const std::string decisions = ReadText(CellFolder(Run(), Mine()) / "decisions.csv");
  ExpectContains(decisions, "job-arrived 3,3=3");  // One core each: `most`.
}

TEST_F(ExternalPolicyTest, RecordsSayWhereAPolicyComesFrom) {
  const RunContext context = {
      .topology = topology_, .command_line = "cosched run x", .scheduling = ""};
  const RunFolder run = RunFolder::Create(
      folder_.path() / "results", SinglePoint(WithProgram(kPythonExample, "most = 1\n")), context);
  const auto manifest = nlohmann::json::parse(ReadText(run.path() / "manifest.json"));
  EXPECT_EQ(manifest["policies"][0]["name"], "mine");
  EXPECT_EQ(manifest["policies"][0]["exec"], kPythonExample);
  EXPECT_EQ(manifest["policies"][0]["parameters"]["most"], "1");
  EXPECT_EQ(manifest["experiment"]["policy"]["mine"]["directory"], folder_.path().string() + "/");
}

TEST_F(ExternalPolicyTest, APolicyOfTheTreeRunsUnderTheNameOfTheExperiment) {
  const ExperimentConfig config = Config("use = \"round-robin\"\nquantum_ms = 7\n");
  EXPECT_EQ(config.FindPolicy("mine")->name, "mine");
  EXPECT_EQ(config.NewPolicy("mine")->TickPeriod(), std::chrono::milliseconds(7));
  EXPECT_EQ(RunAll(config).done, 2);
  const RunContext context = {
      .topology = topology_, .command_line = "cosched run x", .scheduling = ""};
  const RunFolder run = RunFolder::Create(folder_.path() / "results", SinglePoint(config), context);
  const auto manifest = nlohmann::json::parse(ReadText(run.path() / "manifest.json"));
  EXPECT_EQ(manifest["policies"][0]["use"], "round-robin");
  EXPECT_EQ(manifest["policies"][0]["parameters"]["quantum_ms"], "7");
  EXPECT_EQ(manifest["experiment"]["policy"]["mine"]["use"], "round-robin");
}

TEST_F(ExternalPolicyTest, AVariantIsCheckedAsThePolicyThatItIs) {
  EXPECT_EQ(Refused("use = \"round-robbin\"\n").key, "policy.mine.use");
  ExpectContains(Refused("use = \"round-robbin\"\n").problem, "did you mean");
  EXPECT_EQ(Refused("use = \"round-robin\"\nquantum_ms = 0\n").key, "policy.mine.quantum_ms");
  EXPECT_EQ(Refused("use = \"round-robin\"\nquantum = 7\n").key, "policy.mine.quantum");
  EXPECT_EQ(Refused("use = \"round-robin\"\nexec = \"true\"\n").key, "policy.mine.exec");
  ExpectContains(Refused("use = \"srpt\"\n").allowed, "machine.profile");
}

TEST_F(ExternalPolicyTest, AProgramThatDoesNotSayWhatItIsIsRefused) {
  const InputErrorDetails missing = RefusedProgram("exec ./nowhere 2>/dev/null");
  EXPECT_EQ(missing.key, "policy.mine.exec");
  EXPECT_EQ(missing.line, 12);
  ExpectContains(missing.problem, "it has ended with status 127");
  ExpectContains(RefusedProgram("cat").problem, "there is no key \"kind\"");
  ExpectContains(RefusedProgram("read -r line; echo hello").problem, "it is no JSON object: hello");
  ExpectContains(RefusedProgram("read -r line; echo '{\"protocol\": 2}'").problem,
                 "it speaks protocol 2, not 1");
  ExpectContains(RefusedProgram("read -r line; echo '{}'").problem, "protocol (none given)");
  ExpectContains(Refused("exec = \"true\"\ndirectory = \"nowhere\"\n").problem, "nowhere");
  ExpectContains(Refused("exec = \"true\"\nlibrary = \"x.so\"\n").problem, "beside library");
  EXPECT_EQ(Refused("exec = \"true\"\ntime_limit_s = 0\n").key, "policy.mine.time_limit_s");
}

TEST_F(ExternalPolicyTest, AProgramMayRefuseItsParameters) {
  const InputErrorDetails value =
      Refused("exec = " + nlohmann::json(kPythonExample).dump() + "\nmost = 0\n");
  EXPECT_EQ(value.key, "policy.mine.exec");
  ExpectContains(value.problem, "most is 0, and must be 1 or more");
  const InputErrorDetails unknown =
      Refused("exec = " + nlohmann::json(kPythonExample).dump() + "\nleast = 1\n");
  EXPECT_EQ(unknown.key, "policy.mine.least");
  EXPECT_EQ(unknown.allowed, "most");
}

TEST_F(ExternalPolicyTest, AProgramThatGoesBySpeedNeedsAProfile) {
  const InputErrorDetails error = RefusedProgram(
      Program("", "echo '{}'",
              R"(echo '{"protocol": 1, "name": "odd", "summary": "s", "needs_speed": true}')"));
  EXPECT_EQ(error.key, "policies.0");
  ExpectContains(error.allowed, "machine.profile");
}

TEST_F(ExternalPolicyTest, NamesOfTheTreeAreTaken) {
  const auto name = [](const std::string& name) {
    return OpenPolicyProgram(
        Program("", "echo '{}'",
                fmt::format(R"(echo '{{"protocol": 1, "name": "{}", "summary": "s"}}')", name)),
        ".", std::chrono::seconds(1), "");
  };
  EXPECT_EQ(name("odd")->name, "odd");
  EXPECT_THROW(name("strict"), InputError);
  EXPECT_THROW(name("a/b"), InputError);
  EXPECT_THROW(name("a.b"), InputError);
  EXPECT_THROW(name(""), InputError);
}

TEST_F(ExternalPolicyTest, ProgramsThatMisbehaveFailTheirCellOnlyWithTheReason) {
  ExpectContains(ReasonOfFailure(Program("echo nonsense")), "it is no JSON object: nonsense");
  ExpectContains(ReasonOfFailure(Program("exit 3")), "it has ended with status 3");
  ExpectContains(ReasonOfFailure(Program("kill -9 $$")), "it was killed by signal 9");
  ExpectContains(ReasonOfFailure(Program("sleep 600"), "time_limit_s = 0.2\n"),
                 "no answer within 0.2 s");
  ExpectContains(ReasonOfFailure(Program("exec 0<&- 1>&-; sleep 600")), "it has closed its output");
  ExpectContains(ReasonOfFailure(Program(R"(echo '{"error": "I am lost"}')")), "I am lost");
  ExpectContains(ReasonOfFailure(Program("printf '{}\\n{}\\n'")), "what nobody asked for: {}");
  ExpectContains(ReasonOfFailure(Program(R"(echo '{"jobs": {"0": 99}}')")), "more than its max");
  ExpectContains(ReasonOfFailure(Program(R"(echo '{"jobs": {"7": 1}}')")), "there is no such job");
  ExpectContains(ReasonOfFailure(Program("echo '{}'")), "it can never drain");
}

TEST_F(ExternalPolicyTest, AnswersAreReadStrictly) {
  const auto reason = [this](const std::string& jobs) {
    return ReasonOfFailure(Program("echo '{\"jobs\": " + jobs + "}'"));
  };
  ExpectContains(reason("[1]"), "\"jobs\" is no object");
  ExpectContains(reason(R"({"zero": 1})"), "\"zero\" is no job");
  ExpectContains(reason(R"({"0": {"coers": 1}})"), "there is no key \"coers\"");
  ExpectContains(reason(R"({"0": {"split": [1, 2]}})"), "\"cores\" and \"share\", or neither");
  ExpectContains(reason(R"({"0": {"share": 0}})"), "share is 0, not a number of cores");
  ExpectContains(reason(R"({"0": {"share": "half"}})"), "share is \"half\", not a number");
  ExpectContains(reason(R"({"0": {"share": 1, "node": -1}})"), "node is -1, not one of the view's");
  ExpectContains(reason(R"({"0": {"cores": 1, "node": 0}})"), "a \"node\" without a \"share\"");
  ExpectContains(reason(R"({"0": {"share": 1, "node": 1}})"), "node 1 is none of the machine's 1");
  ExpectContains(reason(R"({"0": {"cores": 1, "split": 2}})"), "not [inter, intra]");
  ExpectContains(reason(R"({"0": {"cores": "x"}})"), "not a number or a text");
  ExpectContains(reason(R"({"0": {"cores": 1, "open_requests": 0}})"), "open_requests is 0, not a");
  ExpectContains(reason(R"({"0": {"cores": 1, "open_requests": 2}})"), "is no pipeline, which has");
  ExpectContains(reason(R"({"0": -1})"), "not a number or a text");
  ExpectContains(reason(R"({"0": "resume"})"), "not a number or a text");
  ExpectContains(reason(R"({"0": {"reject": 5}})"), "\"reject\" is 5, not a text");
}

TEST_F(ExternalPolicyTest, AProgramMayPlaceSplitPauseRejectAndTick) {
  // Job 0 runs on cores 2-3 until the first tick, is paused by it and resumed by the second; the
  // others are rejected.
  const std::string decide = R"(
    case "$line" in
      *'"job":0,"kind":"job-arrived"'*) echo '{"jobs": {"0": {"cores": "2-3", "split": [2, 1]}}}';;
      *'"job":1,'*) echo '{"jobs": {"1": {"reject": "no room"}}}';;
      *'"job":2,'*) echo '{"jobs": {"2": {"reject": "no room"}}}';;
      *'"job":3,'*) echo '{"jobs": {"3": {"reject": "no room"}}}';;
      *'"kind":"tick"'*'"state":"running"'*) echo '{"jobs": {"0": "pause"}}';;
      *'"kind":"tick"'*'"state":"paused"'*) echo '{"jobs": {"0": 1}}';;
      *) echo '{}';;
    esac)";
  EXPECT_EQ(RunAll(WithProgram(Program(decide, "echo '{\"tick_ms\": 50}'"))).done, 2);
  const std::string decisions = ReadText(CellFolder(Run(), Mine()) / "decisions.csv");
  ExpectContains(decisions, "job-arrived 0,0=2-3");
  ExpectContains(decisions, "tick,0=pause");
  ExpectContains(ReadText(CellFolder(Run(), Mine()) / "jobs.csv"), "no room");
}

// Of a simulated pipeline whose stages wait 10 ms for each of 4 items, and eight requests at once.
class ProgramAndPipelineTest : public ExternalPolicyTest {
 protected:
  std::filesystem::path RunSimulated(const std::string& command, const std::string& keys = "",
                                     HarnessResult* result = nullptr) {
    Profile profile;
    profile.cores = 2;
    ProgramProfile& program = profile.programs.emplace_back();
    program.program = "increment pipeline, 3 stages of 10 ms of waiting, 4 items";
    program.alone = {{1, {1, 1}, {0.12, 0.12, 0.12, 3}}, {2, {2, 2}, {0.06, 0.06, 0.06, 3}}};
    for (const char* stage : {"add1", "add2", "add3"})
      program.stages.push_back({stage, {.per_item_s = 0.01}});
    SaveProfile(profile, folder_.path() / "p.json");
    WriteText(folder_.path() / "y.toml", R"(name = "y"
backend = "simulated"
policies = ["mine"]
elasticity = ["malleable"]
trials = 1
machine = { topology = "pack:1 core:2 pu:1", profile = "p.json" }
simulation = { charge_decisions = "none", startup = false }
services = { window_s = 0.02 }
[[workload]]
name = "adding"
mode = "pipeline"
pipeline = "increment"
stages = 3
items = 4
wait_ms = 10
parallel = 8
open = 1
open_max = 3
credit_link = "end-to-end"
[trace]
[[trace.requests]]
count = 8
gap = { distribution = "fixed", mean_s = 0 }
[policy.mine]
time_limit_s = 60
exec = )" + nlohmann::json(command).dump() + "\n" +
                                             keys);
    return RunChecked(folder_, topology_, LoadConfig(folder_.path() / "y.toml", {}, topology_),
                      result);
  }
};

TEST_F(ProgramAndPipelineTest, TheExampleOpensRequestsUntilTheStagesHaveEnoughToDo) {
  const std::filesystem::path run =
      RunSimulated("python3 " + InSource("experiments/examples/policy_exec/enough_open.py"));
  const std::string decisions = ReadText(CellFolder(run, Mine()) / "decisions.csv");
  ExpectContains(decisions, "job-arrived 0,0=0-1,");
  ExpectContains(decisions, "window-over,0=0-1/2");
  ExpectContains(decisions, "window-over,0=0-1/3");
  EXPECT_EQ(decisions.find("0-1/4"), std::string::npos) << "more than the pipeline allows";
}

TEST_F(ProgramAndPipelineTest, AProgramThatOpensMoreThanThePipelineAllowsFailsItsCell) {
  HarnessResult result;
  const std::filesystem::path run = RunSimulated(
      Program(R"(echo '{"jobs": {"0": {"cores": 2, "open_requests": 4}}}')"), "", &result);
  EXPECT_EQ(result.failed, 1);
  const std::string cell = ReadText(CellFolder(run, Mine()) / "cell.json");
  ExpectContains(nlohmann::json::parse(cell)["reason"], "4 open requests are not 1 to its 3");
}

// As a user runs them: real tenants, the command line's own options, records that hold, --resume.
TEST_F(CliTest, PoliciesFromOutsideRunBesideThoseOfTheExperiment) {
  const Ended ended =
      Run({"run", "x.toml", "--no-plots", "--policy-library", InBuild(COSCHED_LIBRARY_EXAMPLE),
           "--policy-exec", kPythonExample, "--set", "policy.newest-first.time_limit_s=60"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  for (const char* name : {"strict", "largest-first", "newest-first"})
    ExpectContains(ended.out, name);
  const Ended only = Run({"run", "x.toml", "--dry-run", "--policy", "largest-first",
                          "--policy-library", InBuild(COSCHED_LIBRARY_EXAMPLE)});
  ExpectContains(only.out, "x: 1 cells = 1 policies");
  ExpectContains(
      Run({"list", "policies", "--policy-library", InBuild(COSCHED_LIBRARY_EXAMPLE)}).out,
      "policy.largest-first.least");
}

TEST_F(CliTest, PoliciesFromOutsideRunInTheSimulatorToo) {
  const std::string machine = std::string("machine={topology='pack:1 core:8 pu:1',profile='") +
                              InSource("experiments/profiles/example.json") + "'}";
  const Ended ended =
      Run({"run", "x.toml", "--no-plots", "--backend", "simulated", "--set", machine, "--set",
           "workload.0.batch=64", "--policy-library", InBuild(COSCHED_LIBRARY_EXAMPLE),
           "--policy-exec", kPythonExample, "--set", "policy.newest-first.time_limit_s=60"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  for (const char* name : {"strict", "largest-first", "newest-first"})
    ExpectContains(ended.out, name);
}

TEST_F(CliTest, OptionsForPoliciesFromOutsideAreCheckedBeforeAnythingRuns) {
  ExpectRefused({"run", "x.toml", "--policy-library", "nowhere.so"},
                {"--policy-library", "nowhere.so", "policy_library.h"});
  ExpectRefused({"run", "x.toml", "--policy-exec", "true"},
                {"--policy-exec", "it has ended with status 0", "policy_protocol.h"});
}

}  // namespace
}  // namespace cosched
