// Tenants that are moved by their cgroup: cpuset and quota, beside affinity.

#include "experiments/os/actuator.h"

#include <sched.h>

#include <cerrno>
#include <system_error>

#include "experiments/hosts/process_launcher.h"
#include "experiments/os/cgroup.h"
#include "tests/experiments/hosts/process_host_fixture.h"

namespace cosched {
namespace {

class ActuatorTest : public ProcessHostTest {
 protected:
  void Use(Actuator actuator) {
    if (const std::string why_not = WhyNot(actuator); !why_not.empty()) GTEST_SKIP() << why_not;
    options_.actuator = actuator;
    options_.cores = machine_;
  }
  ActuationSample OnlyActuation() {
    const std::vector<ActuationSample> all = Host().TakeActuations();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? ActuationSample() : all.front();
  }
};

// A child process whose group the kernel lets nobody change.
class SealedTenant final : public LaunchedTenant {
 public:
  explicit SealedTenant(std::unique_ptr<LaunchedTenant> tenant) : tenant_(std::move(tenant)) {}

  void Advance() override { tenant_->Advance(); }
  pid_t pid() const override { return tenant_->pid(); }
  int socket() const override { return tenant_->socket(); }
  std::vector<int> Descriptors() const override { return tenant_->Descriptors(); }
  std::optional<TenantProcess::End> Ended() override { return tenant_->Ended(); }
  void Signal(int signal) override { tenant_->Signal(signal); }
  bool Kill() override { return tenant_->Kill(); }
  bool HasGroup() const override { return true; }
  void Move(const Place&) override {
    throw std::system_error(EACCES, std::generic_category(), "cpuset.cpus");
  }
  bool Done() override { return true; }
  Times LastTimes() const override { return {.actuator = "cpuset"}; }
  Cgroup::Counters Counters() const override { return {}; }
  Duration UsedByOthersChildren() const override { return Duration(0); }

 private:
  const std::unique_ptr<LaunchedTenant> tenant_;
};

class SealedLauncher final : public TenantLauncher {
 public:
  std::unique_ptr<LaunchedTenant> Launch(const TenantLaunch& launch) override {
    return std::make_unique<SealedTenant>(processes_.Launch(launch));
  }

