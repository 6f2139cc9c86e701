// Services with a modelled device beside their instances, in virtual time: every request is answered
// once by one of them, and queues are as theory has them, whichever dispatch and polling.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "experiments/analysis/comparison.h"
#include "experiments/records/rows.h"
#include "experiments/records/table.h"
#include "policies/registry.h"
#include "tests/experiments/harness/checked_run.h"

namespace cosched {
namespace {

// On a core a step takes 0.1 s.
Profile TwoPrograms() {
  Profile profile;
  for (const char* name : {"lenet5 infer batch 1", "resnet20 infer batch 1"}) {
    ProgramProfile& program = profile.programs.emplace_back();
    program.program = name;
    program.alone = {{1, {1, 1}, {0.1, 0.1, 0.1, 3}}};
  }
  profile.cores = 1;
  return profile;
}

struct Answered {
  int64_t count = 0, by_device = 0;
  double responses_s = 0, waits_s = 0;  // Of all; waits: until a server had them.
  double Response() const { return responses_s / static_cast<double>(count); }
  double Wait() const { return waits_s / static_cast<double>(count); }
  double CpuShare() const {
    return 1 - static_cast<double>(by_device) / static_cast<double>(count);
  }
};

class DeviceHarnessTest : public testing::Test {
 protected:
  // Two services, a and b, on a core each; a device that takes so long for each of them.
  ExperimentConfig Config(double a_s, double b_s, const std::string& trace,
                          const std::vector<std::string>& overrides = {}) {
    SaveProfile(TwoPrograms(), folder_.path() / "p.json");
    WriteText(folder_.path() / "d.json", fmt::format(R"({{"format": 1, "name": "d",
 "provenance": "modelled: a test", "switch_s": 0, "memory_mib": 2, "models": {{
 "lenet5": {{"occupancy_s": {{"1": [{}]}}, "host_cpu_s": 0, "host_wait_s": 0, "memory_mib": 1}},
 "resnet20": {{"occupancy_s": {{"1": [{}]}}, "host_cpu_s": 0, "host_wait_s": 0, "memory_mib": 1}}}}}})",
                                                     a_s, b_s));
    WriteText(folder_.path() / "x.toml", R"(name = "x"
backend = "simulated"
trials = 1
policies = ["static-shares"]
machine = { topology = "pack:1 core:2 pu:1", profile = "p.json" }
simulation = { charge_decisions = "none", startup = false, oversubscription = false }
records = { samples = false, steps = false, resizes = false }
services = { in_flight = 1 }
[[device]]
name = "d"
profile = "d.json"
[[workload]]
name = "a"
model = "lenet5"
mode = "serve"
batch = 1
sla_ms = 200
slo_ms = 200
cores = { min = 1, max = 1 }
[[workload]]
name = "b"
model = "resnet20"
mode = "serve"
batch = 1
sla_ms = 200
slo_ms = 200
cores = { min = 1, max = 1 }
[policy.fixed]
use = "static-shares"
[trace]
)" + trace);
    return LoadConfig(folder_.path() / "x.toml", overrides, here_);
  }

  static std::string Streams(int count, double rate, const std::string& more = "") {
    std::string text;
    for (const char* service : {"a", "b"}) {
      text += fmt::format(
          "[[trace.requests]]\nservice = \"{}\"\ncount = {}\n"
          "gap = {{ distribution = \"exponential\", mean_s = {} }}\n{}\n",
          service, count, 1 / rate, more);
    }
    return text;
  }

  // By service, of the first trial.
  std::map<std::string, Answered> Answers(const std::filesystem::path& run,
                                          const std::string& policy) {
    std::map<std::string, Answered> services;
    RowReader<RequestRow> reader(CellFolder(run, {policy}), &RequestRow::service,
                                 &RequestRow::scheduled, &RequestRow::dispatched,
                                 &RequestRow::finished, &RequestRow::device);
    while (const RequestRow* row = reader.Next()) {
      Answered& sum = services[std::string(row->service)];
      EXPECT_TRUE(row->finished && row->dispatched);
      if (!row->finished || !row->dispatched) continue;
      ++sum.count;
      sum.by_device += !row->device.empty();
      sum.responses_s += *row->finished - row->scheduled;
      sum.waits_s += *row->dispatched - row->scheduled;
    }
    return services;
  }

  InputErrorDetails Refused(const std::vector<std::string>& overrides) {
    try {
      Config(0.01, 0.01, Streams(10, 1), overrides);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << overrides.front() << " is accepted";
    return {};
  }

  const TemporaryFolder folder_;
  const Topology here_ = Topology::Synthetic("pack:1 core:1 pu:1");
};

