// Services through the harness in virtual time: every request is accounted for, latencies count
// from when it was due, and equal experiments give equal bytes.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <thread>

#include "engine/base/error.h"
#include "experiments/analysis/metrics.h"
#include "experiments/config/experiment_json.h"
#include "experiments/harness/harness.h"
#include "experiments/records/rows.h"
#include "experiments/records/table.h"
#include "tests/experiments/harness/service_harness_fixture.h"
#include "tests/policies/misbehaving_policies.h"

namespace cosched {
namespace {

TEST_F(ServiceHarnessTest, LatenciesCountFromWhenARequestWasDue) {
  const ExperimentConfig config = Config();
  const std::filesystem::path run = Run(config);
  // Each takes 50 ms and comes 20 ms after the one before: 50, 80, 110, 140, 170 ms.
  const ServiceSummary net = Only(run, {"strict"});
  EXPECT_EQ(net.requests, 5);
  EXPECT_EQ(net.served, 5);
  EXPECT_EQ(net.dropped, 0);
  EXPECT_NEAR(*net.mean_latency_ms, 110, 1e-3);
  EXPECT_NEAR(*net.p50_latency_ms, 110, 1e-3);
  EXPECT_NEAR(*net.p99_latency_ms, 170, 1e-3);
  EXPECT_NEAR(*net.slo_attainment, 3.0 / 5, 1e-9) << "120 ms";
  EXPECT_NEAR(net.throughput_per_s, 5 / 0.25, 1e-3);
  EXPECT_NEAR(net.offered_per_s, 5 / 0.08, 1e-3);
  EXPECT_NEAR(*net.goodput_per_s, 3 / 0.25, 1e-3);
  EXPECT_EQ(net.worst_lag_ms, 0);
  // The service ends when the last is answered, at once, and is no job to the means.
  const CellSummary cell = Summarize(run, {"strict"});
  EXPECT_NEAR(cell.makespan_s, 0.25, 1e-6);
  EXPECT_EQ(cell.finished, 1);
  EXPECT_EQ(cell.mean_turnaround_s, 0);
  EXPECT_EQ(cell.throughput_jobs_per_hour, 0);
}

TEST_F(ServiceHarnessTest, WaitingRequestsShareABatch) {
  const ServiceSummary net = Only(Run(Config("", {"workload.net.batch=4"})), {"strict"});
  // The first alone until 50 ms; those of 20 and 40 ms together until 100 ms, the last two too.
  EXPECT_NEAR(*net.mean_latency_ms, (50 + 80 + 60 + 90 + 70) / 5.0, 1e-3);
  EXPECT_NEAR(*net.mean_batch, (1 + 2 + 2 + 2 + 2) / 5.0, 1e-9);
}

TEST_F(ServiceHarnessTest, FewWaitForMoreUntilTheDelayIsOver) {
  const ServiceSummary net =
      Only(Run(Config("", {"workload.net.batch=4", "workload.net.max_delay_ms=50"})), {"strict"});
  // The request of 0 ms waits for 20 and 40 until 50: together until 100 ms. Those of 60 and 80 ms
  // would wait until 110 ms, but no more can come once the last was sent at 80 ms: they begin when
  // the server is free.
  EXPECT_NEAR(*net.mean_latency_ms, (100 + 80 + 60 + 90 + 70) / 5.0, 1e-3);
  EXPECT_NEAR(*net.mean_batch, (3 + 3 + 3 + 2 + 2) / 5.0, 1e-9);
}

TEST_F(ServiceHarnessTest, MaxBatchIsBatchByItsOwnName) {
  ExperimentConfig config = Config("", {"workload.net.batch=4"});
  EXPECT_EQ(config.workloads[0].spec.batch, 4);
  EXPECT_EQ(config.workloads[0].spec.max_delay, Duration::zero());
  const std::string resolved = ExperimentJson(config).dump(2);
  EXPECT_NE(resolved.find("\"max_batch\": 4"), std::string::npos) << resolved;
  config = Config(R"(service = "net"
[[workload]]
name = "other"
model = "lenet5"
mode = "serve"
max_batch = 4
max_delay_ms = 2.5
)");
  EXPECT_EQ(config.workloads[1].spec.batch, 4);
  EXPECT_EQ(config.workloads[1].spec.max_delay, std::chrono::microseconds(2500));
}

TEST_F(ServiceHarnessTest, ARequestMayTakeSeveralSteps) {
  EXPECT_NEAR(
      *Only(Run(Config("work = 3\n", {"workload.net.slo_ms=1000"})), {"strict"}).p99_latency_ms,
      5 * 150 - 4 * 20, 1e-3);
}

TEST_F(ServiceHarnessTest, ServicesLiveAsLongAsJobsMayCome) {
  const std::string job =
      "[[workload]]\nname = \"job\"\nmodel = \"lenet5\"\nbatch = 1\nsteps = 7\n";
  const std::filesystem::path run =
      Run(Config(job, {"workload.net.cores.max=1", "workload.job.cores.max=1", "trace.jobs=2",
                       "trace.gap={ distribution = 'fixed', mean_s = 3 }"}));
  // Jobs at 0 and 3 s, 0.7 s each; the service waits for the second one to arrive.
  const CellSummary cell = Summarize(run, {"strict"});
  EXPECT_NEAR(cell.mean_turnaround_s, 0.7, 1e-5) << "the service is none of them";
  EXPECT_EQ(cell.finished, 3);
  const std::string jobs = ReadText(CellFolder(run, {"strict"}) / "jobs.csv");
  EXPECT_NE(jobs.find("0,net,malleable,0,1,1,1,0.000000,0.000000,3.000000"), std::string::npos)
      << jobs;
}

TEST_F(ServiceHarnessTest, AFailedServiceDropsWhatItHadAndWhatIsToCome) {
  resize_s_ = 10;  // Far beyond the revocation deadline: the service is killed when it must shrink.
  HarnessResult result;
  const std::filesystem::path run =
      Run(Config("start_s = 0.99\n[[workload]]\nname = \"job\"\nmodel = \"lenet5\"\nbatch = 1\n"
                 "steps = 7\ncores = { min = 1, max = 1 }\n",
                 {"policies=['equal-share']", "trace.jobs=2", "trials=1",
                  "trace.gap={ distribution = 'fixed', mean_s = 1 }", "workload.job.weight=1",
                  "trace.requests.0.gap.mean_s=0.2"}),
          &result);
  EXPECT_EQ(result.with_failures, 1);
  const ServiceSummary net = Only(run, {"equal-share"});
  EXPECT_EQ(net.requests, 5);
  EXPECT_GT(net.dropped, 0);
  EXPECT_EQ(net.served + net.dropped, 5);
  EXPECT_LE(*net.slo_attainment, static_cast<double>(net.served) / 5) << "dropped ones violate it";
}

TEST_F(ServiceHarnessTest, AFailedCellAccountsForWhatWasSent) {
  HarnessResult result;
  const std::filesystem::path run = Run(Config("", {"trials=1"}), &result, [](const std::string&) {
    return std::make_unique<IdlePolicy>();
  });
  EXPECT_EQ(result.failed, 1);
  const CellSummary cell = Summarize(run, {"strict"});
  EXPECT_NE(cell.reason.find("never drain"), std::string::npos) << cell.reason;
  ASSERT_EQ(cell.services.size(), 1U);
  EXPECT_EQ(cell.services[0].dropped, 5);
  EXPECT_EQ(cell.services[0].mean_latency_ms, std::nullopt);
}

TEST_F(ServiceHarnessTest, ALateGeneratorMarksTheCell) {
  const std::filesystem::path run = Run(Config("", {"simulation.charge_decisions=30000"}));
  const CellSummary cell = Summarize(run, {"strict"});
  EXPECT_NEAR(cell.services.at(0).worst_lag_ms, 30, 1e-3) << "the first one waits for a decision";
  ASSERT_FALSE(cell.marks.empty());
  EXPECT_NE(cell.marks[0].find("a request was sent 30 ms late"), std::string::npos);
}

TEST_F(ServiceHarnessTest, RequestsNeedNotBeRecorded) {
  const std::filesystem::path run = Run(Config("", {"records={ requests = false }"}));
  EXPECT_FALSE(std::filesystem::exists(CellFolder(run, {"strict"}) / "requests.csv"));
  EXPECT_FALSE(std::filesystem::exists(run / "services.csv"));
}

// What one policy is told of the services, window by window.
class Listening final : public Policy {
 public:
  explicit Listening(std::vector<std::vector<ServiceView>>* windows) : windows_(windows) {}
  Allocation Decide(const MachineView& view, const Event& event) override {
    if (std::holds_alternative<WindowOver>(event)) windows_->push_back(view.services);
    Allocation allocation;
    for (const JobView& job : view.jobs.Waiting()) allocation.jobs[job.id] = cosched::Run{2, {}};
    return allocation;
  }

