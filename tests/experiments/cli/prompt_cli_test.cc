// Words at the prompt: what is mistyped is named with what it may have been, and who asks what
// there is gets told.

#include "tests/experiments/cli/cli_fixture.h"

namespace cosched {
namespace {

using PromptCliTest = CliTest;

TEST_F(PromptCliTest, AMistypedCommandIsNamed) {
  ExpectRefused({"rnu", "x.toml"}, {"rnu", "no such command", "did you mean \"run\"?", "compare"});
  ExpectRefused({"trace", "descibe", "y"}, {"`cosched trace`", "did you mean \"describe\"?"});
  ExpectRefused({"bench", "xyz"}, {"`cosched bench` has no such command; allowed: serve, engine"});
}

TEST_F(PromptCliTest, AMistypedOptionIsNamed) {
  ExpectRefused({"run", "x.toml", "--trails", "3"},
                {"--trails", "`cosched run` has no such option", "did you mean \"--trials\"?"});
  ExpectRefused({"run", "x.toml", "--trails=3"}, {"did you mean \"--trials\"?"});
  ExpectRefused({"diff", "a", "b", "c"}, {"c: `cosched diff` takes no more words"});
}

TEST_F(PromptCliTest, AnOptionWithAnEmptyValueIsNoneThatWasLeftOut) {
  ExpectRefused({"run", "x.toml", "--out", ""},
                {"--out: no value; allowed: TEXT: Results go to DIR/<experiment>/<run>"});
  ExpectRefused({"run", "x.toml", "--seed="}, {"--seed: no value"});
  ExpectRefused({"run", ""}, {"experiment: no value"});
  ExpectRefused({"reproduce", "control", "--out", ""}, {"--out: no value"});
  ExpectRefused({"runs", "export", "x", ""}, {"no value"});
  EXPECT_EQ(Run({"wrap", "--", "/usr/bin/test", "-z", ""}).exit_code, 0);
}

TEST_F(PromptCliTest, MistypedNamesInAFileAreNamed) {
  ExpectRefused({"run", "x.toml", "--dry-run", "--set", "trails=2"},
                {"trails", "unknown key, did you mean \"trials\"?"});
  ExpectRefused({"run", "x.toml", "--dry-run", "--policy", "strcit"},
                {"there is no policy \"strcit\", did you mean \"strict\"?"});
  ExpectRefused({"run", "x.toml", "--dry-run", "--set", "workload.0.model='lenet'"},
                {"there is no model \"lenet\", did you mean \"lenet5\"?"});
}

// Which line named it, and what may stand there.
TEST_F(PromptCliTest, AFileThatCantBeReadIsNamedWithItsKey) {
  WriteText(folder_.path() / "y.toml", R"(name = "y"
policies = ["strict"]
[trace]
file = "arival.csv"
[[workload]]
model = "lenet5"
)");
  ExpectRefused({"run", "y.toml", "--dry-run"},
                {"y.toml:4: trace.file: ", "arival.csv: cannot be"});
  WriteText(folder_.path() / "z.toml", R"(name = "z"
policies = ["strict"]
[trace]
jobs = 1
gap = { distribution = "fixed", mean_s = 0 }
[[workload]]
model = "onnx:none.onnx"
cores = 2
)");
  ExpectRefused({"run", "z.toml", "--dry-run"}, {"z.toml:7: workload.0.model: ", "none.onnx: "});
  ExpectRefused(
      {"run", "z.toml", "--dry-run", "--set", "workload.0.model='lenet5'"},
      {"z.toml:8: workload.lenet5.cores: is 2", "such as { min = 1, preferred = 2, max = 4 }"});
}

TEST_F(PromptCliTest, AFileThatIsNamedAloneHasItsProgramsBesideIt) {
  WriteText(folder_.path() / "go", "#!/bin/sh\n");
  WriteText(folder_.path() / "mine.toml", R"(name = "mine"
policies = ["strict"]
[trace]
jobs = 1
[[workload]]
command = ["./go"]
)");
  const Ended ended = Run({"run", "mine.toml", "--dry-run"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
}

TEST_F(PromptCliTest, CommandsOfCommandsTellWhatThereIs) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, {"trace"}, {"bench"}, {"model"}}) {
    const Ended ended = Run(words);
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_EQ(ended.err, "");
    EXPECT_NE(ended.out.find("Subcommands:"), std::string::npos) << ended.out;
  }
}

// Behind a word of its own, such as a tenant, the help would hide what is wrong.
TEST_F(PromptCliTest, ACommandThatLacksOrIsMistypedBehindAWordIsNamed) {
  ExpectRefused({"ctl", "1234"},
                {"`cosched ctl` lacks a command; allowed: status, pause, resume, stop, set"});
  ExpectRefused({"ctl", "1234", "stauts"},
                {"stauts", "did you mean \"status\"?", "allowed: status"});
  ExpectRefused({"ctl", "1234", "set"}, {"settings: is required; allowed: cores=SET"});
  ExpectRefused({"ctl", "1234", "set", "intra=1x"}, {"intra: \"1x\"", "a number of threads"});
}

TEST_F(PromptCliTest, WhatLacksComesTwiceOrExcludesAnotherIsNamed) {
  ExpectRefused({"calibrate"}, {"command line: --out: is required; allowed: The profile (.json)"});
  ExpectRefused({"run"}, {"experiment: is required"});
  ExpectRefused({"tenant", "--batch"}, {"--batch: no value; allowed: INT:1..65536: Images a step"});
  ExpectRefused({"tenant", "--batch", "1", "--batch", "2"}, {"--batch: is given 2 times"});
  ExpectRefused({"reproduce", "--appendix", "--resume"}, {"--resume: is given beside --appendix"});
}

TEST_F(PromptCliTest, HelpOfACommandIsItsHelp) {
  const Ended help = Run({"help", "run"}), option = Run({"run", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.out, option.out);
  EXPECT_NE(help.out.find("--dry-run"), std::string::npos);
  EXPECT_NE(Run({"help"}).out.find("reproduce"), std::string::npos);
  EXPECT_NE(Run({"help", "trace", "convert"}).out.find("cosched trace convert"), std::string::npos);
}

TEST_F(PromptCliTest, ListTellsWhatCanBeListed) {
  const Ended ended = Run({"list"});
  EXPECT_EQ(ended.exit_code, 0);
  for (const char* what : {"policies", "models", "formats", "figures"})
    EXPECT_NE(ended.out.find(std::string("cosched list ") + what), std::string::npos) << ended.out;
  ExpectRefused({"list", "modles"}, {"\"modles\" can't be listed, did you mean \"models\"?"});
}

}  // namespace
}  // namespace cosched
