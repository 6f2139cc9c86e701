// What makes a profile doubtful, and where its curve ends.

#include "experiments/config/profile_doubts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/engine/base/xml_core_kinds.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ProfileDoubtsTest : public testing::Test {
 protected:
  // As two minutes of `cosched calibrate` on a busy machine of two cores leave it.
  static Profile Poor() {
    Profile profile;
    profile.source = "calibrate: cosched calibrate";
    profile.cores = 2;
    ProgramProfile program;
    program.program = "lenet5 train batch 64";
    program.alone = {{1, {1, 1}, {0.0788, 0.0787, 0.0789, 3}},
                     {2, {1, 2}, {0.0865, 0.07, 0.11, 3}},
                     {1, {1, 2}, {0.1, 0.1, 0.1, 1}}};
    program.law.parameters = {1.0};
    profile.programs = {program};
    profile.notes = {
        "39 of 67 runs were marked: other programs used the cores, or arrivals came "
        "late"};
    return profile;
  }
  static Profile Good() {
    Profile profile = Poor();
    profile.notes.clear();
    ProgramProfile& program = profile.programs[0];
    program.alone = {{1, {1, 1}, {0.4, 0.399, 0.401, 9}},
                     {2, {1, 2}, {0.2, 0.199, 0.201, 9}},
                     {1, {1, 2}, {0.5, 0.499, 0.501, 9}}};
    program.law.error = 0.02;
    profile.co_runs = {{{{program.program, 2, 1, {1.1, 1.1, 1.1, 3}}}}};
    profile.resize = {{1e-4}, {1e-4}, {1e-4}, {1e-4}};
    profile.decision = {1e-5};
    return profile;
  }

  ExperimentConfig Load(const Profile& profile, const std::vector<std::string>& overrides = {}) {
    SaveProfile(profile, folder_.path() / "p.json");
    WriteText(folder_.path() / "d.toml", R"(name = "d"
backend = "simulated"
policies = ["strict"]
machine = { profile = "p.json" }
[[workload]]
model = "lenet5"
batch = 64
)");
    return LoadConfig(folder_.path() / "d.toml", overrides, topology_);
  }
  std::vector<std::string> Doubts(const Profile& profile,
                                  const std::vector<std::string>& overrides = {}) {
    return ProfileDoubts(Load(profile, overrides));
  }

  const TemporaryFolder folder_;
  const Topology topology_ = Topology::Synthetic("pack:1 [numa] l3:1 core:2 pu:1");
};

TEST_F(ProfileDoubtsTest, AGoodProfileOnItsOwnMachineHasNone) {
  EXPECT_THAT(Doubts(Good()), IsEmpty());
}

TEST_F(ProfileDoubtsTest, SharedCoresMustBeMeasuredWhereAPolicySharesThem) {
  const char* doubt = "not measured: what tenants lose on shared cores";
  EXPECT_THAT(Doubts(Good(), {"policies=[\"no-control\"]"}), Contains(doubt));
  Profile profile = Good();
  profile.programs[0].crowding = {{2, 1, {1.2, 1.1, 1.3, 6}}};
  EXPECT_THAT(Doubts(profile, {"policies=[\"no-control\"]"}), IsEmpty());
}

TEST_F(ProfileDoubtsTest, APoorOneSaysWhatIsWrongWithIt) {
  const std::vector<std::string> doubts = Doubts(Poor());
  EXPECT_THAT(doubts, Contains("39 of 67 runs of the calibration were marked (other programs ran "
                               "meanwhile)"));
  EXPECT_THAT(doubts, Contains("1 of 3 step times have intervals wider than ±5 %"));
  EXPECT_THAT(doubts, Contains("1 of 3 step times are of one run, without interval"));
  EXPECT_THAT(doubts, Contains("not shown to be faster on more cores: lenet5 train batch 64 (78.8 "
                               "ms on 1 core, 86.5 ms on 2)"));
  EXPECT_THAT(doubts, Contains("not measured: contention, resize delays, decision times"));
}

TEST_F(ProfileDoubtsTest, SlowerBeyondTheIntervalsIsSaidSo) {
  Profile profile = Good();
  profile.programs[0].alone[1].step_s = {0.45, 0.449, 0.451, 9};
  EXPECT_THAT(Doubts(profile), Contains(HasSubstr("slower on more cores: lenet5")));
  profile.programs[0].alone.resize(2);
  EXPECT_THAT(Doubts(profile), Contains("not measured: more threads than cores"));
  EXPECT_THAT(Doubts(profile, {"simulation.oversubscription=false"}),
              Not(Contains(HasSubstr("not measured"))));
}

