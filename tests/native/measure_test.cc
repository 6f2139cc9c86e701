// A measurement of `cosched calibrate`, with a real program that can't be measured.

#include "experiments/calibration/measure.h"

#include <gtest/gtest.h>

#include "experiments/harness/host_factories.h"
#include "experiments/tenant/demand.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {
namespace {

TEST(MeasureTest, AProgramThatMakesNoStepIsWaitedForNoLongerThanThat) {
  const TemporaryFolder folder;
  const Topology machine = Topology::ThisMachine();
  TenantSpec sleeper;
  sleeper.command.arguments = {"sleep", "1000"};
  sleeper.command.progress = *ParseProgressSource("output:^step");
  const MeasureOptions options = {
      .folder = folder.path(),
      .topology = machine.Within(FirstCores(machine.OneThreadPerCore(), 1)),
      .hosts_of =
          [&](const auto& config) { return ProcessHosts(CoschedBinary(), machine, config); },
      .longest = std::chrono::milliseconds(500)};
  const Measurement alone = {
      .kind = Measurement::Kind::kAlone, .programs = {0}, .cores = 1, .threads = {1, 1}};
  try {
    Measure(alone, {sleeper}, {5}, options);
    ADD_FAILURE() << "it was measured";
  } catch (const MeasurementFailed& failed) {
    EXPECT_TRUE(failed.hopeless());
    EXPECT_NE(std::string(failed.what()).find("it had not ended after 0.5 s"), std::string::npos)
        << failed.what();
  }
}

}  // namespace
}  // namespace cosched
