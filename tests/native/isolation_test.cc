// Real tenants have left cores wholly when their host says so: while they start, when they are
// paused before their first step, with all their threads.

#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "experiments/os/process_sampler.h"
#include "tests/experiments/hosts/process_host_fixture.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/native/real_tenant_fixture.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class IsolationTest : public RealTenantTest {
 protected:
  void Start(const TenantSpec& spec) {
    RealTenantTest::Start(spec, Elasticity::kMalleable, DefaultSplit(cores_.Count()));
  }
  static TenantSpec Program(const std::string& model, Mode mode) {
    TenantSpec spec;
    spec.model = model;
    spec.mode = mode;
    spec.batch = 2;
    spec.steps = 1'000'000;
    return spec;
  }
  static pid_t Tenant() {
    const std::vector<pid_t> children = LivingChildrenOf(getpid());
    EXPECT_EQ(children.size(), 1u);
    return children.empty() ? -1 : children.front();
  }
  // Looks at every thread as often as it can until `over`: none is allowed elsewhere, or runs
  // there.
  template <typename Over>
  void ExpectOnlyOn(const CpuSet& cores, Over over) {
    const Topology topology = Topology::ThisMachine();
    ProcessSampler sampler(Tenant());
    const TimePoint patience = Host().GetClock().Now() + kPatience;
    for (int64_t looks = 0; !over(); ++looks) {
      ASSERT_LT(Host().GetClock().Now(), patience);
      const std::optional<HostEvent> event = Next(milliseconds(1));
      if (event && std::holds_alternative<HostFailed>(*event))
        FAIL() << std::get<HostFailed>(*event).reason;
      ASSERT_TRUE(sampler.Read());
      for (const ProcessSampler::Thread& thread : sampler.Threads()) {
        const CpuSet binding = topology.ThreadBinding(thread.tid);
        ASSERT_TRUE(cores.Contains(binding)) << "thread " << thread.tid << " may run on "
                                             << binding.ToString() << ", look " << looks;
        const bool elsewhere = thread.state == 'R' && !cores.Contains(thread.cpu);
        ASSERT_FALSE(elsewhere) << "thread " << thread.tid << " runs on " << thread.cpu;
      }
    }
  }
};

// Told so as it begins to build its model; then it warms up.
TEST_F(IsolationTest, AServiceThatStartsLeavesWhatItIsToldToLeave) {
  if (cores_.Count() < 2) GTEST_SKIP() << "needs two cores";
  TenantSpec spec = Program("mobilenet_v2", Mode::kInfer);
  spec.serves = true;
  spec.steps = 0;
  Start(spec);
  Host().Grant(job_, Place::Whole(one_, {1, 1}));
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  Host().Send(job_, {.id = 0, .scheduled = Host().GetClock().Now()});
  ExpectOnlyOn(one_, [this] { return !Host().TakeRequests().empty(); });
}

// A split that is to be found makes it plan its first step before it is up, which takes a while.
TEST_F(IsolationTest, AProgramThatStartsLeavesWhatItIsToldToLeave) {
  if (cores_.Count() < 2) GTEST_SKIP() << "needs two cores";
  TenantSpec spec = Program("mobilenet_v2", Mode::kTrain);
  spec.auto_split = true;
  Start(spec);
  Host().Grant(job_, Place::Whole(one_, {1, 1}));
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  ExpectOnlyOn(one_, [this] { return OnlySample().steps > 0; });
}

// The tenant is up, and its main thread makes the kernels of its first step, which takes a while.
TEST_F(IsolationTest, APauseStopsTheMainThread) {
  options_.timeouts.heartbeat = milliseconds(600);
  Start(Program("mobilenet_v2", Mode::kTrain));
  ExpectSettled();
  Host().Pause(job_);
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  const Duration paused = RunTime(Tenant());
  EXPECT_FALSE(Next(milliseconds(1500)));
  EXPECT_EQ(RunTime(Tenant()), paused);
  EXPECT_EQ(OnlySample().steps, 0);
  Host().Grant(job_, Place::Whole(one_, {1, 1}));
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  ExpectOnlyOn(one_, [this] { return OnlySample().steps > 0; });
}

TEST_F(IsolationTest, CtlSaysThatAHostHasPausedIt) {
  Start(Program("lenet5", Mode::kTrain));
  ExpectSettled();
  Host().Pause(job_);
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  const TemporaryFolder folder;
  const std::string said = (folder.path() / "said").string();
  const std::string command = std::string(CoschedBinary()) + " ctl " + std::to_string(Tenant()) +
                              " status > " + said + " 2>&1";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
  const std::string text = ReadText(said);
  EXPECT_NE(text.find("its host has paused it"), std::string::npos) << text;
}

}  // namespace
}  // namespace cosched
