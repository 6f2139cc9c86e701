// `cosched calibrate` as a user meets it.

#include <sched.h>

#include "tests/experiments/cli/cli_fixture.h"
#include "workloads/profile.h"

namespace cosched {
namespace {

class CalibrateCliTest : public CliTest {};

TEST_F(CalibrateCliTest, PublishedTablesBecomeAProfileThatSaysWhereItComesFrom) {
  const std::string curves = "Cores,Intra,Time\n1,1,20\n1,2,22\n2,1,20\n2,2,12\n";
  WriteText(folder_.path() / "tables" / "times_oversubscription-2.csv", curves);
  WriteText(folder_.path() / "tables" / "times_contention.csv",
            "Cores_Per_C,Containers,Time\n1,1,300\n1,2,303\n");
  const Ended ended = Run({"calibrate", "--from-published", "tables", "--out", "p.json"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("one run a cell was published"), std::string::npos) << ended.out;
  const Profile profile = LoadProfile(folder_.path() / "p.json");
  EXPECT_NE(profile.source.find("--from-published tables --out p.json"), std::string::npos)
      << profile.source;
  EXPECT_EQ(profile.cores, 64);
}

TEST_F(CalibrateCliTest, BadInputIsOneMessageAndNoProfile) {
  ExpectRefused({"calibrate", "--from-published", "nowhere", "--out", "p.json"},
                {"nowhere/times_oversubscription-2.csv"});
  ExpectRefused({"calibrate", "--from-published", ".", "--out", "no/folder/p.json"},
                {"--out", "no/folder/p.json", "a folder that is there"});
  ExpectRefused({"calibrate", "--from-published", ".", "--out", "."}, {"--out", "can't be a file"});
  ExpectRefused({"calibrate", "--out", "p.json"}, {"--workloads", "is required"});
  ExpectRefused({"calibrate", "--workloads", "vgg", "--out", "p.json"},
                {"--workloads", "\"vgg\" is neither a file nor a model", "resnet20"});
  ExpectRefused({"calibrate", "--workloads", "y.toml", "--out", "p.json"}, {"y.toml", "No such"});
  ExpectRefused({"calibrate", "--workloads", "lenet5", "--minutes", "0", "--out", "p.json"},
                {"--minutes", "\"0\"", "0.01 to"});
  ExpectRefused({"calibrate", "--workloads", "lenet5", "--interval", "much", "--out", "p.json"},
                {"--interval", "\"much\"", "0.001 to 1"});
  ExpectRefused({"calibrate", "--workloads", "lenet5", "--seed", "-1", "--out", "p.json"},
                {"--seed", "\"-1\""});
  WriteText(folder_.path() / "bad.toml", "[[workload]]\nmodel = \"chaos\"\n");
  ExpectRefused({"calibrate", "--workloads", "bad.toml", "--out", "p.json"},
                {"--workloads", "nothing to measure"});
  WriteText(folder_.path() / "uncounted.toml",
            "[[workload]]\nname = \"web\"\ncommand = [\"true\"]\n");
  ExpectRefused(
      {"calibrate", "--workloads", "uncounted.toml", "--out", "p.json"},
      {"--workloads", "uncounted.toml", "workload web", "progress = \"none\"", "counted"});
  WriteText(folder_.path() / "worse.toml", "[[workload]]\nmodel = \"vgg\"\n");
  ExpectRefused({"calibrate", "--workloads", "worse.toml", "--out", "p.json"},
                {"worse.toml:2", "workload.vgg.model"});
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "p.json"));
}

TEST_F(CalibrateCliTest, AProgramThatCountsNoStepIsNamedWithTheReason) {
  WriteText(folder_.path() / "silent.toml",
            "[[workload]]\nname = \"web\"\ncommand = [\"true\"]\nprogress = \"output:^step\"\n");
  const Ended ended = Run({"calibrate", "--workloads", "silent.toml", "--out", "p.json"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_NE(ended.err.find("cosched: true: 1 core"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("none of its steps was counted"), std::string::npos) << ended.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "p.json"));
}

TEST_F(CalibrateCliTest, WrongUsageIsExitTwo) {
  EXPECT_EQ(Run({"calibrate", "--workloads", "lenet5"}).exit_code, 2) << "without --out";
  EXPECT_EQ(Run({"calibrate", "--from-published", ".", "--workloads", "lenet5", "--out", "p.json"})
                .exit_code,
            2);
  EXPECT_EQ(Run({"calibrate", "--from-published", ".", "--seed", "1", "--out", "p.json"}).exit_code,
            2);
}

// Real tenants, on a machine that has one core: x.toml's one program, each measurement once.
TEST_F(CalibrateCliTest, MeasuresOnOneCoreWithinItsTime) {
  const auto one_core = [] {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
  };
  // What only the simulator has need not be there: a larger machine, and the profile itself.
  WriteText(folder_.path() / "x.toml",
            "name = \"x\"\nbackend = \"simulated\"\npolicies = [\"srpt\"]\n[machine]\ntopology = "
            "\"core:64\"\nprofile = \"p.json\"\n[[workload]]\nmodel = \"lenet5\"\nbatch = 8\n"
            "cores.preferred = 32\n");
  const Ended ended = Wait(Start(
      {"calibrate", "--workloads", "x.toml", "--minutes", "0.01", "--out", "p.json"}, one_core));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.err.find("left"), std::string::npos) << ended.err;
  EXPECT_NE(ended.out.find("1 core: there is nothing to fit"), std::string::npos) << ended.out;
  const Profile profile = LoadProfile(folder_.path() / "p.json");
  EXPECT_EQ(profile.cores, 1);
  EXPECT_TRUE(profile.source.starts_with("calibrate: "));
  EXPECT_NE(profile.version.find("oneDNN"), std::string::npos);
  EXPECT_NE(profile.version.find("kernel rates window="), std::string::npos);
  const ProgramProfile* program = profile.Find("lenet5 train batch 8");
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->alone.size(), 2U);  // 1 and 2 threads.
  EXPECT_GT(program->start_s.value, 0);
  EXPECT_FALSE(profile.resize.pause.empty());
  EXPECT_TRUE(profile.resize.shrink.empty());
  EXPECT_FALSE(profile.decision.empty());
}

TEST_F(CalibrateCliTest, AnInterruptWritesNoProfile) {
  const pid_t pid = Start({"calibrate", "--workloads", "x.toml", "--out", "p.json"});
  // Once it has told of a measurement it listens to signals.
  for (int i = 0; i < 3000 && ReadText(folder_.path() / "err").empty(); ++i) usleep(10'000);
  kill(pid, SIGINT);
  const Ended ended = Wait(pid);
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_NE(ended.err.find("no profile was written"), std::string::npos) << ended.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "p.json"));
}

}  // namespace
}  // namespace cosched