 private:
  std::vector<std::vector<ServiceView>>* windows_;
};

TEST_F(ServiceHarnessTest, WindowsTellWhatHappenedInThem) {
  std::vector<std::vector<ServiceView>> windows;
  Run(Config("", {"trials=1", "services.window_s=0.1", "services.in_flight=2",
                  "workload.net.sla_ms=70"}),
      nullptr, [&](const std::string&) { return std::make_unique<Listening>(&windows); });
  // Due at 0, 20, … 80 ms, answered at 50, 100, … 250 ms, two of them at the server.
  ASSERT_EQ(windows.size(), 2U) << "the service ends within the third";
  const ServiceView& first = windows[0].at(0);
  EXPECT_EQ(first.id, ServiceId{0});
  EXPECT_EQ(first.name, "net");
  EXPECT_EQ(first.objective, std::chrono::milliseconds(70));
  EXPECT_EQ(first.length, std::chrono::milliseconds(100));
  EXPECT_EQ(first.arrived, 5);
  EXPECT_EQ(first.answered, 2) << "also the one whose answer comes as the window ends";
  EXPECT_EQ(first.queued, 1) << "room is taken up at once, before the policy is asked";
  EXPECT_NEAR(ToSeconds(first.mean_response), (0.050 + 0.080) / 2, 1e-6);
  ASSERT_EQ(first.servers.size(), 1U);
  const auto& [id, server] = first.servers[0];
  EXPECT_EQ(std::get<JobId>(id), JobId{0});
  EXPECT_EQ(server.dispatched, 4);
  EXPECT_EQ(server.answered, 2);
  EXPECT_EQ(server.in_flight, 2);
  EXPECT_NEAR(ToSeconds(server.mean_response), 0.065, 1e-6);
  // At 0, 20, 50 and 100 ms dispatched, at 50 and 100 ms answered: 50 + 80 + 50 + 0 ms in all.
  EXPECT_NEAR(server.mean_in_flight, 1.8, 1e-6);
  const ServiceView& second = windows[1].at(0);
  EXPECT_EQ(second.arrived, 0);
  EXPECT_EQ(second.answered, 2);
  // Dispatched at 50 and 100 ms, answered at 150 and 200.
  EXPECT_NEAR(ToSeconds(second.servers.at(0).second.mean_process), 0.1, 1e-6);
  EXPECT_NEAR(second.servers.at(0).second.mean_in_flight, 2, 1e-6);
}

TEST_F(ServiceHarnessTest, ObjectivesChangeInMidRun) {
  std::vector<std::vector<ServiceView>> windows;
  const std::filesystem::path run =
      Run(Config("", {"trials=1", "services.window_s=0.05", "workload.net.sla_ms=70",
                      "trace.changes=[{ at_s = 0.12, sla_ms = 40 }, { at_s = 0.06, sla_ms = 50 },"
                      " { at_s = 99, sla_ms = 1 }]"}),
          nullptr, [&](const std::string&) { return std::make_unique<Listening>(&windows); });
  ASSERT_EQ(windows.size(), 4U);
  std::vector<double> objectives_ms;
  for (const auto& services : windows)
    objectives_ms.push_back(ToSeconds(services[0].objective) * 1e3);
  EXPECT_EQ(objectives_ms, (std::vector<double>{70, 50, 40, 40}));
  EXPECT_EQ(ReadText(CellFolder(run, {"strict"}) / "objectives.csv"),
            "time,service,sla_ms,window_s\n0.000000,net,70.000,0.050000\n"
            "0.060000,net,50.000,0.050000\n0.120000,net,40.000,0.050000\n");
  // Answered at 50, 80, 110, 140 and 170 ms after they were due, at 50, 100, … 250 ms: the first
  // one is in its time, those of 80 and 110 ms are above 70, and those above 40.
  const ServiceSummary net = Only(run, {"strict"});
  EXPECT_EQ(net.windows, 5);
  EXPECT_EQ(net.violated, 4);
  EXPECT_EQ(net.windows_of_10, 0);
  EXPECT_NEAR(*net.worst_window_ms, 170, 1e-3);
  const std::string decisions = ReadText(CellFolder(run, {"strict"}) / "decisions.csv");
  EXPECT_NE(decisions.find("0.060000,objective-changed 0"), std::string::npos) << decisions;
}

// One queue of which a server takes what it has room for is the queue that it would have itself.
TEST_F(ServiceHarnessTest, AFrontQueueMakesNobodyWaitLonger) {
  std::vector<std::string> answers;
  for (const std::string in_flight : {"1000", "1"}) {
    const std::filesystem::path run =
        Run(Config("work = { distribution = \"exponential\", mean = 0.5 }\n",
                   {"trials=1", "trace.requests.0.count=200", "services.in_flight=" + in_flight,
                    "trace.requests.0.gap={ distribution = 'exponential', mean_s = 0.05 }"}));
    RowReader<RequestRow> rows(CellFolder(run, {"strict"}), &RequestRow::request_id,
                               &RequestRow::finished, &RequestRow::dispatched,
                               &RequestRow::started);
    std::string& all = answers.emplace_back();
    int waited = 0;
    while (const RequestRow* row = rows.Next()) {
      all += fmt::format("{} {:.6f}\n", row->request_id, double(row->finished.value()));
      waited += double(row->started.value()) - double(row->dispatched.value()) > 1e-6 ? 1 : 0;
    }
    EXPECT_EQ(waited > 0, in_flight == "1000") << waited << " waited at the server";
  }
  EXPECT_FALSE(answers[0].empty());
  EXPECT_EQ(answers[0], answers[1]);
}

TEST_F(ServiceHarnessTest, InstancesOnNodesShareOneQueue) {
  const std::filesystem::path run =
      Run(Config("", {"trials=1", "policies=['static-shares']", "machine.nodes=2",
                      "workload.net.per_node=true", "workload.net.cores.max=1"}));
  // Each has a core, on which a request takes 100 ms: at 0 and 20 ms both begin one, and so on.
  const ServiceSummary net = Only(run, {"static-shares"});
  EXPECT_EQ(net.served, 5);
  EXPECT_NEAR(*net.mean_latency_ms, (100 + 100 + 160 + 160 + 220) / 5.0, 1e-3);
  const CellSummary cell = Summarize(run, {"static-shares"});
  EXPECT_EQ(cell.finished, 2) << "instances";
  // To the one with fewest, then to the one that waited longest, then to the first.
  RowReader<RequestRow> rows(CellFolder(run, {"static-shares"}), &RequestRow::request_id,
                             &RequestRow::job_id);
  std::map<int64_t, int64_t> server_of;
  while (const RequestRow* row = rows.Next()) server_of[row->request_id] = row->job_id.value();
  EXPECT_EQ(server_of, (std::map<int64_t, int64_t>{{0, 0}, {1, 1}, {2, 0}, {3, 1}, {4, 0}}));
  EXPECT_NEAR(cell.makespan_s, 0.3, 1e-6);
}

// Gives each instance its node, and takes half of it from the first one, which is too slow to
// leave.
class OneInstanceDies final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event& event) override {
    Allocation allocation;
    for (const JobView& job : view.jobs.Waiting()) allocation.jobs[job.id] = cosched::Run{2, {}};
    if (std::holds_alternative<WindowOver>(event) && !std::exchange(shrunk_, true))
      allocation.jobs[JobId{0}] = cosched::Run{1, {}};
    return allocation;
  }

