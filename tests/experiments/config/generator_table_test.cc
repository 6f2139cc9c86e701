// Specifications of generated traces: what each process reads, and what is refused.

#include "experiments/config/generator_table.h"

#include <gtest/gtest.h>

#include <fstream>

#include "engine/base/error.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

class GeneratorTableTest : public testing::Test {
 protected:
  GeneratorFile Read(const std::string& text) {
    std::ofstream(folder_.path() / "spec.toml") << text;
    return ReadGeneratorFile(TomlTable::Load(folder_.path() / "spec.toml", {}), folder_.path());
  }
  // With a limit, and the generator's table being `text`.
  ProcessSpec Process(const std::string& text) {
    return Read("arrivals = 5\n[[generator]]\n" + text).generators[0].process;
  }
  InputErrorDetails Refused(const std::string& text) {
    try {
      Read(text);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }

  TemporaryFolder folder_;
};

constexpr const char* kPoisson =
    "process = \"renewal\"\ngap = { distribution = \"exponential\", mean_s = 2 }\n";

TEST_F(GeneratorTableTest, CommonKeys) {
  const GeneratorFile file = Read(std::string("seed = 9\nlength_s = 1.5\narrivals = 7\n") +
                                  "[[generator]]\n" + kPoisson + R"(
weight = 2
tenant = "t"
workload = "w"
kind = "request"
size = { distribution = "gamma", mean = 3, cv = 2 }
duration = { distribution = "fixed", mean_s = 4 }
cores = { min = 1, max = 4 }
deadline_s = 0.25
priority = -3
)");
  EXPECT_EQ(file.seed, 9U);
  EXPECT_EQ(file.limits.arrivals, 7);
  EXPECT_EQ(file.limits.length, Duration(1'500'000'000));
  EXPECT_EQ(file.columns, (std::vector<std::string>{"workload"}));
  const GeneratorSpec& spec = file.generators.at(0);
  EXPECT_EQ(spec.weight, 2);
  EXPECT_EQ(spec.tenant, "t");
  EXPECT_EQ(spec.cells, (std::vector<std::string>{"w"}));
  EXPECT_EQ(spec.kind, Arrival::Kind::kRequest);
  EXPECT_EQ(spec.size->cv, 2);
  EXPECT_EQ(spec.duration->mean, 4);
  EXPECT_EQ(spec.cores_min, 1);
  EXPECT_FALSE(spec.cores_preferred.has_value());
  EXPECT_EQ(spec.cores_max, 4);
  EXPECT_EQ(spec.deadline, Duration(250'000'000));
  EXPECT_EQ(spec.priority, -3);
  EXPECT_EQ(std::get<RenewalSpec>(spec.process).gap.mean, 2);
}

TEST_F(GeneratorTableTest, Processes) {
  const auto mmpp = std::get<MmppSpec>(Process(
      "process = \"mmpp\"\n[[generator.state]]\nrate_per_s = 5\nmean_stay_s = 2\nnext = [0, 1]\n"
      "[[generator.state]]\nrate_per_s = 0\nmean_stay_s = 3\nnext = [1, 0]\n"));
  EXPECT_EQ(mmpp.states[1].mean_stay_s, 3);
  EXPECT_EQ(mmpp.transitions[0], (std::vector<double>{0, 1}));
  const auto linear = std::get<DiurnalSpec>(
      Process("process = \"diurnal\"\nrate = { shape = \"linear\", period_s = 10, points = [[0, "
              "1], [4, 2.5]] }\n"));
  EXPECT_EQ(linear.rate.shape, RateFunction::Shape::kLinear);
  EXPECT_EQ(linear.rate.points[1].rate_per_s, 2.5);
  std::ofstream(folder_.path() / "rates.txt") << "4 0\n2 ";
  const auto series =
      std::get<DiurnalSpec>(Process("process = \"diurnal\"\nrate = { shape = \"series\", series = "
                                    "\"rates.txt\", bucket_s = 2 }\n"));
  EXPECT_EQ(series.rate.shape, RateFunction::Shape::kSteps);
  EXPECT_EQ(series.rate.period_s, 6);
  EXPECT_EQ(series.rate.points[0].rate_per_s, 2);
  EXPECT_EQ(series.rate.points[2].at_s, 4);
  const auto bursts = std::get<BurstsSpec>(
      Process("process = \"bursts\"\npause = { distribution = \"fixed\", mean_s = 3 }\n"
              "burst = { mean_size = 4, sizes = \"fixed\" }\n"));
  EXPECT_FALSE(bursts.geometric);
  EXPECT_EQ(bursts.mean_size, 4);
  const auto loop = std::get<ClosedLoopSpec>(
      Process("process = \"closed-loop\"\nusers = 3\nservice = { distribution = \"fixed\", mean_s "
              "= 1 }\nthink = { distribution = \"exponential\", mean_s = 5 }\n"));
  EXPECT_EQ(loop.users, 3);
  EXPECT_EQ(loop.think.mean, 5);
  const auto server = std::get<LoadGenSpec>(
      Process("process = \"loadgen\"\nscenario = \"Server\"\ntarget_qps = 7.5\n"));
  EXPECT_EQ(server.scenario, LoadGenSpec::Scenario::kServer);
  EXPECT_EQ(server.target_qps, 7.5);
}

TEST_F(GeneratorTableTest, WhatIsWrongIsNamed) {
  const std::string poisson = std::string("arrivals = 5\n[[generator]]\n") + kPoisson;
  const auto with = [](const std::string& text) { return "arrivals = 5\n[[generator]]\n" + text; };
  const auto states = [&with](const std::string& first, const std::string& second) {
    return with("process = \"mmpp\"\n[[generator.state]]\nmean_stay_s = 1\n" + first +
                "[[generator.state]]\nmean_stay_s = 1\n" + second);
  };
  const auto rate = [&with](const std::string& text) {
    return with("process = \"diurnal\"\nrate = { " + text + " }\n");
  };
  const struct {
    std::string text;
    const char* key;
    const char* allowed;
  } kCases[] = {
      {"arrivals = 5\n", "generator", "[[generator]]"},
      {std::string("[[generator]]\n") + kPoisson, "arrivals", "length_s"},
      {"arrivals = 0\n[[generator]]\n" + std::string(kPoisson), "arrivals", "from 1"},
      {"arivals = 5\n", "arivals", "arrivals"},
      {with("tenant = \"a\"\n"), "generator.0.process", "a string"},
      {with("process = \"zipf\"\n"), "generator.0.process", "renewal, mmpp"},
      {with("process = \"renewal\"\n"), "generator.0.gap", "gamma"},
      {with("process = \"renewal\"\ngap = { mean_s = 0 }\n"), "generator.0.gap.mean_s", "1e-9"},
      {with("process = \"renewal\"\ngap = { distribution = \"gamma\" }\n"), "generator.0.gap.cv",
       "0.01"},
      {poisson + "user = 5\n", "generator.0.user", "tenant"},
      {poisson + "kind = \"task\"\n", "generator.0.kind", "job, request"},
      {poisson + "weight = 0\n", "generator.0.weight", "from"},
      {poisson + "cores = { min = 4, max = 2 }\n", "generator.0.cores.max", "min <= "},
      {poisson + "workload = \"w\"\n[[generator]]\n" + kPoisson, "generator.1.workload", "none"},
      {poisson + "tenant = \"a\\nb\"\n", "generator.0.tenant", "one line"},
      {with("process = \"mmpp\"\n"), "generator.0.state", "2 to"},
      {states("rate_per_s = 0\n", "rate_per_s = 0\n"), "generator.0.state", "above 0"},
      {states("rate_per_s = 1\nnext = [0, 1]\n", "rate_per_s = 0\n"), "generator.0.state.1.next",
       "2 probabilities"},
      {states("rate_per_s = 1\nnext = [0, 0.5]\n", "rate_per_s = 0\nnext = [1, 0]\n"),
       "generator.0.state.0.next", "sum 1"},
      {rate("shape = \"square\""), "generator.0.rate.shape", "sine, linear"},
      {rate("shape = \"sine\", mean_per_s = 1, amplitude_per_s = 2"),
       "generator.0.rate.amplitude_per_s", "to 1"},
      {rate("shape = \"linear\""), "generator.0.rate.points", "[[0, rate]"},
      {rate("shape = \"linear\", points = [[1, 1]]"), "generator.0.rate.points.0", "ascending"},
      {rate("shape = \"steps\", points = [[0, 1], [0, 2]]"), "generator.0.rate.points.1",
       "ascending"},
      {rate("shape = \"steps\", points = [[0, 0]]"), "generator.0.rate", "above 0"},
      {rate("shape = \"series\", series = \"none.txt\""), "generator.0.rate.series", "file"},
      {with("process = \"bursts\"\npause = { mean_s = 1 }\nburst = { mean_size = 1.5, sizes = "
            "\"fixed\" }\n"),
       "generator.0.burst.mean_size", "whole"},
      {with("process = \"closed-loop\"\nusers = 0\n"), "generator.0.users", "from 1"},
      {with("process = \"loadgen\"\nscenario = \"Sever\"\n"), "generator.0.scenario", "Server"},
      {with("process = \"loadgen\"\nscenario = \"Server\"\ntarget_qps = 1\nlatency_s = 1\n"),
       "generator.0.latency_s", "SingleStream"},
  };
  for (const auto& [text, key, allowed] : kCases) {
    const InputErrorDetails error = Refused(text);
    EXPECT_EQ(error.key, key) << text;
    EXPECT_NE(error.allowed.find(allowed), std::string::npos) << key << ": " << error.allowed;
  }
}

TEST_F(GeneratorTableTest, WhatIsNoRateSeriesIsTold) {
  for (const char* text : {"", " \n", "1 x 2", "1 -2", "1 2.5", "1 nan", "99999999999"}) {
    std::ofstream(folder_.path() / "rates.txt") << text;
    const InputErrorDetails error = Refused(
        "arrivals = 5\n[[generator]]\nprocess = \"diurnal\"\n"
        "rate = { shape = \"series\", series = \"rates.txt\" }\n");
    EXPECT_EQ(error.key, "generator.0.rate.series") << text;
    EXPECT_NE(error.problem.find("rates.txt"), std::string::npos) << error.problem;
  }
}

TEST_F(GeneratorTableTest, EveryStateMustBeWithinReach) {
  const std::string state = "[[generator.state]]\nrate_per_s = 1\nmean_stay_s = 1\n";
  const std::string text = "arrivals = 5\n[[generator]]\nprocess = \"mmpp\"\n" + state +
                           "next = [0, 1, 0]\n" + state + "next = [1, 0, 0]\n" + state +
                           "next = [1, 0, 0]\n";
  EXPECT_EQ(Refused(text).key, "generator.0.state.2");
}

}  // namespace
}  // namespace cosched
