// The order of a calibration, when it ends, and what it tells on the way and at its end.

#include "experiments/calibration/calibration.h"

#include <gtest/gtest.h>

#include <set>

#include "experiments/calibration/fit.h"
#include "tests/experiments/calibration/formula_machine.h"

namespace cosched {
namespace {

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

// Half and a third of the cores are no powers of two.
TEST(Calibration, WorksOnAnyNumberOfCores) {
  for (const int cores : {1, 3, 5, 6, 7, 12, 16, 48, 128}) {
    FormulaMachine machine(0);
    CalibrationOptions options = machine.Options();
    options.seconds = 0;
    const auto result = Calibrate(kPrograms, cores, options);
    ASSERT_TRUE(result.has_value()) << cores;
    EXPECT_EQ(result->profile.cores, cores);
    EXPECT_FALSE(ProfileTable(result->profile).empty());
  }
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

}  // namespace
}  // namespace cosched
