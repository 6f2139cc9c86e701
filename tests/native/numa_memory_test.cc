// A real tenant's memory is on the NUMA nodes of its cores: where it starts, and after it has been
// moved. Counted by the kernel (numa_maps). Only where there are several nodes, as in the virtual
// machine (tests/vm).

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#include "engine/base/numa.h"
#include "experiments/os/cgroup.h"
#include "experiments/os/process_memory.h"
#include "tests/experiments/hosts/process_host_fixture.h"
#include "tests/native/real_tenant_fixture.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

// What may lie elsewhere: pages of the start, before the process was put on its cores, and those
// that the kernel keeps for it.
constexpr double kMostElsewhere = 0.05;
constexpr int64_t kSomeMemory = 8 << 20;

class NumaMemoryTest : public RealTenantTest {
 protected:
  void SetUp() override {
    if (map_.Count() < 2) GTEST_SKIP() << "this machine has one NUMA node";
    if (!MemoryOf(getpid())) GTEST_SKIP() << "the kernel does not tell where memory is";
    const Topology machine = Topology::ThisMachine();
    for (const int cpu : machine.OneThreadPerCore()) {
      const int node = map_.NodeOf(cpu);
      if (first_node_ < 0) first_node_ = node;
      (node == first_node_ ? first_ : other_).Add(cpu);
    }
    const CpuSet elsewhere = other_;
    for (const int cpu : elsewhere)
      if (map_.NodeOf(cpu) != map_.NodeOf(elsewhere.First())) other_.Remove(cpu);
  }

  // One that trains on these cores, with some 15 MB: it is to be done by an emulated machine, too.
  void StartOn(const CpuSet& cores, Elasticity elasticity) {
    Job job;
    job.id = job_;
    job.request = {1, cores.Count(), cores.Count()};
    job.elasticity = elasticity;
    TenantSpec spec;
    spec.model = "lenet5";
    spec.batch = 64;
    spec.steps = kForever;
    Host().Describe(job_, spec);
    Host().Start(job, Place::Whole(cores, DefaultSplit(cores.Count())));
    ASSERT_NO_FATAL_FAILURE(ExpectSettled());
    ExpectSteps();
  }
  void MoveTo(const CpuSet& cores) {
    Host().Grant(job_, Place::Whole(cores, DefaultSplit(cores.Count())));
    ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  }
  MemoryMove AwaitMove() {
    for (int i = 0; i < 4800; ++i) {
      const std::vector<MemoryMove> moves = Host().TakeMemoryMoves();
      EXPECT_LE(moves.size(), 1u);
      if (!moves.empty()) return moves.front();
      EXPECT_FALSE(Next(milliseconds(50)));
    }
    ADD_FAILURE() << "no memory was moved";
    return {};
  }
  static pid_t Tenant() {
    const std::vector<pid_t> children = LivingChildrenOf(getpid());
    EXPECT_EQ(children.size(), 1u);
    return children.empty() ? -1 : children.front();
  }
  double ShareOn(const CpuSet& cores) const {
    const std::optional<MemoryByNode> memory = MemoryOf(Tenant());
    if (!memory) return -1;
    int64_t all = 0;
    for (const auto& [node, bytes] : *memory) all += bytes;
    EXPECT_GT(all, kSomeMemory);
    const double share =
        static_cast<double>(BytesOn(*memory, map_.NodesOf(cores))) / static_cast<double>(all);
    std::printf("of %.1f MB %.1f %% are on node %s\n", static_cast<double>(all) / (1 << 20),
                100 * share, map_.NodesOf(cores).ToString().c_str());
    return share;
  }

  const NumaMap map_ = NumaMap::Of(Topology::ThisMachine());
  int first_node_ = -1;
  CpuSet first_, other_;  // Cores of two nodes.
};

TEST_F(NumaMemoryTest, WeightsAndActivationsAreTouchedOnTheGrantedNode) {
  ASSERT_NO_FATAL_FAILURE(StartOn(other_, Elasticity::kMalleable));
  EXPECT_GE(ShareOn(other_), 1 - kMostElsewhere);
}

TEST_F(NumaMemoryTest, MemoryFollowsAMalleableTenant) {
  ASSERT_NO_FATAL_FAILURE(StartOn(first_, Elasticity::kMalleable));
  EXPECT_GE(ShareOn(first_), 1 - kMostElsewhere);
  ASSERT_NO_FATAL_FAILURE(MoveTo(other_));
  const MemoryMove move = AwaitMove();
  EXPECT_EQ(move.outcome, kMemoryMoved);
  EXPECT_EQ(move.from, map_.NodesOf(first_));
  EXPECT_EQ(move.to, map_.NodesOf(other_));
  EXPECT_GT(move.bytes, kSomeMemory / 2);
  EXPECT_LT(static_cast<double>(move.left), kMostElsewhere * static_cast<double>(move.bytes));
  EXPECT_GE(ShareOn(other_), 1 - kMostElsewhere);
  EXPECT_TRUE(Host().TakeMarks().empty());
  ExpectSteps();
  EXPECT_GE(ShareOn(other_), 1 - kMostElsewhere);
}

// It is told nothing; its cores are taken from outside, and so is its memory.
TEST_F(NumaMemoryTest, MemoryFollowsARigidTenant) {
  ASSERT_NO_FATAL_FAILURE(StartOn(first_, Elasticity::kRigid));
  ASSERT_NO_FATAL_FAILURE(MoveTo(other_));
  EXPECT_EQ(AwaitMove().outcome, kMemoryMoved);
  EXPECT_GE(ShareOn(other_), 1 - kMostElsewhere);
}

TEST_F(NumaMemoryTest, MemoryStaysWhereThatIsWanted) {
  options_.memory = MemoryMode::kStay;
  ASSERT_NO_FATAL_FAILURE(StartOn(first_, Elasticity::kMalleable));
  ASSERT_NO_FATAL_FAILURE(MoveTo(other_));
  const MemoryMove move = AwaitMove();
  EXPECT_EQ(move.outcome, kMemoryStayed);
  EXPECT_EQ(move.bytes, 0);
  std::ifstream balancing("/proc/sys/kernel/numa_balancing");
  int balances = 0;
  if (balancing >> balances && balances != 0) return;  // The kernel moves pages after their users.
  ExpectSteps();
  EXPECT_GE(ShareOn(first_), 0.5);
}

// The group's memory is on the granted node alone, at the start and after a move.
TEST_F(NumaMemoryTest, BoundMemoryIsAllowedOnTheGrantedNodeOnly) {
  if (!Cgroup::Probe().cpuset) GTEST_SKIP() << Cgroup::Probe().why_not;
  options_.memory = MemoryMode::kBind;
  options_.actuator = Actuator::kCpuset;
  ASSERT_NO_FATAL_FAILURE(StartOn(first_, Elasticity::kMalleable));
  ASSERT_NO_FATAL_FAILURE(MoveTo(other_));
  const MemoryMove move = AwaitMove();
  EXPECT_EQ(move.outcome, kMemoryMoved);
  std::ifstream status("/proc/" + std::to_string(Tenant()) + "/status");
  std::string line, allowed;
  while (std::getline(status, line)) {
    constexpr std::string_view kKey = "Mems_allowed_list:\t";
    if (line.starts_with(kKey)) allowed = line.substr(kKey.size());
  }
  EXPECT_EQ(allowed, map_.NodesOf(other_).ToString());
  EXPECT_GE(ShareOn(other_), 1 - kMostElsewhere);
  ExpectSteps();
}

}  // namespace
}  // namespace cosched