 private:
  ProcessLauncher processes_{"/proc/self/exe", GroupSettings{}};
};

TEST_F(ActuatorTest, ATenantThatCannotBePutBackFailsAlone) {
  if (two_.Count() < 2) GTEST_SKIP() << "the machine has one core, which nobody can leave";
  UseHost(std::make_unique<ProcessHost>(options_, std::make_unique<SealedLauncher>()));
  const JobId job = Start("restless", one_);  // Takes all cores, some steps after its start.
  ExpectSettled(job);
  EXPECT_EQ(Failure(job), "could not be moved back to cores " + one_.ToString() +
                              ": cpuset.cpus: Permission denied");
}

TEST_F(ActuatorTest, NamesAreReadBack) {
  for (const Actuator actuator : {Actuator::kAffinity, Actuator::kCpuset, Actuator::kQuota})
    EXPECT_EQ(ParseActuator(ToString(actuator)), actuator);
  for (const Client client : {Client::kOn, Client::kOff, Client::kHalving})
    EXPECT_EQ(ParseClient(ToString(client)), client);
  EXPECT_FALSE(ParseActuator("cpu"));
  EXPECT_FALSE(ParseClient(""));
}

TEST_F(ActuatorTest, CpusetMovesAMalleableTenantAndIsGoneWithIt) {
  Use(Actuator::kCpuset);
  if (IsSkipped()) return;
  const JobId job = Start("obedient", two_);
  ExpectSettled(job);
  const pid_t tenant = OnlyChild();
  const std::string path = CpusetPathOf(tenant);
  EXPECT_NE(path.find("/cosched/"), std::string::npos) << path;
  for (const CpuSet& cores : {one_, two_, two_ - one_, two_}) {
    if (cores.Empty()) continue;  // A machine of one core.
    Host().Grant(job, Place::Whole(cores, DefaultSplit(cores.Count())));
    ExpectSettled(job);
    EXPECT_EQ(UnionOfBindings(tenant, false), cores);
    EXPECT_EQ(Cgroup::Of(tenant).Cores(), cores);
    const ActuationSample moved = OnlyActuation();
    EXPECT_EQ(moved.job, job);
    EXPECT_EQ(moved.cores, cores);
    EXPECT_EQ(moved.actuator, "cpuset");
    EXPECT_TRUE(moved.fast && *moved.fast > Duration(0));
    EXPECT_FALSE(moved.runtime);
  }
  Host().Stop(job);
  EXPECT_TRUE(LivingChildrenOf(getpid()).empty());
}

TEST_F(ActuatorTest, CpusetConfinesARigidTenantWithAllItsThreads) {
  Use(Actuator::kCpuset);
  if (IsSkipped()) return;
  const JobId job = Start("obedient", one_, kForever, Elasticity::kRigid);
  ExpectSettled(job);
  const pid_t tenant = OnlyChild();
  const size_t threads = ComputeThreads(tenant);
  for (const CpuSet& cores : {two_, one_, two_}) {
    Host().Grant(job, Place::Whole(cores, {1, 1}));
    ExpectSettled(job);
    EXPECT_EQ(UnionOfBindings(tenant, true), cores);  // Also wider than where it started.
    EXPECT_EQ(ComputeThreads(tenant), threads);
  }
  Host().Pause(job);
  ExpectSettled(job);
  Host().Grant(job, Place::Whole(one_, {1, 1}));
  ExpectSettled(job);
  EXPECT_EQ(UnionOfBindings(tenant, true), one_);
}

TEST_F(ActuatorTest, ATenantInACpusetCannotLeaveItsGrant) {
  Use(Actuator::kCpuset);
  if (IsSkipped()) return;
  const JobId job = Start("restless", one_);  // Tries to use every core of the machine.
  ExpectSettled(job);
  EXPECT_FALSE(Next(std::chrono::seconds(1)));
  EXPECT_EQ(UnionOfBindings(OnlyChild(), false), one_);
}

TEST_F(ActuatorTest, CpusetNarrowedBySomebodyElseIsSurvived) {
  Use(Actuator::kCpuset);
  if (IsSkipped()) return;
  const JobId job = Start("obedient", two_);
  ExpectSettled(job);
  Cgroup::Of(OnlyChild()).SetCores(one_);
  EXPECT_FALSE(Next(std::chrono::seconds(1)));
  Host().Grant(job, Place::Whole(two_, DefaultSplit(two_.Count())));
  ExpectSettled(job);
  EXPECT_EQ(Cgroup::Of(OnlyChild()).Cores(), two_);
}

TEST_F(ActuatorTest, CpusetWidenedBySomebodyElseIsTakenBack) {
  Use(Actuator::kCpuset);
  if (IsSkipped()) return;
  const JobId job = Start("obedient", one_, kForever, Elasticity::kRigid);
  ExpectSettled(job);
  const pid_t tenant = OnlyChild();
  Cgroup::Of(tenant).SetCores(machine_);
  EXPECT_FALSE(Next(std::chrono::seconds(2)));
  EXPECT_EQ(Cgroup::Of(tenant).Cores(), one_);
}

TEST_F(ActuatorTest, QuotaLimitsTheTimeAndNotThePlace) {
  Use(Actuator::kQuota);
  if (IsSkipped()) return;
  const JobId job = Start("obedient", two_, kForever, Elasticity::kRigid);
  ExpectSettled(job);
  const pid_t tenant = OnlyChild();
  Host().Grant(job, Place::Whole(one_, {1, 1}));
  ExpectSettled(job);
  EXPECT_EQ(UnionOfBindings(tenant, false), machine_);
  EXPECT_EQ(OnlyActuation().actuator, "quota");
  const Cgroup group = Cgroup::Of(tenant);
  const Duration before = group.Read().throttled.value_or(Duration(-1));
  EXPECT_GE(before, Duration(0));
  if (two_.Count() < 2) return;  // One core can't use up a quota of one.
  while (*group.Read().throttled == before) ASSERT_FALSE(Next(std::chrono::milliseconds(20)));
  EXPECT_GT(OnlySample().throttled.value_or(Duration(-1)), before);
}

// For the kernel to throttle a busy tenant, however little of the machine is ours.
constexpr auto kLongEnough = std::chrono::seconds(20);

// Whatever else runs here, it can't have more; a slice of the kernel's (5 ms a core) and the budget
// of a period may be spent in advance.
TEST_F(ActuatorTest, AShareIsCpuTimeThatTheTenantCannotExceed) {
  Use(Actuator::kQuota);
  if (IsSkipped()) return;
  options_.actuator = Actuator::kAffinity;  // Of those with cores of their own.
  options_.shares = true;
  options_.quota_period = std::chrono::milliseconds(20);
  const JobId job = Start("busy", two_, kForever, Elasticity::kRigid);
  ExpectSettled(job);
  const pid_t tenant = OnlyChild();
  const Cgroup group = Cgroup::Of(tenant);
  for (const int64_t milli : {300, 100, 500}) {
    Host().Grant(job, {two_, {milli}, {1, 1}});
    ExpectSettled(job);
    const auto start = std::chrono::steady_clock::now();
    const Duration used_before = RunTime(tenant);
    const Duration throttled_before = group.Read().throttled.value_or(Duration(0));
    while (group.Read().throttled.value_or(Duration(0)) - throttled_before <
           std::chrono::milliseconds(200)) {
      ASSERT_LT(std::chrono::steady_clock::now() - start, kLongEnough) << "nothing limits it";
      ASSERT_FALSE(Next(std::chrono::milliseconds(50)));
    }
    const double used = ToSeconds(RunTime(tenant) - used_before);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    const double share = static_cast<double>(milli) / 1e3;
    EXPECT_LE(used, share * passed.count() * 1.02 + 0.005 * two_.Count() + share * 0.02) << milli;
  }
  Host().Grant(job, Place::Whole(one_, {1, 1}));  // Its own again: nothing limits it.
  ExpectSettled(job);
  const auto throttled = group.Read().throttled;
  EXPECT_FALSE(Next(std::chrono::milliseconds(100)));
  EXPECT_EQ(group.Read().throttled, throttled);
  EXPECT_EQ(group.Cores(), one_);
}

TEST_F(ActuatorTest, AffinitySaysWhoPlacedTheThreads) {
  const JobId rigid = Start("obedient", two_, kForever, Elasticity::kRigid);
  ExpectSettled(rigid);
  Host().Grant(rigid, Place::Whole(one_, {1, 1}));
  ExpectSettled(rigid);
  EXPECT_EQ(OnlyActuation().actuator, "affinity");
  Host().Stop(rigid);
  const JobId malleable = Start("obedient", two_);
  ExpectSettled(malleable);
  Host().Grant(malleable, Place::Whole(one_, {1, 1}));
  ExpectSettled(malleable);
  EXPECT_EQ(OnlyActuation().actuator, "message");
}

}  // namespace
}  // namespace cosched