TEST_F(DeviceHarnessTest, EveryRequestIsAnsweredOnceByAnInstanceOrTheDevice) {
  const ExperimentConfig config = Config(0.02, 0.03, Streams(500, 15));
  HarnessResult result;
  const std::filesystem::path run = RunChecked(folder_, here_, config, &result);
  for (const auto& [service, answered] : Answers(run, "static-shares")) {
    EXPECT_EQ(answered.count, 500) << service;
    EXPECT_GT(answered.by_device, 250) << service << ": it is faster";
    EXPECT_LT(answered.by_device, 500) << service << ": and busy at times";
  }
  const CellSummary cell = Summarize(run, {"static-shares"});
  double held = 0;
  RowReader<HoldRow> holds(CellFolder(run, {"static-shares"}), &HoldRow::begin, &HoldRow::end);
  while (const HoldRow* hold = holds.Next()) held += hold->end - hold->begin;
  EXPECT_NEAR(*cell.device_busy_s, held, 1e-6);
  ASSERT_EQ(cell.services.size(), 2U);
  const double by_device =
      *cell.services[0].device_share * 500 * 0.02 + *cell.services[1].device_share * 500 * 0.03;
  EXPECT_NEAR(held, by_device, 1e-3) << "each holds a slot for its model's time";
}

TEST_F(DeviceHarnessTest, AComparisonTellsWhatWasPaidAndWhatTheDeviceRestsOn) {
  const std::filesystem::path run = RunChecked(folder_, here_, Config(0.02, 0.03, Streams(50, 15)));
  const std::string table = ComparisonTable(run);
  EXPECT_THAT(table, testing::HasSubstr("DEVICE d, modelled: a test"));
  EXPECT_THAT(table, testing::HasSubstr("granted core-s"));
  EXPECT_THAT(table, testing::HasSubstr("device slot-s"));
  EXPECT_THAT(table, testing::Not(testing::HasSubstr("turnaround s"))) << "there is no job";
}

// Shares as static-shares does, and keeps what it is told.
class Watching final : public Policy {
 public:
  struct Seen {
    std::vector<ServiceView> services;
    std::vector<DeviceView> devices;
  };
  explicit Watching(std::vector<Seen>* seen) : seen_(seen) {}
  Allocation Decide(const MachineView& view, const Event& event) override {
    if (std::holds_alternative<WindowOver>(event)) seen_->push_back({view.services, view.devices});
    return shares_->Decide(view, event);
  }

 private:
  std::vector<Seen>* seen_;
  const std::unique_ptr<Policy> shares_ = MakePolicy(*FindPolicy("static-shares"), {});
};

