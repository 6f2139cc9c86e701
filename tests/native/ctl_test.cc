// A running tenant is resized from outside: by `cosched ctl`, signals, its affinity mask and its
// cpuset. It is a real one, and what it does is read from the kernel and from what it says.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/topology.h"
#include "experiments/os/cgroup.h"
#include "experiments/os/owner.h"
#include "experiments/os/process_sampler.h"
#include "experiments/os/thread_affinity.h"
#include "experiments/tenant/demand.h"
#include "experiments/tenant/resize_signals.h"
#include "experiments/wire/control_socket.h"
#include "experiments/wire/tenant_protocol.h"
#include "tests/native/cosched_command.h"
#include "tests/native/quota_group.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using Verb = ControlRequest::Verb;

class CtlTest : public ::testing::Test {
 protected:
  explicit CtlTest(const std::function<void()>& prepare = {})
      : all_(FirstCores(topology_.OneThreadPerCore(), 2)),
        one_(FirstCores(all_, 1)),
        tenant_({"tenant", "--model", "lenet5", "--batch", "64", "--steps", "0", "--inter",
                 std::to_string(all_.Count()), "--cores", all_.ToString()},
                prepare) {
    Until([this] {
      try {
        return ConnectToTenant(Target()) && Status().ready && Status().step > 0;
      } catch (const InputError&) {
        return false;
      }
    });
  }

  void SetUp() override {
    if (all_.Count() < 2) GTEST_SKIP() << "needs two cores";
  }

  std::string Target() const { return std::to_string(tenant_.pid()); }
  ControlReply Ask(ControlRequest request) {
    request.id = 1;
    const UniqueFd socket = ConnectToTenant(Target());
    EXPECT_TRUE(SendPacket(socket.get(), Encode(request)));
    return Answer(socket.get());
  }
  static ControlReply Answer(int socket) {
    std::string text;
    Receipt receipt;
    Until([&] { return (receipt = ReceivePacket(socket, &text)) != Receipt::kNothing; });
    return ParseControlReply(text).message.value_or(ErrorReply{0, "hung up"});
  }
  StatusReply Status() {
    const ControlReply reply = Ask({.verb = Verb::kStatus});
    const auto* status = std::get_if<StatusReply>(&reply);
    return status != nullptr ? *status : StatusReply();
  }
  CommandOutcome Ctl(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"ctl", Target()});
    return CoschedCommand(std::move(arguments)).End();
  }
  // Every compute thread that is awake is bound to a core of its own within these.
  void UntilPinned(const CpuSet& cores) {
    Until([&] {
      const StatusReply status = Status();
      if (status.cores != cores || status.active_threads != cores.Count()) return false;
      ProcessSampler sampler(tenant_.pid());
      sampler.Read(ProcessSampler::Look::kLast);
      CpuSet pins;
      int pinned = 0;
      for (const ProcessSampler::Thread& thread : sampler.Threads()) {
        if (!thread.compute) continue;
        const CpuSet pin = topology_.ThreadBinding(thread.tid);
        if (pin.Count() == 1) ++pinned;
        pins = pins | pin;
      }
      return pinned >= cores.Count() && cores.Contains(pins);
    });
  }

  const Topology topology_ = Topology::ThisMachine();
  const CpuSet all_, one_;
  CoschedCommand tenant_;
};

class QuotaCtlTest : protected QuotaGroup, public CtlTest {
 protected:
  QuotaCtlTest() : QuotaGroup("ctltest"), CtlTest([this] { Enter(); }) {}
  void SetUp() override {
    if (!group) GTEST_SKIP() << Cgroup::Probe().why_not;
    CtlTest::SetUp();
  }
};

TEST_F(QuotaCtlTest, FollowsTheQuotaThatSomebodyElseGivesIt) {
  const Split two{2, 1};  // Of the wanted 2 x 2, what two threads are.
  EXPECT_EQ(Status().threads, (Split{1, 1})) << "the quota is below one core";
  group->SetLimit(CpuLimit{{1100}});
  Until([&] { return Status().threads == two; });
  UntilPinned(all_);
  EXPECT_EQ(Ctl({"set", "intra=1", "inter=1"}).exit_code, 0);
  group->SetLimit(CpuLimit{{500}});
  Until([&] { return Status().cores.Count() == 1; });
  EXPECT_EQ(Ctl({"set", "inter=2"}).output.rfind("cores ", 0), 0u);
  EXPECT_EQ(Status().threads, (Split{1, 1})) << "remembered, until there is time for two";
  group->SetLimit({});
  Until([&] { return Status().threads == two; });
  EXPECT_EQ(Ctl({"stop"}).output, "stopping\n");
  const CommandOutcome tenant = tenant_.End();
  EXPECT_NE(tenant.errors.find("1 -> 2 threads (2x1)"), std::string::npos) << tenant.errors;
  EXPECT_NE(tenant.errors.find(", by quota, settled in "), std::string::npos) << tenant.errors;
}