TEST_F(ProfileDoubtsTest, ExtrapolationIsADoubtAndItsUnknownErrorAnother) {
  const std::vector<std::string> eight = {"machine.topology=pack:1 core:8 pu:1"};
  EXPECT_THAT(Doubts(Good(), eight),
              testing::ElementsAre("8 cores, 2 measured: speeds beyond 2 cores are extrapolated"));
  EXPECT_THAT(Doubts(Poor(), eight),
              Contains("the fitted curve's error is unknown: lenet5 train batch 64"));
}

TEST_F(ProfileDoubtsTest, UnlikeCoresAreTakenForEquallyFast) {
  WriteText(folder_.path() / "m.xml",
            XmlWithCoreKinds(Topology::Synthetic("pack:1 core:2 pu:1"),
                             {{{0}, "CoreType", "IntelCore"}, {{1}, "CoreType", "IntelAtom"}}));
  EXPECT_THAT(
      Doubts(Good(), {"machine.topology=m.xml"}),
      testing::ElementsAre("cores of 2 kinds: 0, slower 1, which are taken for equally fast"));
}

TEST_F(ProfileDoubtsTest, WhatACoreWasAndIsMustBeTheSame) {
  const std::vector<std::string> cores = {"machine.topology=pack:1 core:2 pu:2"};
  const std::vector<std::string> threads = {"machine.topology=pack:1 core:1 pu:2",
                                            "machine.smt=threads"};
  EXPECT_THAT(Doubts(Good(), cores), IsEmpty());
  EXPECT_THAT(Doubts(Good(), threads),
              Contains(HasSubstr("it is not told whether hardware threads were measured as cores, "
                                 "but here each of a core's 2")));
  EXPECT_THAT(Doubts(Good(), threads),
              Contains("not measured: what tenants lose beside others on a physical core"));
  Profile profile = Good();
  profile.threads_per_core = 1;
  EXPECT_THAT(Doubts(profile, threads),
              Contains(HasSubstr("measured with one hardware thread of each core, but here")));
  profile.threads_per_core = 2;
  profile.programs[0].sibling = {1.6, 1.5, 1.7, 6};
  EXPECT_THAT(Doubts(profile, threads), IsEmpty());
  EXPECT_THAT(Doubts(profile, cores),
              testing::ElementsAre(HasSubstr("as a core (calibrate --smt threads), but here one of "
                                             "each core is used")));
}

TEST_F(ProfileDoubtsTest, FarMemoryThatWasNotMeasuredIsADoubt) {
  const std::vector<std::string> nodes = {"machine.topology=pack:2 [numa] core:1 pu:1"};
  EXPECT_THAT(Doubts(Good(), nodes),
              testing::ElementsAre("not measured: what memory on another NUMA node costs"));
  EXPECT_THAT(Doubts(Good(), {nodes[0], "simulation.numa=false"}), IsEmpty());
  EXPECT_THAT(Doubts(Good(), {nodes[0], "machine.cores=1"}), IsEmpty());
  Profile profile = Good();
  profile.programs[0].far_memory = {1.2, 1.1, 1.3, 6};
  EXPECT_THAT(Doubts(profile, nodes), IsEmpty());
}

TEST_F(ProfileDoubtsTest, BeyondFourTimesTheMeasuredCoresItIsRefusedUnlessAskedFor) {
  const std::string sixteen = "machine.topology=pack:1 core:16 pu:1";
  try {
    Load(Good(), {sixteen});
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().key, "machine.profile");
    EXPECT_THAT(error.details().problem,
                AllOf(HasSubstr("p.json"), HasSubstr("at most 2 cores, but 16")));
    EXPECT_THAT(error.details().allowed, AllOf(HasSubstr("8 cores"), HasSubstr("--extrapolate"),
                                               HasSubstr("simulation.extrapolate = true")));
  }
  EXPECT_THAT(Doubts(Good(), {sixteen, "simulation.extrapolate=true"}),
              Contains(HasSubstr("over more than 4 times the measured cores")));
}

TEST_F(ProfileDoubtsTest, OnHardwareOnlyPoliciesThatGoBySpeedRestOnIt) {
  EXPECT_THAT(Doubts(Poor(), {"backend=hardware"}), IsEmpty());
  EXPECT_THAT(Doubts(Poor(), {"backend=hardware", "policies=[\"srpt\"]"}),
              Contains(HasSubstr("39 of 67")));
}

TEST_F(ProfileDoubtsTest, WhatIsNoMeasurementOfThisMachineSaysSo) {
  Profile profile = Good();
  profile.source = "published: cosched calibrate --from-published x";
  EXPECT_THAT(Doubts(profile), Contains(HasSubstr("published figures")));
  profile.source = "written by hand: an example, no measurement";
  EXPECT_THAT(Doubts(profile), Contains(profile.source));
}

}  // namespace
}  // namespace cosched