TEST_F(DeviceHarnessTest, WindowsTellWhatInstancesUsedAndHowLongDevicesWereHeld) {
  std::vector<Watching::Seen> seen;
  const std::filesystem::path run =
      RunChecked(folder_, here_, Config(0.02, 0.03, Streams(400, 15, "work = 2\n")), nullptr,
                 [&](const std::string&) { return std::make_unique<Watching>(&seen); });
  ASSERT_GT(seen.size(), 20U);
  std::map<std::string, double> used_s, expected_s;
  double held_s = 0;
  for (const Watching::Seen& window : seen) {
    ASSERT_EQ(window.devices.size(), 1U);
    EXPECT_EQ(window.devices[0].name, "d");
    EXPECT_LE(window.devices[0].busy, 1);
    for (const ServiceView& service : window.services) {
      if (service.arrived > 0) {
        EXPECT_EQ(service.mean_work, 2);
      }
      for (const auto& [id, server] : service.servers) {
        const bool is_device = std::holds_alternative<DeviceId>(id);
        EXPECT_TRUE(!is_device || server.cpu_time == Duration(0));
        EXPECT_LE(server.cpu_time, service.length + std::chrono::milliseconds(1)) << "a core";
        used_s[service.name] += ToSeconds(server.cpu_time);
      }
    }
    held_s += window.devices[0].busy * ToSeconds(window.services[0].length);
  }
  RowReader<RequestRow> reader(CellFolder(run, {"static-shares"}), &RequestRow::service,
                               &RequestRow::device);
  double held_by_requests_s = 0;
  while (const RequestRow* row = reader.Next()) {
    if (row->device.empty()) expected_s[std::string(row->service)] += 2 * 0.1;
    if (!row->device.empty()) held_by_requests_s += 2 * (row->service == "a" ? 0.02 : 0.03);
  }
  // The last window is not over.
  for (const char* service : {"a", "b"}) {
    EXPECT_GT(expected_s[service], 2);
    EXPECT_NEAR(used_s[service], expected_s[service], 1) << service;
  }
  EXPECT_NEAR(held_s, held_by_requests_s, 1);
}

// Each client waits for its answer, thinks, and asks again: never more are there than clients.
TEST_F(DeviceHarnessTest, ClientsOfAClosedLoopAskAgainWhenTheyAreAnswered) {
  constexpr double kThinkSeconds = 0.05;
  const ExperimentConfig config =
      Config(0.02, 0.03,
             fmt::format("[[trace.requests]]\nservice = \"a\"\ncount = 200\nclients = 3\n"
                         "gap = {{ distribution = \"fixed\", mean_s = {} }}\n"
                         "[[trace.requests]]\nservice = \"b\"\ncount = 5\n",
                         kThinkSeconds));
  const std::filesystem::path run = RunChecked(folder_, here_, config);
  std::vector<std::pair<double, double>> asked;
  RowReader<RequestRow> reader(CellFolder(run, {"static-shares"}), &RequestRow::service,
                               &RequestRow::scheduled, &RequestRow::finished);
  while (const RequestRow* row = reader.Next()) {
    if (row->service == "a") asked.emplace_back(row->scheduled, *row->finished);
  }
  ASSERT_EQ(asked.size(), 200U);
  std::sort(asked.begin(), asked.end());
  std::multiset<double> answers;
  for (size_t i = 0; i < asked.size(); ++i) {
    if (i >= 3) {
      // Somebody's thinking began with an answer just so long ago.
      const auto answer = answers.lower_bound(asked[i].first - kThinkSeconds - 2e-6);
      ASSERT_NE(answer, answers.end()) << i;
      EXPECT_NEAR(*answer, asked[i].first - kThinkSeconds, 2e-6) << i;
      answers.erase(answer);
    }
    answers.insert(asked[i].second);
  }
}

TEST_F(DeviceHarnessTest, EqualSeedsGiveEqualBytes) {
  const ExperimentConfig config = Config(
      0.02, 0.03, Streams(200, 15), {"services.polling=published", "services.dispatch=random"});
  const std::filesystem::path one = RunChecked(folder_, here_, config);
  const std::filesystem::path other = RunChecked(folder_, here_, config);
  for (const char* file : {"requests.csv", "devices.csv", "decisions.csv"}) {
    const std::string text = ReadText(CellFolder(one, {"static-shares"}) / file);
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text, ReadText(CellFolder(other, {"static-shares"}) / file)) << file;
  }
}