 private:
  bool shrunk_ = false;
};

TEST_F(ServiceHarnessTest, TheQueueOutlivesAServer) {
  resize_s_ = 10;  // Far beyond the revocation deadline.
  HarnessResult result;
  const std::filesystem::path run =
      Run(Config("", {"trials=1", "policies=['static-shares']", "machine.nodes=2",
                      "services.window_s=0.1", "workload.net.per_node=true",
                      "machine.topology='pack:1 core:4 pu:1'", "services.in_flight=1",
                      "trace.requests.0.count=20"}),
          &result, [](const std::string&) { return std::make_unique<OneInstanceDies>(); });
  EXPECT_EQ(result.with_failures, 1);
  const ServiceSummary net = Only(run, {"static-shares"});
  EXPECT_EQ(net.requests, 20);
  EXPECT_EQ(net.dropped, 1) << "what the dead one had; the other one answers the rest";
  EXPECT_EQ(net.served, 19);
}

TEST_F(ServiceHarnessTest, RecordsAreEqualToTheByteWhateverRunsBeside) {
  const ExperimentConfig config =
      Config("work = { distribution = \"exponential\", mean = 0.5 }\n",
             {"policies=['no-control', 'equal-share', 'round-robin']", "trace.requests.0.count=300",
              "trace.requests.0.gap={ distribution = 'exponential', mean_s = 0.05 }", "trials=4"});
  const Plan plan = MakePlan(config);
  EXPECT_NE(plan.requests[0][1].time, plan.requests[1][1].time) << "trials differ";
  const auto run_cells = [&](const std::vector<CellKey>& cells, const std::string& folder) {
    RunCells(config, plan, cells,
             {.run = folder_.path() / folder,
              .topology = *config.topology,
              .hosts = SimulatedHosts(config)});
  };
  run_cells(plan.cells, "one");
  std::vector<std::thread> threads;
  for (size_t worker = 0; worker < 3; ++worker) {
    threads.emplace_back([&, worker] {
      std::vector<CellKey> mine;
      for (size_t i = worker; i < plan.cells.size(); i += 3)
        mine.insert(mine.begin(), plan.cells[i]);
      run_cells(mine, "many");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const CellKey& key : plan.cells) {
    for (const char* file : {"requests.csv", "jobs.csv", "decisions.csv", "cell.json"}) {
      const std::string text = ReadText(CellFolder(folder_.path() / "one", key) / file);
      EXPECT_EQ(text, ReadText(CellFolder(folder_.path() / "many", key) / file)) << ToString(key);
      EXPECT_FALSE(text.empty());
    }
  }
}

TEST_F(ServiceHarnessTest, WrongInputIsRefusedWithItsKey) {
  const auto refused = [this](const std::string& rest, const std::vector<std::string>& overrides) {
    try {
      Config(rest, overrides);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << rest << " is accepted";
    return InputErrorDetails{};
  };
  EXPECT_EQ(refused("", {"workload.net.steps=5"}).key, "workload.net.steps");
  EXPECT_EQ(refused("", {"workload.net.weight=5"}).key, "workload.net.weight");
  EXPECT_EQ(refused("", {"workload.net.mode=train"}).key, "workload.net.slo_ms");
  EXPECT_EQ(refused("", {"workload.net.slo_ms=0"}).key, "workload.net.slo_ms");
  EXPECT_EQ(refused("", {"workload.net.model=chaos"}).key, "workload.net.mode");
  EXPECT_EQ(refused("", {"workload.net.mode=answer"}).key, "workload.net.mode");
  EXPECT_EQ(refused("", {"trace.jobs=5"}).key, "trace.jobs");
  EXPECT_EQ(refused("service = \"nut\"\n", {}).key, "trace.requests.0.service");
  EXPECT_EQ(refused("work = -1\n", {}).key, "trace.requests.0.work");
  EXPECT_EQ(refused("work = { distribution = \"zipf\" }\n", {}).key,
            "trace.requests.0.work.distribution");
  EXPECT_EQ(refused("[[trace.requests]]\n", {}).key, "trace.requests.1.count");
  EXPECT_EQ(refused("", {"policies=['strict', 'sjf']"}).key, "policies.1");
  EXPECT_EQ(refused("", {"services.window_s=0"}).key, "services.window_s");
  EXPECT_EQ(refused("", {"services.in_flight=0"}).key, "services.in_flight");
  EXPECT_EQ(refused("", {"policies=['roma-ct']"}).key, "policies.0") << "no sla_ms";
  EXPECT_EQ(refused("", {"trace.changes=[{ at_s = 1 }]"}).key, "trace.changes.0.sla_ms");
  EXPECT_EQ(refused("", {"trace.changes=[{ sla_ms = 1 }]"}).key, "trace.changes.0.at_s");
  EXPECT_EQ(refused("", {"trace.changes=[{ at_s = 1, sla_ms = 1, service = 'nut' }]"}).key,
            "trace.changes.0.service");
  EXPECT_EQ(refused("", {"workload.net.sla_ms=0"}).key, "workload.net.sla_ms");
  EXPECT_EQ(refused("", {"workload.net.per_node=true", "machine.nodes=2"}).key, "policies.0");
  EXPECT_EQ(refused("", {"workload.net.max_batch=0"}).key, "workload.net.max_batch");
  EXPECT_EQ(refused("", {"workload.net.max_batch=4"}).key, "workload.net.batch") << "it is 1";
  EXPECT_EQ(refused("", {"workload.net.max_delay_ms=-1"}).key, "workload.net.max_delay_ms");
  EXPECT_EQ(refused("[[workload]]\nname = \"job\"\nmodel = \"lenet5\"\nmax_batch = 1\n", {}).key,
            "workload.job.max_batch");
}

}  // namespace
}  // namespace cosched