TEST_F(CtlTest, SetsPausesResumesAndStops) {
  CommandOutcome run = Ctl({"set", "cores=" + one_.ToString()});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(run.output.rfind("cores " + one_.ToString() + ", inter 1 x intra 1, in ", 0), 0u)
      << run.output;
  UntilPinned(one_);
  run = Ctl({"set", "cores=" + all_.ToString(), "intra=2", "inter=1"});
  EXPECT_EQ(run.output.rfind("cores " + all_.ToString() + ", inter 1 x intra 2, in ", 0), 0u)
      << run.output << run.errors;
  UntilPinned(all_);
  EXPECT_EQ(Ctl({"pause"}).output.rfind("paused, in ", 0), 0u);
  const StatusReply paused = Status();
  EXPECT_TRUE(paused.paused);
  EXPECT_EQ(paused.active_threads, 0);
  EXPECT_EQ(Ctl({"resume"}).exit_code, 0);
  Until([&] { return Status().step > paused.step; });
  run = Ctl({"status"});
  EXPECT_NE(run.output.find("lenet5 train batch 64\nstep "), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("resizes   "), std::string::npos) << run.output;
  EXPECT_EQ(Ctl({"stop"}).output, "stopping\n");
  const CommandOutcome tenant = tenant_.End();
  EXPECT_EQ(tenant.exit_code, 0);
  EXPECT_NE(tenant.errors.find("-> paused, by ctl, settled in "), std::string::npos)
      << tenant.errors;
  EXPECT_EQ(tenant.output.rfind("lenet5 train batch 64: ", 0), 0u) << tenant.output;
}

// A pause holds the step under way, which must end before the tenant can.
TEST_F(CtlTest, ASignalEndsAPausedTenantToo) {
  EXPECT_EQ(Ctl({"pause"}).output.rfind("paused, in ", 0), 0u);
  ASSERT_EQ(kill(tenant_.pid(), SIGTERM), 0);
  EXPECT_EQ(tenant_.End().exit_code, 130);
}

// {2, 2} on two cores is two threads, of which one helps the other where it has no node to run.
TEST_F(CtlTest, SaysWhatWasWantedWhereItIsMoreThanTheCores) {
  const CommandOutcome run = Ctl({"set", "inter=2", "intra=2"});
  EXPECT_NE(run.output.find("inter 2 x intra 1 (never more threads than cores), in "),
            std::string::npos)
      << run.output << run.errors;
  const StatusReply status = Status();
  EXPECT_EQ(status.threads, (Split{2, 1}));
  EXPECT_EQ(status.wanted, (Split{2, 2}));
  EXPECT_NE(Ctl({"status"}).output.find("\nwanted    inter 2 x intra 2"), std::string::npos);
  EXPECT_EQ(Ctl({"set", "inter=1"}).output.find("never more"), std::string::npos);
  EXPECT_EQ(Ctl({"status"}).output.find("wanted"), std::string::npos);
}

TEST_F(CtlTest, RefusalsExitWithTwoAndChangeNothing) {
  const StatusReply before = Status();
  const std::pair<const char*, const char*> cases[] = {
      {"cores=4095", "outside the cores it was started on"},
      {"intra=9", "intra 9: allowed is 0 (pause) to its capacity, 2"},
      {"cores=", "an interval set"},
      {"colour=1", "no setting"},
      {"intra=x", "a number of threads"},
  };
  for (const auto& [setting, reason] : cases) {
    const CommandOutcome run = Ctl({"set", setting});
    EXPECT_EQ(run.exit_code, 2) << setting;
    EXPECT_NE(run.errors.find(reason), std::string::npos) << run.errors;
  }
  EXPECT_EQ(CoschedCommand({"ctl", "1", "status"}).End().exit_code, 2);
  EXPECT_EQ(Status().threads, before.threads);
  EXPECT_EQ(Status().grow.count + Status().shrink.count, 0);
}

TEST_F(CtlTest, ReplayedAndMalformedRequestsChangeNothing) {
  const UniqueFd socket = ConnectToTenant(Target());
  const ControlRequest shrink{.id = 5, .verb = Verb::kSet, .cores = one_};
  ASSERT_TRUE(SendPacket(socket.get(), Encode(shrink)));
  EXPECT_TRUE(std::holds_alternative<OkReply>(Answer(socket.get())));
  ControlRequest replayed = shrink;
  replayed.cores = all_;
  for (const std::string& text :
       {Encode(replayed), std::string("{"), std::string(R"({"version":9,"type":"stop","id":6})")}) {
    ASSERT_TRUE(SendPacket(socket.get(), text));
    EXPECT_TRUE(std::holds_alternative<ErrorReply>(Answer(socket.get()))) << text;
  }
  EXPECT_EQ(Status().cores, one_);
}