// A light load is divided by who looks first: ROMA's pollers of instances and of devices pause for a
// millisecond at each empty queue they look at, and so do not meet a request equally often.
TEST_F(DeviceHarnessTest, PublishedPollingDividesALightLoadByTheDispatchOfTheDevice) {
  for (const auto& [dispatch, cpu_share] : std::map<std::string, double>{{"longest-queue", 1.0 / 4},
                                                                         {"h1", 1.0 / 4},
                                                                         {"round-robin", 1.0 / 2},
                                                                         {"random", 9.0 / 16}}) {
    const ExperimentConfig config = Config(
        0.0001, 0.0001, Streams(6000, 2),
        {"services.polling=published", "services.in_flight=64",
         fmt::format("services.dispatch={{ cpu = 'round-robin', device = '{}' }}", dispatch)});
    const auto answers = Answers(RunChecked(folder_, here_, config), "static-shares");
    const double share = (answers.at("a").CpuShare() + answers.at("b").CpuShare()) / 2;
    EXPECT_NEAR(share, cpu_share, 0.02) << dispatch;
  }
}

// With servers that take what waits no dispatch has such an effect.
TEST_F(DeviceHarnessTest, WorkConservingServersDivideItAlikeUnderEveryDispatch) {
  std::set<int64_t> by_device;
  for (const char* dispatch : {"longest-queue", "h1", "round-robin", "random"}) {
    const ExperimentConfig config =
        Config(0.0001, 0.0001, Streams(2000, 2), {fmt::format("services.dispatch={}", dispatch)});
    by_device.insert(
        Answers(RunChecked(folder_, here_, config), "static-shares").at("a").by_device);
  }
  EXPECT_LE(*by_device.rbegin() - *by_device.begin(), 20) << "of 2000";
}

