// The simulated pipeline against what theory says of rows of stages.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

#include "tests/experiments/hosts/simulation/pipeline_fixture.h"

namespace cosched {
namespace {

using testing::AnswersOf;
using testing::kTickSeconds;
using testing::Row;
using testing::RunUntil;

// Deterministic services of whole ticks, and n open requests of one item.
class Tandem : public ::testing::TestWithParam<std::tuple<std::vector<int>, int>> {};

TEST_P(Tandem, HasTheSmallerOfWhatItsRequestsAndItsSlowestStageAllow) {
  const auto& [ticks, open] = GetParam();
  std::vector<double> seconds;
  for (const int each : ticks) seconds.push_back(each * kTickSeconds);
  PipelineModel model(Row(seconds, open).settings);
  model.Resize(static_cast<double>(ticks.size()), {static_cast<int>(ticks.size()), 1}, {});
  constexpr int kWarmUp = 100, kCycles = 200;
  const auto answers = AnswersOf(&model, kWarmUp + (kCycles + 1) * open);
  const int sum = std::accumulate(ticks.begin(), ticks.end(), 0);
  const int cycle = std::max(sum, open * std::ranges::max(ticks));  // Of `open` requests.
  for (int i = kWarmUp; i < kWarmUp + kCycles * open; ++i) {
    ASSERT_EQ(answers[static_cast<size_t>(i + open)].ended,
              answers[static_cast<size_t>(i)].ended + cycle * testing::kTick)
        << "request " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, Tandem,
    ::testing::Combine(::testing::Values(std::vector<int>{5}, std::vector<int>{1, 1, 1},
                                         std::vector<int>{3, 7, 2}, std::vector<int>{8, 1, 4, 2},
                                         std::vector<int>{1, 2, 3, 4, 5}),
                       ::testing::Values(1, 2, 3, 4, 5, 8)));

// Exact mean value analysis (Reiser and Lavenberg, JACM 27(2), 1980) of n customers that circulate
// among single servers with exponential service and, where `delay` > 0, a station that only delays.
double ThroughputOfClosedNetwork(const std::vector<double>& services, double delay, int customers) {
  std::vector<double> queues(services.size(), 0);
  double throughput = 0;
  for (int n = 1; n <= customers; ++n) {
    double residence = delay;
    for (size_t i = 0; i < services.size(); ++i) residence += services[i] * (1 + queues[i]);
    throughput = n / residence;
    for (size_t i = 0; i < services.size(); ++i) {
      queues[i] = throughput * services[i] * (1 + queues[i]);
    }
  }
  return throughput;
}

// So many ends, of a process whose intervals vary no more than exponential ones, have a rate with
// a relative standard error of 1 / sqrt(ends): 0.22 %, and 4 of them are within 0.9 %.
constexpr int kEnds = 200'000;
const double kFourErrors = 4 / std::sqrt(static_cast<double>(kEnds));

class ClosedNetwork
    : public ::testing::TestWithParam<std::tuple<std::vector<double>, double, int>> {};

TEST_P(ClosedNetwork, HasTheThroughputOfMeanValueAnalysis) {
  const auto& [services, delay, open] = GetParam();
  Row row(services, open);
  if (delay > 0) {
    row.Add(delay);
    row.Stage(services.size()).parallel = 0;
    row.Stage(services.size()).waits = true;
  }
  row.settings.waiting_lanes = open;
  row.settings.seed = 11;
  PipelineModel model(row.Exponential().settings);
  model.Resize(static_cast<double>(services.size()), {static_cast<int>(services.size()), 1}, {});
  const auto answers = AnswersOf(&model, kEnds);
  const double throughput = kEnds / ToSeconds(answers.back().ended);
  const double exact = ThroughputOfClosedNetwork(services, delay, open);
  EXPECT_NEAR(throughput / exact, 1, kFourErrors);
  static_assert(kEnds >= 160'000, "four standard errors within 1 %");
  // Little's law: those inside are always as many as may be, until the last are admitted.
  double inside = 0;
  for (const auto& answer : answers) inside += ToSeconds(answer.ended - answer.admitted);
  EXPECT_NEAR(inside / ToSeconds(answers.back().ended), open, open * 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Rows, ClosedNetwork,
                         ::testing::Values(std::tuple(std::vector{0.01, 0.01, 0.01}, 0.0, 1),
                                           std::tuple(std::vector{0.01, 0.01, 0.01}, 0.0, 3),
                                           std::tuple(std::vector{0.02, 0.01, 0.005}, 0.0, 4),
                                           std::tuple(std::vector{0.01, 0.012, 0.004, 0.007}, 0.0,
                                                      8),
                                           std::tuple(std::vector{0.01, 0.02}, 0.05, 5)));

// Two stations of exponential service with room for `buffer` between them and always something to
// do at the first, which stands still after a service whose result has no place to go (Hunt,
// Operations Research 4(6), 1956): a walk over 0 to buffer + 2 of what the first has done and the
// second has not, up at the first's rate and down at the second's.
double ThroughputWithBlocking(double first, double second, int buffer) {
  double weight = 1, sum = 1;
  for (int i = 0; i < buffer + 2; ++i) sum += weight *= second / first;
  return (1 - 1 / sum) / second;
}

// kBefore: a call does not begin until there is room for its item. kAfter: it finds out when it has
// done its work, and is parked.
enum class Blocks { kBefore, kAfter };
class BlockingTandem : public ::testing::TestWithParam<std::tuple<double, double, int, Blocks>> {};

TEST_P(BlockingTandem, HasTheThroughputOfHunt) {
  const auto& [first, second, buffer, blocks] = GetParam();
  Row row({first, second});
  if (blocks == Blocks::kBefore) {
    // The gate's room is of those that wait for the second and of the one that the first works on.
    row.Stage(1).from.items = buffer + 1;
  } else {
    // An item is larger than the byte that there must be room for when a call begins.
    row.settings.item_bytes = 2;
    row.Stage(1).from.bytes = 2 * buffer + 1;
  }
  row.settings.seed = 5;
  PipelineModel model(row.Exponential().settings);
  model.Resize(2, {2, 1}, {});
  model.Submit(0, kEnds, {});
  int64_t parked = 0;
  for (int i = 0; i < 1000; ++i) {
    model.Advance(*model.NextEvent());
    parked += model.Sample().stages[0].parked;
  }
  EXPECT_EQ(parked > 0, blocks == Blocks::kAfter);
  RunUntil(&model);
  const PipelineModel::Answer answer = model.Take().at(0);
  EXPECT_EQ(answer.items, kEnds);
  EXPECT_NEAR(kEnds / ToSeconds(answer.ended) / ThroughputWithBlocking(first, second, buffer), 1,
              kFourErrors);
}

INSTANTIATE_TEST_SUITE_P(Rooms, BlockingTandem,
                         ::testing::Values(std::tuple(0.01, 0.01, 0, Blocks::kBefore),
                                           std::tuple(0.01, 0.01, 1, Blocks::kBefore),
                                           std::tuple(0.01, 0.01, 1, Blocks::kAfter),
                                           std::tuple(0.01, 0.01, 3, Blocks::kAfter),
                                           std::tuple(0.01, 0.02, 0, Blocks::kBefore),
                                           std::tuple(0.01, 0.02, 2, Blocks::kAfter),
                                           std::tuple(0.01, 0.007, 4, Blocks::kBefore),
                                           std::tuple(0.01, 0.007, 8, Blocks::kAfter)));

}  // namespace
}  // namespace cosched
