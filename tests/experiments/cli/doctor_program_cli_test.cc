// cosched doctor -- CMD: what it finds, and what it advises.

#include "engine/base/topology.h"
#include "experiments/cli/doctor_program.h"
#include "tests/experiments/cli/cli_fixture.h"

namespace cosched {
namespace {

const ThreadRuntime& RuntimeWith(std::string_view library) {
  return *RuntimesOf("0-1 r-xp 0 0:0 1 /lib/" + std::string(library)).at(0);
}

// As many as there are cores.
ProgramFacts Fitting() {
  ProgramFacts facts;
  facts.watched = std::chrono::seconds(10);
  facts.processes = 1;
  facts.threads = 3;
  facts.most_wanting = 2;
  facts.wanting = facts.used_cores = 1.9;
  facts.allowed = {0, 1};
  facts.runtimes = {&RuntimeWith("libgomp.so.1")};
  return facts;
}

std::string Told(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += (finding.severity == Severity::kGood ? "ok " : "note ") + finding.what + ": " +
            finding.found + "; " + finding.consequence + "; " + finding.remedy + "\n";
  }
  return text;
}

TEST(FindingsOfProgramTest, WhatFitsIsGood) {
  const std::string text = Told(FindingsOf(Fitting(), 64));
  EXPECT_EQ(text.find("note"), std::string::npos) << text;
}

TEST(FindingsOfProgramTest, MoreThreadsThanCoresAreTold) {
  ProgramFacts facts = Fitting();
  facts.most_wanting = 8;
  facts.wanting = 7.6;
  facts.waiting_share = 0.74;
  facts.environment = {{"OMP_NUM_THREADS", "8"}};
  const std::string text = Told(FindingsOf(facts, 64));
  for (const char* words :
       {"note threads", "8 at most wanted a core at once, 7.6 on average",
        "74 % of the time in which they could run they waited", "they take turns on 2 cores",
        "8 threads, by OMP_NUM_THREADS=8", "OMP_NUM_THREADS=2"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
}

TEST(FindingsOfProgramTest, AHelperNowAndThenIsNoReason) {
  ProgramFacts facts = Fitting();
  facts.most_wanting = 3;
  facts.wanting = 2.1;
  const std::string text = Told(FindingsOf(facts, 64));
  EXPECT_EQ(text.find("note"), std::string::npos) << text;
}

TEST(FindingsOfProgramTest, CoresThatOthersUseAreTold) {
  ProgramFacts facts = Fitting();
  facts.waiting_share = 0.4;
  const std::string text = Told(FindingsOf(facts, 64));
  EXPECT_NE(
      text.find("40 % of the time in which they could run they waited for cores on which other"),
      std::string::npos)
      << text;
}

TEST(FindingsOfProgramTest, AQuotaIsCountedInThreads) {
  ProgramFacts facts = Fitting();
  facts.allowed = {0, 1, 2, 3};
  facts.quota = CpuQuota{"/sys/fs/cgroup/pod", 1.5};
  facts.stops = {{"/sys/fs/cgroup/pod", 100, 95, std::chrono::milliseconds(4600)}};
  facts.runtimes = {&RuntimeWith("libonnxruntime.so")};
  const std::string text = Told(FindingsOf(facts, 64));
  for (const char* words :
       {"CPU time for 1.5 cores", "in 95 of 100 periods, for 4.60 s",
        "64 threads, by the machine's cores, neither cpuset nor quota", "more than the 1.5 cores can run",
        "ORT_INTRA_OP_NUM_THREADS=2, or intra_op_num_threads"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
}

class DoctorProgramCliTest : public CliTest {
 protected:
  void ExpectSaid(const std::string& text, const std::vector<std::string>& words) {
    for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
  }
};

TEST_F(DoctorProgramCliTest, ThreeSpinnersOnOneCoreAreToldAndEnded) {
  const std::string cpu = std::to_string(Topology::ThisMachine().Cpus().First());
  const std::string spin = "(while :; do :; done) & (while :; do :; done) & while :; do :; done";
  const Ended ended =
      Run({"doctor", "--seconds", "1.5", "--", "taskset", "-c", cpu, "sh", "-c", spin});
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  ExpectSaid(ended.out, {"then it was ended", "1 core may be used (" + cpu + ")", "in 3 processes",
                         "3 at most wanted a core at once", "they take turns on 1 core",
                         "the program's own option for 1 thread"});
}

TEST_F(DoctorProgramCliTest, AProgramThatEndsIsToldSo) {
  const Ended ended = Run({"doctor", "--seconds", "20", "--", "sh", "-c", "sleep 0.5; exit 3"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out;
  ExpectSaid(ended.out, {"it ended, with exit code 3", "ok       threads"});
}

TEST_F(DoctorProgramCliTest, WhatIsNotThereIsRefused) {
  const Ended ended = Run({"doctor", "--", "no-such-program"});
  EXPECT_EQ(ended.exit_code, 2);
  ExpectSaid(ended.err, {"no-such-program", "No such file"});
  const Ended clean = Run({"doctor", "--clean", "--", "true"});
  EXPECT_EQ(clean.exit_code, 2);
  ExpectSaid(clean.err, {"--clean"});
  EXPECT_EQ(Run({"doctor", "--seconds", "1"}).exit_code, 2) << "there is no program";
}

}  // namespace
}  // namespace cosched
