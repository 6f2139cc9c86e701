// cosched doctor -- CMD and --pid: what it finds, and what it advises.

#include "engine/base/topology.h"
#include "experiments/cli/doctor_program.h"
#include "experiments/os/process_children.h"
#include "experiments/os/run_program.h"
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
        "64 threads, by the machine's cores, neither cpuset nor quota",
        "more than the 1.5 cores can run", "ORT_INTRA_OP_NUM_THREADS=2, or intra_op_num_threads"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
}

// One that follows its grant has fewer than it began with.
TEST(FindingsOfProgramTest, OfOneThatRanBeforeItsThreadsOfNowCount) {
  ProgramFacts facts = Fitting();
  facts.environment = {{"OMP_NUM_THREADS", "8"}};
  facts.was_running = true;
  const std::string fits = Told(FindingsOf(facts, 64));
  EXPECT_EQ(fits.find("note"), std::string::npos) << fits;
  EXPECT_NE(fits.find("began with 8 threads, by OMP_NUM_THREADS=8"), std::string::npos) << fits;
  facts.most_wanting = 8;
  facts.wanting = 7.6;
  const std::string much = Told(FindingsOf(facts, 64));
  EXPECT_NE(much.find("note runtime"), std::string::npos) << much;
}

TEST(FindingsOfProgramTest, WhatAnotherUsersProcessHidesIsToldSo) {
  ProgramFacts facts = Fitting();
  facts.most_wanting = 8;
  facts.wanting = 7.6;
  facts.runtimes = {};
  facts.hidden = true;
  const std::string text = Told(FindingsOf(facts, 64));
  for (const char* words : {"is hidden from this user", "ok runtime: of another user"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  EXPECT_EQ(text.find("no runtime known here"), std::string::npos) << text;
}

class DoctorProgramCliTest : public CliTest {
 protected:
  void ExpectSaid(const std::string& text, const std::vector<std::string>& words) {
    for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
  }

  const std::string cpu_ = std::to_string(Topology::ThisMachine().Cpus().First());
  const std::vector<std::string> spinners_ = {
      "taskset", "-c", cpu_,
      "sh",      "-c", "(while :; do :; done) & (while :; do :; done) & while :; do :; done"};
  const std::vector<std::string> of_spinners_ = {
      "1 core may be used (" + cpu_ + ")", "in 3 processes", "3 at most wanted a core at once",
      "they take turns on 1 core", "the program's own option for 1 thread"};
};

// It knows by one when a process ends.
bool HasPidfd(pid_t process) {
  std::error_code gone;
  const std::filesystem::path fds = "/proc/" + std::to_string(process) + "/fd";
  for (std::filesystem::directory_iterator fd(fds, gone), end; !gone && fd != end;
       fd.increment(gone)) {
    std::error_code closed;
    if (std::filesystem::read_symlink(fd->path(), closed) == "anon_inode:[pidfd]") return true;
  }
  return false;
}

TEST_F(DoctorProgramCliTest, ThreeSpinnersOnOneCoreAreToldAndEnded) {
  std::vector<std::string> look = {"doctor", "--seconds", "1.5", "--"};
  look.insert(look.end(), spinners_.begin(), spinners_.end());
  const Ended ended = Run(look);
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  ExpectSaid(ended.out, {"then it was ended"});
  ExpectSaid(ended.out, of_spinners_);
}

TEST_F(DoctorProgramCliTest, WhatRunsAlreadyIsLookedAtAndGoesOn) {
  const pid_t program = StartProgram(spinners_).pid;
  ASSERT_GT(program, 0);
  while (DescendantsOf(program).size() < 2) usleep(1000);
  const std::string pid = std::to_string(program);
  const Ended ended = Run({"doctor", "--pid", pid, "--seconds", "1.5"});
  std::vector<pid_t> all = DescendantsOf(program);
  all.push_back(program);
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ(waitpid(program, nullptr, WNOHANG), 0) << "it goes on";
  for (const pid_t process : all) kill(process, SIGKILL);
  waitpid(program, nullptr, 0);
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  ExpectSaid(ended.out, {", process " + pid + ": looked at for ", "; it goes on", "sh -c"});
  ExpectSaid(ended.out, of_spinners_);
  const Ended gone = Run({"doctor", "--pid", pid});
  EXPECT_EQ(gone.exit_code, 2);
  ExpectSaid(gone.err, {"--pid", "there is no process " + pid});
}

TEST_F(DoctorProgramCliTest, AProcessThatEndsMeanwhileIsToldSo) {
  const pid_t program = StartProgram({"sleep", "1000"}).pid;
  const pid_t doctor = Start({"doctor", "--pid", std::to_string(program), "--seconds", "60"});
  while (!HasPidfd(doctor)) usleep(1000);
  usleep(1'000'000);  // Then it has looked, and looked again.
  kill(program, SIGTERM);
  waitpid(program, nullptr, 0);
  const Ended ended = Wait(doctor);
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  ExpectSaid(ended.out, {"; it ended\n"});
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
  for (const char* other : {"--clean", "--measure"})
    EXPECT_EQ(Run({"doctor", other, "--pid", "1"}).exit_code, 2) << other;
  EXPECT_EQ(Run({"doctor", "--pid", "1", "--", "true"}).exit_code, 2) << "which of them?";
  const Ended nothing = Run({"doctor", "--seconds", "1"});
  EXPECT_EQ(nothing.exit_code, 2);
  ExpectSaid(nothing.err, {"--seconds", "--pid"});
}

}  // namespace
}  // namespace cosched
