// What memory on another NUMA node costs in the simulator, against closed forms: on two nodes of two
// cores each, with a profile in which a job does one unit of work a second and core.

#include "tests/fidelity/simulation.h"

namespace cosched {
namespace {

constexpr double kFar = 1.5;       // Of a step with all memory far.
constexpr double kMoveS = 0.125;   // All of a job's memory.
constexpr double kBytes = 1.25e9;  // How much that is.

Profile ProfileOf(int samples) {
  Profile profile = PerfectProfile();
  profile.programs[0].far_memory = {kFar, kFar, kFar, samples};
  profile.programs[0].memory_bytes = {kBytes, kBytes, kBytes, samples};
  profile.move_bytes_s = {kBytes / kMoveS, kBytes / kMoveS, kBytes / kMoveS, samples};
  return profile;
}

struct Setting {
  MemoryMode memory = MemoryMode::kFollow;
  std::string topology = "pack:2 [numa] core:2 pu:1";
  Profile profile = ProfileOf(1);
  bool numa = true;
  Elasticity elasticity = Elasticity::kMalleable;
};

struct Grant {
  double at_s;
  CpuSet cores;
};

struct Outcome {
  double ended = 0;
  std::vector<MemoryMove> moves;
};

// One job of so many units, where the grants say; the first is its start.
Outcome RunJob(const Setting& setting, double units, const std::vector<Grant>& grants) {
  SimulationSettings model{.charge = SimulationSettings::Charge::kNone};
  model.numa = setting.numa;
  SimulatedHost host({.profile = std::make_shared<const Profile>(setting.profile),
                      .model = model,
                      .topology = Topology::Synthetic(setting.topology),
                      .memory = setting.memory,
                      .steps = false});
  const JobId id{0};
  const TenantSpec spec = SpecOf({.units = units});
  const Job job{.id = id,
                .workload = "work",
                .request = {1, 4, 4},
                .elasticity = setting.elasticity,
                .steps = spec.steps};
  host.Describe(id, spec);
  bool ended = false;
  const auto run_until = [&](TimePoint time) {
    while (const std::optional<HostEvent> event = host.NextEvent(time))
      ended = ended || std::holds_alternative<HostFinished>(*event);
  };
  for (const Grant& grant : grants) {
    run_until(TimePoint(FromSeconds(grant.at_s)));
    const Place place = Place::Whole(grant.cores, DefaultSplit(grant.cores.Count()));
    &grant == &grants.front() ? host.Start(job, place) : host.Grant(id, place);
  }
  Outcome outcome;
  while (!ended) {
    const std::optional<HostEvent> event = host.NextEvent(TimePoint(FromSeconds(1000)));
    if (!event) break;
    ended = std::holds_alternative<HostFinished>(*event);
    outcome.ended = ToSeconds(host.Now());
  }
  EXPECT_TRUE(ended);
  outcome.moves = host.TakeMemoryMoves();
  return outcome;
}

TEST(Memory, OneCoreStandsStillWhileItsMemoryIsMoved) {
  for (const Elasticity elasticity : {Elasticity::kMalleable, Elasticity::kRigid}) {
    const Outcome outcome = RunJob({.elasticity = elasticity}, 4, {{0, {0}}, {1, {2}}});
    ExpectExactly("moved once", 4 + kMoveS, outcome.ended);
    ASSERT_EQ(outcome.moves.size(), 1U);
    const MemoryMove& move = outcome.moves[0];
    EXPECT_EQ(move.from, NumaNodes{{0}});
    EXPECT_EQ(move.to, NumaNodes{{1}});
    EXPECT_EQ(move.outcome, kMemoryMoved);
    EXPECT_EQ(move.bytes, static_cast<int64_t>(kBytes));
    EXPECT_EQ(move.left, 0);
    EXPECT_EQ(move.taken, FromSeconds(kMoveS));
    EXPECT_EQ(move.time, TimePoint(FromSeconds(1 + kMoveS)));
  }
}

// One of the cores moves it, and on the other it is far meanwhile.
TEST(Memory, OfSeveralCoresOneMovesIt) {
  const double before = 2 * 0.5, meanwhile = kMoveS / kFar;
  const Outcome outcome = RunJob({}, 4, {{0, {0, 1}}, {0.5, {2, 3}}});
  ExpectExactly("moved on two cores", 0.5 + kMoveS + (4 - before - meanwhile) / 2, outcome.ended);
}

TEST(Memory, MemoryThatStaysIsFar) {
  const Setting stay{.memory = MemoryMode::kStay};
  const Outcome outcome = RunJob(stay, 4, {{0, {0}}, {1, {2}}, {2.5, {0}}});
  ExpectExactly("away for one unit", 1 + kFar + 2, outcome.ended);
  ASSERT_EQ(outcome.moves.size(), 2U);
  EXPECT_EQ(outcome.moves[0].outcome, kMemoryStayed);
  EXPECT_EQ(outcome.moves[0].bytes, 0);
  EXPECT_EQ(outcome.moves[1].from, NumaNodes{{1}});
  ExpectExactly("half of it far, on one core of two", 0.5 + 3 * (1 + (kFar - 1) / 2),
                RunJob(stay, 4, {{0, {0, 2}}, {0.5, {0}}}).ended);
}

// Only what lies elsewhere.
TEST(Memory, HalfOfItIsMovedInHalfTheTime) {
  const Outcome outcome = RunJob({}, 4, {{0, {0, 2}}, {0.5, {2}}});
  ExpectExactly("half of it", 0.5 + kMoveS / 2 + 3, outcome.ended);
  ASSERT_EQ(outcome.moves.size(), 1U);
  EXPECT_EQ(outcome.moves[0].bytes, static_cast<int64_t>(kBytes / 2));
}

TEST(Memory, AMoveIsEndedBeforeTheNextBegins) {
  const Outcome outcome = RunJob({}, 4, {{0, {0}}, {1, {2}}, {1.05, {1}}});
  ExpectExactly("moved there and back", 4 + 2 * kMoveS, outcome.ended);
  EXPECT_EQ(outcome.moves.size(), 2U);
}

TEST(Memory, WithinANodeNothingMoves) {
  const Outcome outcome = RunJob({}, 4, {{0, {0}}, {1, {1}}, {2, {0, 1}}});
  ExpectExactly("on one node", 3, outcome.ended);
  EXPECT_TRUE(outcome.moves.empty());
}

TEST(Memory, CostsNothingWhereItIsNotModelled) {
  const std::vector<Setting> free = {{.topology = "pack:1 [numa] core:4 pu:1"},
                                     {.profile = ProfileOf(0)},
                                     {.numa = false},
                                     {.memory = MemoryMode::kStay, .numa = false}};
  for (const Setting& setting : free) {
    const Outcome outcome = RunJob(setting, 4, {{0, {0}}, {1, {2}}});
    ExpectExactly("free of charge", 4, outcome.ended);
    EXPECT_TRUE(outcome.moves.empty());
  }
}

}  // namespace
}  // namespace cosched