// Kleinrock's conservation law: whichever service is next, the sum of rho_i W_i is that of first
// come first served, rho W0 / (1 - rho), as long as the server is never idle while one waits. On a
// trace the law holds for the trace's own backlog: all dispatches give the same sum to the digit.
TEST_F(DeviceHarnessTest, EveryWorkConservingDispatchConservesTheSumOfWaits) {
  constexpr double kA = 0.010, kB = 0.030, kRate = 20;
  std::vector<double> sums;
  for (const char* dispatch :
       {"round-robin", "random", "longest-queue", "h1", "weighted", "earliest-deadline",
        "least-slack", "clockwork", "shortest-expected"}) {
    const ExperimentConfig config =
        Config(kA, kB, Streams(10'000, kRate),
               {"policies=['devices-only']", fmt::format("services.dispatch={}", dispatch)});
    const auto answers = Answers(RunChecked(folder_, here_, config), "devices-only");
    const Answered &a = answers.at("a"), &b = answers.at("b");
    EXPECT_EQ(a.by_device + b.by_device, 20'000);
    sums.push_back(kA * a.waits_s + kB * b.waits_s);
    EXPECT_NEAR(sums.back() / sums.front(), 1, 1e-6) << dispatch;
  }
  // rho = 0.8; W0 = sum of rate * service^2 / 2.
  const double residual = kRate * (kA * kA + kB * kB) / 2;
  const double expected = 0.8 * residual / (1 - 0.8);
  EXPECT_NEAR(sums.front() / (10'000 / kRate) / expected, 1, 0.1);
}

TEST_F(DeviceHarnessTest, PublishedPollingIsNotWorkConservingAndWaitsLonger) {
  const auto waits = [this](const char* polling) {
    const ExperimentConfig config =
        Config(0.010, 0.030, Streams(20'000, 20),
               {"policies=['devices-only']", "services.dispatch=round-robin",
                fmt::format("services.polling={}", polling)});
    const auto answers = Answers(RunChecked(folder_, here_, config), "devices-only");
    return 0.010 * answers.at("a").waits_s + 0.030 * answers.at("b").waits_s;
  };
  EXPECT_GT(waits("published"), 1.01 * waits("work-conserving"));
}

// Cobham, Operations Research 2, 1954: two priority classes without preemption.
TEST_F(DeviceHarnessTest, ShortestExpectedWaitsAsCobhamHasIt) {
  constexpr double kA = 0.010, kB = 0.030, kRate = 20;
  const ExperimentConfig config =
      Config(kA, kB, Streams(60'000, kRate),
             {"policies=['devices-only']", "services.dispatch=shortest-expected"});
  const auto answers = Answers(RunChecked(folder_, here_, config), "devices-only");
  const double residual = kRate * (kA * kA + kB * kB) / 2;
  const double rho_a = kRate * kA, rho = kRate * (kA + kB);
  EXPECT_NEAR(answers.at("a").Wait() / (residual / (1 - rho_a)), 1, 0.05);
  EXPECT_NEAR(answers.at("b").Wait() / (residual / ((1 - rho_a) * (1 - rho))), 1, 0.1);
}

// All queues that its server takes from, not the first one that is not empty.
TEST_F(DeviceHarnessTest, ADispatchSeesTheQueuesOfAllServicesThatWait) {
  for (const auto& [a_s, b_s] : {std::pair{0.010, 0.030}, {0.030, 0.010}}) {
    const ExperimentConfig config =
        Config(a_s, b_s, Streams(3'000, 20),
               {"policies=['devices-only']", "services.dispatch=shortest-expected"});
    const auto answers = Answers(RunChecked(folder_, here_, config), "devices-only");
    const bool a_first = a_s < b_s;
    EXPECT_LT(2 * answers.at(a_first ? "a" : "b").Wait(), answers.at(a_first ? "b" : "a").Wait());
  }
}

// An instance (10 / s) and a device (20 / s) with exponential work are two unequal servers of one
// queue, of which the device is taken where both are free: against the stationary distribution of
// that Markov chain.
TEST_F(DeviceHarnessTest, AnInstanceAndADeviceAreMm2WithUnequalServers) {
  constexpr double kRate = 20, kDevice = 20, kCpu = 10;
  const std::string trace = fmt::format(
      "[[trace.requests]]\nservice = \"a\"\ncount = 100000\n"
      "gap = {{ distribution = \"exponential\", mean_s = {} }}\n"
      "work = {{ distribution = \"exponential\", mean = 1 }}\n"
      "[[trace.requests]]\nservice = \"b\"\ncount = 1\n",
      1 / kRate);
  const ExperimentConfig config = Config(1 / kDevice, 1 / kDevice, trace);
  const Answered a = Answers(RunChecked(folder_, here_, config), "static-shares").at("a");
  // States: nobody, only the device, only the instance, n = 2, 3, …; weights relative to nobody's.
  // From the cuts between n and n + 1, and the balance of the state "only the instance".
  const double l = kRate, d = kDevice, c = kCpu, load = l / (d + c);
  // device + instance: l p0 = d pd + c pc; (l + c) pc = d p2; l (pd + pc) = (d + c) p2.
  // pc = d p2 / (l + c); p2 = load (pd + pc).
  const double pc_of_pd = d * load / (l + c) / (1 - d * load / (l + c));
  const double p0 = 1, pd = l * p0 / (d + c * pc_of_pd), pc = pc_of_pd * pd;
  const double p2 = load * (pd + pc);
  const double all = p0 + pd + pc + p2 / (1 - load);
  const double present = (pd + pc + 2 * p2 / (1 - load) + p2 * load / std::pow(1 - load, 2)) / all;
  EXPECT_NEAR(a.Response() / (present / l), 1, 0.03);
  const double by_device = d * (pd + p2 / (1 - load)) / all / l;
  EXPECT_NEAR(1 - a.CpuShare(), by_device, 0.01);
}

// Little's law, exactly: the integral of the requests that are there is the sum of their responses.
TEST_F(DeviceHarnessTest, LittlesSumIsExact) {
  const ExperimentConfig config = Config(0.02, 0.03, Streams(2000, 15));
  const std::filesystem::path run = RunChecked(folder_, here_, config);
  std::map<double, int> changes;
  double responses = 0;
  RowReader<RequestRow> reader(CellFolder(run, {"static-shares"}), &RequestRow::scheduled,
                               &RequestRow::finished);
  while (const RequestRow* row = reader.Next()) {
    ++changes[row->scheduled];
    --changes[*row->finished];
    responses += *row->finished - row->scheduled;
  }
  double integral = 0, before = 0;
  int there = 0;
  for (const auto& [time, change] : changes) {
    integral += there * (time - before);
    there += change;
    before = time;
  }
  EXPECT_EQ(there, 0);
  EXPECT_NEAR(integral, responses, 1e-6 * responses);
}

// A device that decodes b's requests takes time from the instance on its own node, not from others.
TEST_F(DeviceHarnessTest, RequestsAreDecodedOnTheCoresOfTheDevicesNode) {
  WriteText(folder_.path() / "h.json", R"({"format": 1, "name": "h",
 "provenance": "modelled: a test", "switch_s": 0, "memory_mib": 2, "models": {
 "resnet20": {"occupancy_s": {"1": [0.01]}, "host_cpu_s": 0.05, "host_wait_s": 0, "memory_mib": 1}}})");
  const auto response_of_a = [this](const std::string& more) {
    std::vector<std::string> overrides = {"machine.nodes=2", "device.0.profile='h.json'"};
    if (!more.empty()) overrides.push_back(more);
    const ExperimentConfig config = Config(0.01, 0.01, Streams(400, 5), overrides);
    return Answers(RunChecked(folder_, here_, config), "static-shares").at("a").Response();
  };
  const double first = response_of_a("device.0.node=0"), second = response_of_a("device.0.node=1");
  EXPECT_GT(std::max(first, second), 1.1 * std::min(first, second));
  EXPECT_EQ(response_of_a(""), first) << "the first device is the first node's";
  const ExperimentConfig two =
      Config(0.01, 0.01, Streams(10, 1) + "[[device]]\nname = \"e\"\nprofile = \"d.json\"\n",
             {"machine.nodes=2"});
  EXPECT_EQ(two.devices.at(1).node, 1);
}

TEST_F(DeviceHarnessTest, WrongInputIsRefusedWithItsKey) {
  EXPECT_EQ(Refused({"device.0.slots=0"}).key, "device.d.slots");
  EXPECT_EQ(Refused({"device.0.node=1"}).key, "device.d.node");
  EXPECT_EQ(Refused({"device.0.profile='none.json'"}).key, "device.d.profile");
  EXPECT_EQ(Refused({"device.0.services=['c']"}).key, "device.d.services.0");
  EXPECT_EQ(Refused({"services.dispatch=lq"}).key, "services.dispatch");
  EXPECT_EQ(Refused({"services.dispatch={ gpu = 'h1' }"}).key, "services.dispatch.gpu");
  EXPECT_EQ(Refused({"services.dispatch={ device = 'h2' }"}).key, "services.dispatch.device");
  EXPECT_EQ(Refused({"services.polling=busy"}).key, "services.polling");
  EXPECT_EQ(Refused({"services.in_flight={ device = 0 }"}).key, "services.in_flight.device");
  EXPECT_EQ(Refused({"dispatch.h1.alpha=2"}).key, "dispatch.h1.alpha");
  EXPECT_EQ(Refused({"dispatch.h3.alpha=1"}).key, "dispatch.h3");
  EXPECT_EQ(Refused({"policy.fixed.dispatch=h4"}).key, "policy.fixed.dispatch");
}

TEST_F(DeviceHarnessTest, APolicyMayHaveItsOwnDispatch) {
  const ExperimentConfig config =
      Config(0.01, 0.01, Streams(10, 1),
             {"policies=['fixed', 'static-shares']", "policy.fixed.dispatch={ device = 'h1' }",
              "dispatch.h1.alpha=1", "services.dispatch=longest-queue"});
  EXPECT_EQ(DispatchOf(config, "fixed", ServerClass::kDevice), "h1");
  EXPECT_EQ(DispatchOf(config, "fixed", ServerClass::kCpu), "longest-queue");
  EXPECT_EQ(DispatchOf(config, "static-shares", ServerClass::kDevice), "longest-queue");
  EXPECT_EQ(DispatchJson(config, "fixed").at("device").at("parameters").at("alpha"), 1);
}

}  // namespace
}  // namespace cosched
