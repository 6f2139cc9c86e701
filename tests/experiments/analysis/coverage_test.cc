// Does each interval that cosched prints hold the truth as often as it says, and each p reject a
// true null hypothesis no more often than it may? Seeded draws of data whose truth is known, normal
// and skewed; the table tells all of it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/base/random.h"
#include "experiments/analysis/ranking.h"
#include "experiments/analysis/statistics.h"
#include "experiments/config/trials_until.h"

namespace cosched {
namespace {

constexpr double kFactor = 1.3;  // The true ratio.

struct Data {
  const char* name;
  double (*draw)(Random*);  // Above 0.
  double median;
};
const Data kData[] = {
    {"normal", [](Random* random) { return random->Normal(20, 2); }, 20},
    {"lognormal", [](Random* random) { return std::exp(random->Normal(0, 1)); }, 1},
    {"exponential", [](Random* random) { return random->Exponential(1); }, std::log(2.0)},
};

std::vector<double> Draw(const Data& data, int n, double factor, Random* random) {
  std::vector<double> values(static_cast<size_t>(n));
  for (double& value : values) value = factor * data.draw(random);
  return values;
}

// Costs of two policies that replay one trace in each trial: the trace makes the cost.
std::vector<double> PairedRatios(const Data& data, int n, double factor, Random* random) {
  std::vector<double> ratios(static_cast<size_t>(n));
  for (double& ratio : ratios) {
    const double trace = std::exp(random->Normal(0, 1));
    const double a = trace * data.draw(random), b = trace * factor * data.draw(random);
    ratio = b / a;
  }
  return ratios;
}

// Four standard deviations of a share of so many draws.
double MonteCarloError(double share, int draws) {
  return 4 * std::sqrt(std::max(share * (1 - share), 0.001) / draws);
}

void TellHeader(const char* says) {
  fmt::print("{:<34} {:<12} {:>3}  {:>10}  {:>8}\n", "", "data", "n", says, "found");
}

void Tell(const std::string& name, const char* data, int n, double said, double found) {
  fmt::print("{:<34} {:<12} {:>3}  {:>10.4f}  {:>8.4f}\n", name, data, n, said, found);
}

using MakeInterval = std::function<Interval(const Data&, int n, Random*)>;

// With continuous data the level is exact: neither less nor needlessly more.
void ExpectCoverage(const std::string& name, int draws,
                    const std::function<double(const Data&)>& truth, const MakeInterval& make) {
  for (const Data& data : kData) {
    for (const int n : {3, 5, 10, 30}) {
      Random random(static_cast<uint64_t>(n));
      double level = 0;
      int covered = 0;
      for (int i = 0; i < draws; ++i) {
        const Interval interval = make(data, n, &random);
        level = interval.level;
        covered += interval.low <= truth(data) && truth(data) <= interval.high;
      }
      const double share = static_cast<double>(covered) / draws;
      Tell(name, data.name, n, level, share);
      EXPECT_NEAR(share, level, MonteCarloError(level, draws)) << name << data.name << n;
    }
  }
}

TEST(CoverageTest, MedianOfTrials) {
  TellHeader("level");
  ExpectCoverage(
      "median over trials", 10'000, [](const Data& data) { return data.median; },
      [](const Data& data, int n, Random* random) {
        return MedianInterval(Draw(data, n, 1, random));
      });
}

// Costs that tie, as simulated ones do: the interval may cover more, never less.
TEST(CoverageTest, MedianOfTrialsThatTie) {
  constexpr int kDraws = 4000;
  TellHeader("level");
  for (const int n : {3, 5, 10, 30}) {
    Random random(static_cast<uint64_t>(n));
    int covered = 0;
    for (int i = 0; i < kDraws; ++i) {
      std::vector<double> values(static_cast<size_t>(n));
      for (double& value : values) value = static_cast<double>(random.Below(5));  // Median 2.
      const Interval interval = MedianInterval(values);
      covered += interval.low <= 2 && 2 <= interval.high;
    }
    const double share = static_cast<double>(covered) / kDraws;
    Tell("median over trials that tie", "0 to 4", n, MedianLevel(n), share);
    EXPECT_GE(share, MedianLevel(n) - MonteCarloError(MedianLevel(n), kDraws));
  }
}

TEST(CoverageTest, MedianOfPairedRatios) {
  TellHeader("level");
  ExpectCoverage(
      "median of per-trial ratios", 4000, [](const Data&) { return kFactor; },
      [](const Data& data, int n, Random* random) {
        return MedianInterval(PairedRatios(data, n, kFactor, random));
      });
}

// Trials are added until the interval is narrow.
TEST(CoverageTest, MedianOfTrialsThatAreAddedUntilItIsNarrow) {
  constexpr int kDraws = 4000;
  TellHeader("level");
  for (const Data& data : kData) {
    for (const int most : {20, 40, 100}) {
      const std::vector<int> looks = TrialLooks(most);
      for (const double within : {0.1, 0.5}) {
        Random random(static_cast<uint64_t>(most));
        int covered = 0;
        for (int i = 0; i < kDraws; ++i) {
          const std::vector<double> all = PairedRatios(data, most, kFactor, &random);
          for (const int look : looks) {
            const std::vector<double> values(all.begin(), all.begin() + look);
            const Interval interval = MedianInterval(values, LevelOfLook(looks.size()));
            const double median = Median(values);
            const bool narrow =
                std::max(interval.high - median, median - interval.low) <= within * median;
            if (!narrow && look != looks.back()) continue;
            covered += interval.low <= kFactor && kFactor <= interval.high;
            break;
          }
        }
        const double share = static_cast<double>(covered) / kDraws;
        Tell(fmt::format("ratios until ± {:.0f} %", within * 100), data.name, most, 0.95, share);
        EXPECT_GE(share, 0.95 - MonteCarloError(0.95, kDraws)) << data.name << most << within;
      }
    }
  }
}

// Whatever makes one stop: the intervals of all looks hold the truth at once.
TEST(CoverageTest, AllLooksAtMediansOfTrialsTogether) {
  constexpr int kDraws = 4000;
  TellHeader("level");
  for (const Data& data : kData) {
    for (const int most : {20, 40, 100}) {
      const std::vector<int> looks = TrialLooks(most);
      Random random(static_cast<uint64_t>(most));
      int covered = 0;
      for (int i = 0; i < kDraws; ++i) {
        const std::vector<double> all = PairedRatios(data, most, kFactor, &random);
        covered += std::all_of(looks.begin(), looks.end(), [&](int look) {
          const Interval interval =
              MedianInterval({all.begin(), all.begin() + look}, LevelOfLook(looks.size()));
          return interval.low <= kFactor && kFactor <= interval.high;
        });
      }
      const double share = static_cast<double>(covered) / kDraws;
      Tell("ratios at all looks", data.name, most, 0.95, share);
      EXPECT_GE(share, 0.95 - MonteCarloError(0.95, kDraws)) << data.name << most;
    }
  }
}

TEST(CoverageTest, RatioOfIndependentTrials) {
  TellHeader("level");
  ExpectCoverage(
      "ratio of independent trials", 1500, [](const Data&) { return kFactor; },
      [](const Data& data, int n, Random* random) {
        const std::vector<double> a = Draw(data, n, 1, random);
        return IndependentRatio(a, Draw(data, n, kFactor, random)).interval;
      });
}

// At most `alpha` of true null hypotheses are rejected at alpha.
void ExpectValid(const std::string& name, const char* data, int n, int draws,
                 const std::function<double()>& p) {
  std::vector<double> found(static_cast<size_t>(draws));
  for (double& one : found) one = p();
  for (const double alpha : {0.05, 0.2}) {
    const auto rejected =
        std::count_if(found.begin(), found.end(), [alpha](double one) { return one <= alpha; });
    const double share = static_cast<double>(rejected) / draws;
    Tell(name, data, n, alpha, share);
    EXPECT_LE(share, alpha + MonteCarloError(alpha, draws)) << name << data << n;
  }
}

TEST(CoverageTest, PairedTestUnderTheNull) {
  TellHeader("alpha");
  for (const Data& data : kData) {
    for (const int n : {3, 5, 10, 30, 60}) {
      Random random(static_cast<uint64_t>(n));
      ExpectValid("signed-rank", data.name, n, 1500, [&] {
        std::vector<double> logs = PairedRatios(data, n, 1, &random);
        for (double& ratio : logs) ratio = std::log(ratio);
        return SignedRankTest(logs).p;
      });
    }
  }
}

TEST(CoverageTest, IndependentTestUnderTheNull) {
  TellHeader("alpha");
  for (const Data& data : kData) {
    for (const int n : {3, 5, 10, 30}) {
      Random random(static_cast<uint64_t>(n));
      ExpectValid("Mann-Whitney", data.name, n, 1500, [&] {
        const std::vector<double> a = Draw(data, n, 1, &random);
        return MannWhitneyU(a, Draw(data, n, 1, &random)).p;
      });
    }
  }
}

// Five policies against one baseline, all alike: how often does any of them seem to differ?
TEST(CoverageTest, AnyFalseDifferenceAmongFivePolicies) {
  TellHeader("alpha");
  for (const Data& data : kData) {
    for (const int n : {8, 10, 30}) {
      Random random(static_cast<uint64_t>(n));
      ExpectValid("smallest Holm-adjusted p of 5", data.name, n, 1000, [&] {
        const std::vector<double> baseline = Draw(data, n, 1, &random);
        std::vector<double> p;
        for (int policy = 0; policy < 5; ++policy) {
          std::vector<double> logs = Draw(data, n, 1, &random);
          for (size_t i = 0; i < logs.size(); ++i) logs[i] = std::log(logs[i] / baseline[i]);
          p.push_back(SignedRankTest(logs).p);
        }
        const std::vector<double> adjusted = HolmAdjusted(p);
        return *std::min_element(adjusted.begin(), adjusted.end());
      });
    }
  }
}

// Pairs of policies that `cosched validate` calls different though they are alike: as many as it
// says may be by chance.
TEST(CoverageTest, PoliciesToldApartByChance) {
  constexpr int kDraws = 400;
  TellHeader("by chance");
  for (const Data& data : kData) {
    for (const int n : {3, 5, 6, 10}) {
      Random random(static_cast<uint64_t>(n));
      int told_apart = 0, pairs = 0;
      double chance = 0;
      for (int i = 0; i < kDraws; ++i) {
        CostTable costs;
        for (int trace = 0; trace < n; ++trace) costs.push_back(Draw(data, 3, 1, &random));
        const RankingAgreement found = CompareRankings(costs, costs);
        told_apart += found.told_apart;
        pairs += found.pairs;
        chance = n < 6 ? 0 : 1 - MedianLevel(n);
      }
      const double share = static_cast<double>(told_apart) / pairs;
      Tell("pairs of equal policies told apart", data.name, n, chance, share);
      EXPECT_NEAR(share, chance, n < 6 ? 0 : MonteCarloError(chance, kDraws));
    }
  }
}

}  // namespace
}  // namespace cosched
