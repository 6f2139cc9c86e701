// The order of a calibration and what is fitted, with measurements that a formula makes on a clock
// of its own: no machine, no time.

#include "experiments/calibration/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/base/random.h"
#include "experiments/calibration/fit.h"

namespace cosched {
namespace {

using Kind = Measurement::Kind;

TenantSpec Program(const char* model) {
  TenantSpec spec;
  spec.model = model;
  return spec;
}

// Two programs: Amdahl, contention, a penalty for more threads than cores, crowding on shared
// cores, and a machine that drifts, all known.
class FormulaMachine {
 public:
  explicit FormulaMachine(double noise) : noise_(noise), random_(7) {}

  CalibrationOptions Options() {
    CalibrationOptions options;
    options.now = [this] { return now_; };
    options.measure = [this](const Measurement& measurement, const std::vector<int64_t>& steps) {
      return Measure(measurement, steps);
    };
    options.progress = [this](const CalibrationProgress& progress) { told_.push_back(progress); };
    return options;
  }

  static double Alone(size_t program, int cores, int threads) {
    const double base = program == 0 ? 0.1 : 0.01;
    const double k = std::min(cores, threads);
    return base * (0.1 + 0.9 / k) * (threads > cores ? 1 + 0.1 * threads / cores : 1);
  }

  Measured Measure(const Measurement& measurement, const std::vector<int64_t>& steps) {
    measured_.push_back(measurement);
    if (interrupt_after_ == static_cast<int>(measured_.size())) return Interrupted();
    Measured measured;
    double longest = 0;
    for (size_t i = 0; i < measurement.programs.size(); ++i) {
      const size_t program = measurement.programs[i];
      double step = Undisturbed(measurement, i);
      if (measurement.programs.size() > 1) {
        double press = 0;
        for (size_t j = 0; j < measurement.programs.size(); ++j) {
          const size_t other = measurement.programs[j];
          if (j != i) press += kPressure[other] * Alone(other, 1, 1) / Undisturbed(measurement, j);
        }
        step *= 1 + kSensitivity[program] * press;
      }
      step *= (1 + noise_ * random_.Normal(0, 1)) * (1 + drift_ * now_);
      measured.tenants.push_back(
          {.step_s = step, .warm_up_s = 2 * step + 3 * step, .start_s = 0.3, .stop_s = 0.05});
      longest = std::max(longest, step * static_cast<double>(steps[i]));
    }
    if (measurement.kind == Kind::kResize) measured.resizes = {{1e-5, 3e-5}, {2e-4}, {}, {}};
    if (measurement.kind == Kind::kMoves) {
      const double bytes = kMemory[measurement.programs[0]];
      measured.memory_moves = {{bytes, bytes / kMoveRate}, {bytes * 1.02, bytes / kMoveRate}};
    }
    measured.decision = {2e-5};
    now_ += longest;
    return measured;
  }

  // Step time of a tenant, but for what it shares beside cores.
  static double Undisturbed(const Measurement& measurement, size_t tenant) {
    const size_t program = measurement.programs[tenant];
    const int cores = measurement.CoresOf(tenant);
    const int threads = ThreadsOf(measurement.ThreadsOfTenant(tenant));
    if (measurement.kind == Kind::kFar) return Alone(program, 1, 1) * kFar[program];
    if (measurement.kind == Kind::kSiblings) return Alone(program, 1, 1) * kSibling[program];
    if (!measurement.IsOnSharedCores()) return Alone(program, cores, threads);
    const auto tenants = static_cast<double>(measurement.programs.size());
    double rate = measurement.shared_cores / (tenants * cores);
    double others = tenants * cores / measurement.shared_cores - 1;
    if (measurement.kind == Kind::kMixed) {
      rate = tenant == 0 ? kWeight / (1 + kWeight) : 1 / (1 + kWeight);
      others = 1;
    }
    return Alone(program, cores, threads) / rate * Loss(program, threads, others);
  }
  static double Loss(size_t program, int threads, double others) {
    return 1 + (threads > 1 ? 0.3 : 0.05) * (program == 0 ? 1 : 0.5) * others;
  }