TEST_F(CtlTest, OtherUsersAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  const std::filesystem::path path = std::filesystem::canonical(ControlPath(Target()));
  const pid_t child = fork();
  if (child == 0) {
    // Not even with the path in hand: neither the directory nor the socket lets it through.
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(3);
    try {
      ConnectToTenant(path.string());
      _exit(1);
    } catch (const InputError&) {
    }
    try {
      SendResizeSignal(tenant_.pid(), ResizeSignal::kCores, 1);
      _exit(2);
    } catch (const InputError&) {
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(Status().cores, all_);
}

TEST_F(CtlTest, SignalsResizeAndNonsenseIsCounted) {
  SendResizeSignal(tenant_.pid(), ResizeSignal::kCores, 1);
  UntilPinned(one_);
  SendResizeSignal(tenant_.pid(), ResizeSignal::kCores, 2);
  SendResizeSignal(tenant_.pid(), ResizeSignal::kInter, 1);
  SendResizeSignal(tenant_.pid(), ResizeSignal::kIntra, 2);
  UntilPinned(all_);
  EXPECT_EQ(Status().threads, (Split{1, 2}));
  const int64_t ignored = Status().signals_ignored;
  EXPECT_EQ(ignored, 0);
  SendResizeSignal(tenant_.pid(), ResizeSignal::kCores, -1);
  SendResizeSignal(tenant_.pid(), ResizeSignal::kIntra, 1000);
  kill(tenant_.pid(), SignalNumber(ResizeSignal::kCores));  // Without a payload.
  siginfo_t forged{};
  forged.si_code = SI_QUEUE;
  forged.si_pid = getpid();
  forged.si_uid = geteuid() + 1;
  forged.si_value.sival_int = 1;
  ASSERT_EQ(
      syscall(SYS_rt_sigqueueinfo, tenant_.pid(), SignalNumber(ResizeSignal::kCores), &forged), 0);
  Until([&] { return Status().signals_ignored == 4; });
  EXPECT_EQ(Status().cores, all_);
}

TEST_F(CtlTest, FullSignalQueueIsToldToTheSenderAndHarmsNobody) {
  ASSERT_EQ(kill(tenant_.pid(), SIGSTOP), 0);  // A stopped tenant can't take any.
  constexpr int kMost = 200'000;
  int sent = 0;
  const sigval value{.sival_int = 1};
  while (sent < kMost && sigqueue(tenant_.pid(), SignalNumber(ResizeSignal::kCores), value) == 0) {
    ++sent;
  }
  EXPECT_TRUE(sent == kMost || errno == EAGAIN);
  ASSERT_EQ(kill(tenant_.pid(), SIGCONT), 0);
  UntilPinned(one_);
  SendResizeSignal(tenant_.pid(), ResizeSignal::kCores, 2);  // Tries until there is room.
  UntilPinned(all_);
}

TEST_F(CtlTest, FollowsItsAffinityMask) {
  for (const CpuSet& cores : {one_, all_, all_ - one_, all_}) {
    ASSERT_NE(ConfineThreads(tenant_.pid(), cores, topology_), Confinement::kRefused);
    UntilPinned(cores);
  }
  Ctl({"stop"});
  EXPECT_NE(tenant_.End().errors.find(", by cpuset, settled in "), std::string::npos);
}

TEST_F(CtlTest, FollowsItsCpusetAndReturnsToWhatWasAskedFor) {
  if (!Cgroup::Probe().cpuset) {
    GTEST_SKIP() << "no cpuset cgroup can be made here: " << Cgroup::Probe().why_not;
  }
  Cgroup group = Cgroup::Create(OwnerName() + "-ctltest", all_);
  group.Attach(tenant_.pid());
  for (int i = 0; i < 3; ++i) {
    group.SetCores(one_);
    UntilPinned(one_);
    const ControlReply refused = Ask({.verb = Verb::kSet, .cores = all_});
    ASSERT_TRUE(std::holds_alternative<ErrorReply>(refused));
    EXPECT_NE(std::get<ErrorReply>(refused).reason.find("its cpuset or affinity mask allows"),
              std::string::npos);
    group.SetCores(all_);
    UntilPinned(all_);
  }
  Ctl({"stop"});
  EXPECT_EQ(tenant_.End().exit_code, 0);
}

}  // namespace
}  // namespace cosched
