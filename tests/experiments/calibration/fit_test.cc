// What is fitted to measurements that a formula made: the formula.

#include "experiments/calibration/fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/experiments/calibration/formula_machine.h"

namespace cosched {
namespace {

TEST(CalibrationFit, FindsWhatTheMachineIsMadeOf) {
  FormulaMachine machine(0.002);
  CalibrationOptions options = machine.Options();
  options.seconds = 1e4;
  const auto result = Calibrate(kPrograms, 8, options);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->not_tight, 0);
  const Profile& profile = result->profile;
  EXPECT_EQ(profile.cores, 8);
  ASSERT_EQ(profile.programs.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    const ProgramProfile& program = profile.programs[i];
    for (const SpeedPoint& point : program.alone) {
      const double truth = FormulaMachine::Alone(i, point.cores, ThreadsOf(point.threads));
      EXPECT_NEAR(point.step_s.value / truth, 1, 0.02);
      EXPECT_LE((point.step_s.high - point.step_s.low) / 2 / point.step_s.value, 0.02);
    }
    EXPECT_NEAR(program.law.SpeedUp(8), 1 / (0.1 + 0.9 / 8), 0.15);
    EXPECT_NEAR(program.start_s.value, 0.3, 1e-9);
    EXPECT_NEAR(program.warm_up.value, 3, 1e-9);
    EXPECT_NEAR(program.stop_s.value, 0.05, 1e-9);
    EXPECT_NEAR(program.sensitivity, FormulaMachine::kSensitivity[i], 0.03);
    EXPECT_NEAR(program.pressure, FormulaMachine::kPressure[i], 0.05);
  }
  EXPECT_EQ(profile.resize.grow.front(), 1e-5);
  EXPECT_EQ(profile.resize.grow.back(), 3e-5);
  EXPECT_TRUE(profile.resize.pause.empty());
  EXPECT_DOUBLE_EQ(profile.decision[50], 2e-5);
}

TEST(CalibrationFit, FindsWhatSharedCoresCost) {
  for (const int cores : {2, 8}) {
    FormulaMachine machine(0);
    const Profile profile = Calibrate(kPrograms, cores, machine.Options())->profile;
    for (size_t i = 0; i < 2; ++i) {
      const ProgramProfile& program = profile.programs[i];
      EXPECT_NEAR(program.weight, FormulaMachine::kWeight, 0.01) << cores;
      ASSERT_EQ(program.crowding.size(), 5U);
      std::set<std::pair<int, double>> points;
      for (const CrowdingPoint& point : program.crowding) {
        points.insert({point.threads, point.others});
        EXPECT_NEAR(point.loss.value, FormulaMachine::Loss(i, point.threads, point.others), 0.02)
            << cores << " cores, " << point.threads << " threads beside " << point.others;
      }
      const std::set<std::pair<int, double>> expected = {
          {1, 1}, {1, 2}, {cores, 1}, {cores, 3}, {cores, 5}};
      EXPECT_EQ(points, expected);
    }
    const std::string notes = ProfileTable(profile);
    EXPECT_NE(
        notes.find("unequal threads (fitted): error of the slow-down over 52 tenants: mean 0."),
        std::string::npos)
        << notes;
    // The losses of the formula depend on a tenant's own program only, as the model's do.
    EXPECT_NE(notes.find("two programs, each twice (not fitted): error of the slow-down over 4 "
                         "tenants: mean 0."),
              std::string::npos)
        << notes;
  }
}

TEST(CalibrationFit, FindsWhatSiblingsCost) {
  FormulaMachine machine(0);
  CalibrationOptions options = machine.Options();
  options.threads_per_core = 2;
  const Profile profile = Calibrate(kPrograms, 4, options)->profile;
  for (size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(profile.programs[i].sibling.value, FormulaMachine::kSibling[i], 0.01) << i;
  EXPECT_NE(ProfileTable(profile).find("beside another's thread on the same core"),
            std::string::npos);
  EXPECT_EQ(Calibrate(kPrograms, 4, machine.Options())->profile.programs[0].sibling.samples, 0);
}

TEST(CalibrationFit, FindsWhatFarMemoryCosts) {
  FormulaMachine machine(0);
  CalibrationOptions options = machine.Options();
  options.numa_nodes = 2;
  const Profile profile = Calibrate(kPrograms, 4, options)->profile;
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(profile.programs[i].far_memory.value, FormulaMachine::kFar[i], 0.001) << i;
    EXPECT_NEAR(profile.programs[i].memory_bytes.value / FormulaMachine::kMemory[i], 1, 0.02) << i;
  }
  EXPECT_NEAR(profile.move_bytes_s.value / FormulaMachine::kMoveRate, 1, 0.02);
  const std::string table = ProfileTable(profile);
  EXPECT_NE(table.find("memory on another NUMA node a step takes 1.400"), std::string::npos);
  EXPECT_NE(table.find("moves between NUMA nodes at 2.0"), std::string::npos) << table;
  EXPECT_FALSE(Calibrate(kPrograms, 4, machine.Options())->profile.KnowsFarMemory());
}

// A machine that slows down all the while: step times drift, what is held against runs at the same
// time does not.
TEST(CalibrationFit, DriftDoesNotTouchSlowDownsAndIsTold) {
  FormulaMachine machine(0);
  machine.drift_ = 1e-3;
  const Profile profile = Calibrate(kPrograms, 2, machine.Options())->profile;
  for (size_t i = 0; i < 2; ++i) {
    const ProgramProfile& program = profile.programs[i];
    EXPECT_NEAR(program.weight / FormulaMachine::kWeight, 1, 0.1);
    for (const CrowdingPoint& point : program.crowding) {
      EXPECT_NEAR(point.loss.value / FormulaMachine::Loss(i, point.threads, point.others), 1, 0.03)
          << point.threads << " beside " << point.others;
    }
  }
  EXPECT_NE(ProfileTable(profile).find("drift: in the three thirds of the calibration's time"),
            std::string::npos);
}

TEST(CalibrationFit, TriplesAndMixturesOfProgramsAreCheckedAndNotFitted) {
  FormulaMachine machine(0.001);
  const auto result = Calibrate(kPrograms, 8, machine.Options());
  int triples = 0, shared = 0;
  for (const CoRun& run : result->profile.co_runs) {
    triples += run.tenants.size() == 3;
    shared += run.shared_cores > 0;
    EXPECT_EQ(run.fitted, run.tenants.size() < 3);
  }
  EXPECT_EQ(triples, 2);
  EXPECT_EQ(shared, 15);
  const std::string notes = ProfileTable(result->profile);
  EXPECT_NE(notes.find("triples (not fitted): error of the slow-down over 6 tenants"),
            std::string::npos)
      << notes;
}

TEST(CalibrationFit, OneCoreHasNothingToFitAndSaysSo) {
  FormulaMachine machine(0);
  const auto result = Calibrate({ProgramOf("lenet5")}, 1, machine.Options());
  const Profile& profile = result->profile;
  EXPECT_FALSE(profile.programs[0].law.error.has_value());
  EXPECT_EQ(profile.programs[0].pressure, 0);
  const std::string text = ProfileTable(profile);
  EXPECT_NE(text.find("1 core: there is nothing to fit"), std::string::npos) << text;
  EXPECT_NE(text.find("one core holds no two tenants"), std::string::npos) << text;
}

// By runs on one core with one thread alone: what an item took, of stages that wait as long as their
// calls lasted.
TEST(CalibrationFit, StagesOfAPipelineCostWhatTheirCallsTook) {
  TenantSpec spec;
  spec.model = spec.pipeline.application = "increment";
  spec.pipeline.increment = {.stages = 2, .items = 10, .work = std::chrono::milliseconds(1)};
  TenantSpec waiting = spec;
  waiting.pipeline.increment.work = Duration(0);
  waiting.pipeline.increment.wait = std::chrono::milliseconds(1);
  std::vector<Series> series;
  for (const size_t program : {0, 1}) {
    for (const int cores : {1, 2}) {
      Series& one = series.emplace_back();
      one.measurement = {.programs = {program}, .cores = cores, .threads = {1, cores}};
      for (int run = 0; run < 6; ++run) {
        MeasuredTenant tenant{.step_s = 1, .warm_up_s = 2, .start_s = 1, .stop_s = 1, .steps = 4};
        const double cost = cores == 1 ? 1 : 100;
        tenant.stages = {{"add1", 40, 40, cost * (run == 0 ? 900 : 0.08), cost * 0.4},
                         {"add2", 40, 40, cost * 0.2, cost * 0.8}};
        one.runs.push_back({.at = 0.0 + run, .tenants = {tenant}});
      }
    }
  }
  const Profile profile = FitProfile(series, {spec, waiting}, 2);
  ASSERT_EQ(profile.programs.size(), 2u);
  const std::vector<StageProfile>& stages = profile.programs[0].stages;
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0].stage, "add1");
  EXPECT_DOUBLE_EQ(stages[0].cost.per_item_s, 0.002);
  EXPECT_DOUBLE_EQ(stages[1].cost.per_item_s, 0.005);
  EXPECT_DOUBLE_EQ(stages[1].cost.per_call_s, 0);
  EXPECT_DOUBLE_EQ(stages[1].cost.emits_per_item, 1);
  ASSERT_EQ(profile.programs[1].stages.size(), 2u);
  EXPECT_DOUBLE_EQ(profile.programs[1].stages[1].cost.per_item_s, 0.02);
}

}  // namespace
}  // namespace cosched