  static constexpr double kWeight = 0.25;
  static constexpr double kSibling[] = {1.6, 1.3};
  static constexpr double kFar[] = {1.4, 1.1};
  static constexpr double kMemory[] = {3e8, 2e7};
  static constexpr double kMoveRate = 2e9;
  static constexpr double kPressure[] = {1, 0.5};
  static constexpr double kSensitivity[] = {0.2, 0.4};

  double now_ = 100;
  double drift_ = 0;  // Drift of step times, a second.
  int interrupt_after_ = -1;
  std::vector<Measurement> measured_;
  std::vector<CalibrationProgress> told_;

 private:
  static Measured Interrupted() {
    Measured measured;
    measured.interrupted = true;
    return measured;
  }

  const double noise_;
  Random random_;
};

const std::vector<TenantSpec> kPrograms = {Program("resnet20"), Program("lenet5")};

TEST(Calibration, FindsWhatTheMachineIsMadeOf) {
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

TEST(Calibration, FindsWhatSharedCoresCost) {
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

TEST(Calibration, FindsWhatSiblingsCost) {
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

TEST(Calibration, FindsWhatFarMemoryCosts) {
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
TEST(Calibration, DriftDoesNotTouchSlowDownsAndIsTold) {
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

TEST(Calibration, ItsTextSaysWhatIntervalsLeaveOpen) {
  FormulaMachine machine(0.05);
  CalibrationOptions options = machine.Options();
  options.seconds = 300;
  const std::string text = ProfileTable(Calibrate(kPrograms, 2, options)->profile);
  EXPECT_NE(
      text.find("what intervals leave open in a predicted step of resnet20 train batch 32: alone "
                "up to ±"),
      std::string::npos)
      << text;
}

TEST(Calibration, TriplesAndMixturesOfProgramsAreCheckedAndNotFitted) {
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

TEST(Calibration, EndsWhenTheTimeIsUpButMeasuresEachOnce) {
  FormulaMachine machine(0.5);  // Never tight.
  CalibrationOptions options = machine.Options();
  options.seconds = 60;
  const auto result = Calibrate(kPrograms, 2, options);
  ASSERT_TRUE(result.has_value());
  EXPECT_GT(result->not_tight, 0);
  EXPECT_GE(machine.now_, 160);
  options.seconds = 0;
  machine.measured_.clear();
  const auto at_once = Calibrate(kPrograms, 2, options);
  EXPECT_EQ(at_once->runs, at_once->measurements);
  EXPECT_EQ(machine.measured_.size(), static_cast<size_t>(at_once->measurements) + 2);  // Pilots.
}

TEST(Calibration, OnlyWhatIsNotTightIsMeasuredAgain) {
  FormulaMachine machine(0);
  const auto result = Calibrate(kPrograms, 2, machine.Options());
  EXPECT_EQ(result->not_tight, 0);
  EXPECT_EQ(result->runs, 6 * result->measurements) << "fewer have no interval of 95 %";
}

// One run is no interval, whatever it would be: not "±0.0 %".
TEST(Calibration, OneRunIsToldWithoutAnInterval) {
  FormulaMachine machine(0.5);
  CalibrationOptions options = machine.Options();
  options.seconds = 0;
  const auto result = Calibrate(kPrograms, 2, options);
  EXPECT_EQ(machine.told_.front().result.find("±"), std::string::npos)
      << machine.told_.front().result;
  const std::string table = ProfileTable(result->profile);
  // The steps' interval; starts and stops are those of all measurements together.
  EXPECT_GT(table.find("±"), table.find("beyond:")) << table;
  EXPECT_NE(table.find("(1 run: no interval)"), std::string::npos) << table;
  EXPECT_NE(
      table.find("alone up to unknown (of one run); beside others on cores of its own unknown "
                 "(of one run) more, on shared ones unknown"),
      std::string::npos)
      << table;
  const size_t lost = table.find("lost on shared cores");
  EXPECT_EQ(table.substr(lost, table.find('\n', lost) - lost).find('['), std::string::npos)
      << table;
  machine.told_.clear();
  options.seconds = 1000;
  const std::string more = ProfileTable(Calibrate(kPrograms, 2, options)->profile);
  EXPECT_NE(more.find(" runs, level 9"), std::string::npos) << more;
}

TEST(Calibration, TheOrderIsRandomButGivenByTheSeed) {
  const auto order = [](uint64_t seed) {
    FormulaMachine machine(0);
    CalibrationOptions options = machine.Options();
    options.seed = seed;
    Calibrate(kPrograms, 4, options);
    std::vector<std::string> names;
    for (const Measurement& one : machine.measured_) names.push_back(Describe(one, kPrograms));
    return names;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(Calibration, TellsHowFarItIs) {
  FormulaMachine machine(0);
  CalibrationOptions options = machine.Options();
  options.seconds = 1e6;
  const auto result = Calibrate(kPrograms, 2, options);
  ASSERT_EQ(machine.told_.size(), static_cast<size_t>(result->runs));
  EXPECT_EQ(machine.told_.front().tight, 0);
  EXPECT_GT(machine.told_.front().left_s, machine.told_.back().left_s);
  EXPECT_EQ(machine.told_.back().left_s, 0);
  EXPECT_EQ(machine.told_.back().tight, result->measurements);
}

TEST(Calibration, AnInterruptLeavesNoProfile) {
  for (int after : {1, 2, 5}) {
    FormulaMachine machine(0);
    machine.interrupt_after_ = after;
    EXPECT_FALSE(Calibrate(kPrograms, 2, machine.Options()).has_value());
    EXPECT_EQ(machine.measured_.size(), static_cast<size_t>(after));
  }
}

TEST(Calibration, ATenantThatFailsNowAndThenEndsNothing) {
  for (const int failures : {2, 100}) {
    FormulaMachine machine(0);
    CalibrationOptions options = machine.Options();
    int calls = 0;
    int64_t before = 0;
    options.measure = [&](const Measurement& measurement, const std::vector<int64_t>& steps) {
      ++calls;
      if (calls > 6 && calls <= 6 + failures) {
        EXPECT_EQ(steps[0], 2 * before) << "they may have been too short to meet";
      }
      before = steps[0];
      if (calls > 5 && calls <= 5 + failures) throw MeasurementFailed("a tenant failed: told to");
      return machine.Measure(measurement, steps);
    };
    if (failures == 2) {
      EXPECT_TRUE(Calibrate(kPrograms, 2, options).has_value());
      continue;
    }
    try {
      Calibrate(kPrograms, 2, options);
      ADD_FAILURE() << "it went on for ever";
    } catch (const MeasurementFailed& failed) {
      EXPECT_NE(std::string(failed.what()).find("told to"), std::string::npos);
      EXPECT_NE(std::string(failed.what()).find("train batch 32: "), std::string::npos);
    }
  }
}

TEST(Calibration, LongNamesAreNumberedWhereTheyWouldBeRepeated) {
  std::vector<TenantSpec> programs = kPrograms;
  programs[1] = {};
  programs[1].command.arguments = {"/usr/bin/python3", "train.py", "--steps", "{steps}", "--fast"};
  programs[1].command.client = CommandClient::kLibrary;
  FormulaMachine machine(0);
  const std::string table = ProfileTable(Calibrate(programs, 2, machine.Options())->profile);
  const std::string name = ProgramName(programs[1]);
  EXPECT_NE(table.find("\n[2] " + name + "\n"), std::string::npos) << table;
  EXPECT_NE(table.find("\n  [1] on 1: "), std::string::npos) << table;
  EXPECT_EQ(table.find(name + " on "), std::string::npos) << table;
}

TEST(Calibration, WhatIsHopelessIsTriedOnce) {
  FormulaMachine machine(0);
  CalibrationOptions options = machine.Options();
  int calls = 0;
  options.measure = [&](const Measurement&, const std::vector<int64_t>&) -> Measured {
    ++calls;
    throw MeasurementFailed("it counts nothing", /*hopeless=*/true);
  };
  EXPECT_THROW(Calibrate(kPrograms, 2, options), MeasurementFailed);
  EXPECT_EQ(calls, 1);
}

// Also where the time is up long before that.
TEST(Calibration, TheTimeLeftHasAllFirstRuns) {
  FormulaMachine machine(0);
  CalibrationOptions options = machine.Options();
  options.seconds = 1e-3;
  std::vector<double> left;
  options.progress = [&](const CalibrationProgress& progress) { left.push_back(progress.left_s); };
  ASSERT_TRUE(Calibrate(kPrograms, 2, options).has_value());
  ASSERT_GT(left.size(), 2U);
  EXPECT_GT(left[0], 0);
  EXPECT_GT(left[left.size() - 2], 0) << "one is to be made";
  EXPECT_EQ(left.back(), 0);
}

TEST(Calibration, OneCoreHasNothingToFitAndSaysSo) {
  FormulaMachine machine(0);
  const auto result = Calibrate({Program("lenet5")}, 1, machine.Options());
  const Profile& profile = result->profile;
  EXPECT_FALSE(profile.programs[0].law.error.has_value());
  EXPECT_EQ(profile.programs[0].pressure, 0);
  const std::string text = ProfileTable(profile);
  EXPECT_NE(text.find("1 core: there is nothing to fit"), std::string::npos) << text;
  EXPECT_NE(text.find("one core holds no two tenants"), std::string::npos) << text;
}

// By runs on one core with one thread alone: what an item took, of stages that wait as long as their
// calls lasted.
TEST(Calibration, StagesOfAPipelineCostWhatTheirCallsTook) {
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

TEST(CalibrationPlan, HasTheThreadsOfOneCoreWhereTheyAreCores) {
  const auto siblings = [](int threads_per_core) {
    int count = 0;
    for (const Measurement& measurement : PlanCalibration(2, 4, threads_per_core)) {
      if (measurement.kind != Kind::kSiblings) continue;
      ++count;
      EXPECT_EQ(measurement.programs.size(), 2U);
      EXPECT_EQ(measurement.programs[0], measurement.programs[1]);
      EXPECT_FALSE(measurement.IsOnSharedCores());
    }
    return count;
  };
  EXPECT_EQ(siblings(1), 0);
  EXPECT_EQ(siblings(2), 2);
}

TEST(CalibrationPlan, CoversCoresThreadsAndPairsOnce) {
  const std::vector<Measurement> plan = PlanCalibration(2, 2);
  std::set<std::string> names;
  int pairs = 0;
  for (const Measurement& measurement : plan) {
    EXPECT_TRUE(names.insert(Describe(measurement, kPrograms)).second);
    pairs += measurement.kind == Kind::kCoRun && measurement.IsFitted();
    EXPECT_LE(measurement.kind == Kind::kCoRun ? 2 * measurement.cores : measurement.cores, 2);
  }
  EXPECT_EQ(pairs, 3);
  for (const char* name :
       {"resnet20 train batch 32: 1 core, 1x1 threads",
        "lenet5 train batch 32: 1 core, 1x4 threads",
        "resnet20 train batch 32: 2 cores, 2x1 threads",
        "lenet5 train batch 32: 2 cores, 1x4 threads",
        "resnet20 train batch 32 | lenet5 train batch 32: 1 core each",
        "resnet20 train batch 32: resizes on 2 cores",
        "lenet5 train batch 32: 6 tenants of 2 cores each share 2",
        "lenet5 train batch 32: 4 tenants of 1 core each share 2",
        "resnet20 train batch 32 | lenet5 train batch 32: 2 cores, the second on "
        "1 of them"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const Measurement& measurement : PlanCalibration(3, 12)) {
    EXPECT_TRUE(measurement.kind != Kind::kCoRun || measurement.programs.size() < 3 ||
                measurement.cores == 4);
  }
}

}  // namespace
}  // namespace cosched
