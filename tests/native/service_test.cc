// A real model behind a real socket: every request is answered, dropped only with its service, and
// kept while this is paused.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <vector>

#include "experiments/analysis/metrics.h"
#include "experiments/harness/harness.h"
#include "experiments/hosts/podman.h"
#include "experiments/launch/run_folder.h"
#include "experiments/os/cgroup.h"
#include "tests/experiments/hosts/process_host_fixture.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/native/real_tenant_fixture.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Of all threads of a process, how often they went to sleep by themselves.
int64_t Sleeps(pid_t process) {
  int64_t sum = 0;
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::ifstream status(task.path() / "status");
    constexpr std::string_view kKey = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(kKey)) sum += std::stoll(line.substr(kKey.size()));
  }
  return sum;
}

class ServiceTest : public RealTenantTest {
 protected:
  void Serve(Elasticity elasticity = Elasticity::kMalleable, const std::string& model = "lenet5") {
    TenantSpec spec;
    spec.model = model;
    spec.mode = Mode::kInfer;
    spec.batch = 4;
    spec.steps = 0;
    spec.serves = true;
    Start(spec, elasticity, DefaultSplit(cores_.Count()));
  }
  void Ask(int count) {
    for (int i = 0; i < count; ++i) {
      const TimePoint now = Host().GetClock().Now();
      Host().Send(job_, {.id = next_id_++, .scheduled = now});
    }
  }
  // Nothing if the time is up.
  std::optional<HostEvent> Next(Duration patience) {
    const TimePoint deadline = Host().GetClock().Now() + patience;
    while (Host().GetClock().Now() < deadline) {
      std::optional<HostEvent> event = Host().NextEvent(deadline);
      Collect();
      if (event) return event;
    }
    return std::nullopt;
  }
  void Collect() {
    for (const RequestSample& sample : Host().TakeRequests()) answered_.push_back(sample);
  }
  void ExpectAnswered(size_t count) {
    for (int i = 0; i < 1000 && answered_.size() < count; ++i) ASSERT_FALSE(Next(milliseconds(20)));
    EXPECT_EQ(answered_.size(), count);
  }
  void ExpectSettledService() {
    const std::optional<HostEvent> event = Next(seconds(60));
    ASSERT_TRUE(event) << "nothing happened";
    if (const auto* failed = std::get_if<HostFailed>(&*event)) FAIL() << failed->reason;
    ASSERT_TRUE(std::holds_alternative<HostSettled>(*event));
  }

  int64_t next_id_ = 0;
  std::vector<RequestSample> answered_;
};

// Waking up costs CPU time, which a small quota has little of; what is bound looks 250 times a
// second where it may run. A slow machine makes it fewer.
TEST_F(ServiceTest, OneWithAShareThatIsAskedNothingSleeps) {
  if (!Cgroup::Probe().quota) GTEST_SKIP() << Cgroup::Probe().why_not;
  options_.shares = true;
  options_.cores = cores_;
  TenantSpec spec;
  spec.model = "lenet5";
  spec.mode = Mode::kInfer;
  spec.batch = 1;
  spec.serves = true;
  Job job;
  job.id = job_;
  job.request = {1, 1, 1};
  job.elasticity = Elasticity::kMalleable;
  Host().Describe(job_, spec);
  Host().Start(job, Place{cores_, CpuShare{500}, {1, 1}});
  ExpectSettledService();
  const std::vector<pid_t> tenants = LivingChildrenOf(getpid());
  ASSERT_EQ(tenants.size(), 1u);
  EXPECT_FALSE(Next(seconds(1)));  // Until nothing of its start is left.
  const int64_t before = Sleeps(tenants.front());
  EXPECT_FALSE(Next(seconds(2)));
  const int64_t sleeps = Sleeps(tenants.front()) - before;
  EXPECT_GT(sleeps, 0);
  EXPECT_LT(sleeps, 150);
}

TEST_F(ServiceTest, AnswersEveryRequestOnceAndEndsWhenItIsDrained) {
  Serve();
  Ask(10);  // The service is not up yet: they wait with the host.
  ExpectSettledService();
  ExpectAnswered(10);
  Ask(50);
  Host().Drain(job_);
  const std::optional<HostEvent> event = Next(seconds(60));
  ASSERT_TRUE(event && std::holds_alternative<HostFinished>(*event));
  std::set<int64_t> ids;
  for (const RequestSample& sample : answered_) {
    ids.insert(sample.id);
    EXPECT_LE(sample.scheduled, sample.received);
    EXPECT_LE(sample.received, sample.started);
    EXPECT_LE(sample.started, sample.finished);
    EXPECT_GE(sample.batch, 1);
    EXPECT_LE(sample.batch, 4);
  }
  EXPECT_EQ(ids.size(), 60u);
  EXPECT_EQ(answered_.size(), 60u);
}

TEST_F(ServiceTest, APausedOneKeepsItsQueueAndAResizedOneAnswers) {
  Serve();
  ExpectSettledService();
  Host().Pause(job_);
  ExpectSettledService();
  Ask(20);
  EXPECT_FALSE(Next(milliseconds(1200)));
  EXPECT_TRUE(answered_.empty());
  for (const CpuSet& cores : {one_, cores_, one_}) {
    Host().Grant(job_, Place::Whole(cores, DefaultSplit(cores.Count())));
    ExpectSettledService();
    Ask(10);
  }
  ExpectAnswered(50);
  Host().Stop(job_);
}

TEST_F(ServiceTest, AnswersWakeThoseWhoWaitForThem) {
  Serve();
  ExpectSettledService();
  Host().WakeAtAnswers(true);
  Ask(1);
  EXPECT_FALSE(Host().NextEvent(Host().GetClock().Now() + seconds(60)));
  EXPECT_EQ(Host().TakeRequests().size(), 1u) << "the time was up, or it came for nothing";
  Host().Stop(job_);
}

TEST_F(ServiceTest, ARigidOneIsStoppedWithItsRequests) {
  Serve(Elasticity::kRigid);
  ExpectSettledService();
  Host().Pause(job_);
  ExpectSettledService();
  Ask(20);
  EXPECT_FALSE(Next(milliseconds(200)));
  EXPECT_TRUE(answered_.empty());
  Host().Grant(job_, Place::Whole(one_, {1, 1}));
  ExpectSettledService();
  ExpectAnswered(20);
  Host().Stop(job_);
}

TEST_F(ServiceTest, UnknownModelIsItsFailureWithTheReason) {
  Serve(Elasticity::kMalleable, "nope");
  const std::optional<HostEvent> event = Next(seconds(60));
  ASSERT_TRUE(event && std::holds_alternative<HostFailed>(*event));
  EXPECT_NE(std::get<HostFailed>(*event).reason.find("nope"), std::string::npos);
}

// The example, run as `cosched run` does, and its records checked.
void ExpectExampleRuns(const std::string& backend) {
  const Topology here = Topology::ThisMachine();
  const TemporaryFolder folder;
  const Sweep sweep =
      SinglePoint(LoadConfig(InSource("experiments/examples/services_hardware.toml"),
                             {"trials=1", "policies=['equal-share']", "trace.requests.0.count=200",
                              "trace.jobs=1", "backend='" + backend + "'"},
                             here));
  const ExperimentConfig& config = sweep.points.front().config;
  RunFolder run = RunFolder::Create(
      folder.path(), sweep, {.topology = here, .command_line = "a test", .scheduling = "none"});
  const Plan& plan = sweep.points.front().plan;
  const HarnessResult result = RunCells(
      config, plan, plan.cells,
      {.run = run.path(), .topology = here, .hosts = HostsOf(CoschedBinary(), here, config)});
  EXPECT_EQ(result.done, 1);
  WriteSummary(run.path());
  run.Finish("done");
  const CellSummary cell = Summarize(run.path(), plan.cells.front());
  ASSERT_EQ(cell.services.size(), 1u);
  EXPECT_EQ(cell.services[0].served, 200);
  EXPECT_EQ(cell.services[0].dropped, 0);
  const std::string said = (folder.path() / "check.txt").string();
  const std::string check = fmt::format("python3 {} {} > {}", InSource("tests/check_results.py"),
                                        run.path().string(), said);
  EXPECT_EQ(std::system(check.c_str()), 0) << ReadText(said).substr(0, 5000);
}

TEST(ServiceExampleTest, RunsOnHardware) {
  if (Topology::ThisMachine().OneThreadPerCore().Count() < 2) GTEST_SKIP() << "needs two cores";
  ExpectExampleRuns("hardware");
}

TEST(ServiceExampleTest, RunsInContainers) {
  if (const std::string why_not = WhyNoContainers(); !why_not.empty()) GTEST_SKIP() << why_not;
  if (Topology::ThisMachine().OneThreadPerCore().Count() < 2) GTEST_SKIP() << "needs two cores";
  ExpectExampleRuns("container");
}

// With few requests, all of which are there at the end.
TEST(ServiceExampleTest, TheBenchmarkOfThePathRuns) {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "out").string();
  const std::string command = std::string(CoschedBinary()) +
                              " bench serve --rate 500,1000 --seconds 0.2 --max-batch 8 > " + out;
  EXPECT_EQ(std::system(command.c_str()), 0);
  const std::string text = ReadText(out);
  EXPECT_NE(text.find("requests/s there and back, 8 in a packet"), std::string::npos) << text;
  EXPECT_NE(text.find("answered/s"), std::string::npos) << text;
  // Each row judges the service and the generator; the last line says what follows from all rows.
  std::istringstream lines(text);
  std::string last;
  int judged = 0;
  for (std::string line; std::getline(lines, line); last = line)
    judged += line.find("answered, generator ") != std::string::npos ? 1 : 0;
  EXPECT_EQ(judged, 2) << text;
  EXPECT_TRUE(last.starts_with("highest rate that was answered") ||
              last.starts_with("no rate was answered"))
      << last;
}

// What the only cell of an experiment on one core has of its only service.
ServiceSummary RunOnOneCore(const std::string& text, const std::function<bool()>& interrupted,
                            HarnessResult* result) {
  const Topology here = Topology::ThisMachine();
  const TemporaryFolder folder;
  WriteText(folder.path() / "x.toml", "name = \"x\"\ntrials = 1\nmachine = { cores = 1 }\n" + text);
  const ExperimentConfig config = LoadConfig(folder.path() / "x.toml", {}, here);
  const Plan plan = MakePlan(config);
  *result = RunCells(config, plan, plan.cells,
                     {.run = folder.path() / "run",
                      .topology = here,
                      .hosts = HostsOf(CoschedBinary(), here, config),
                      .interrupted = interrupted});
  const CellSummary cell = Summarize(folder.path() / "run", plan.cells.front());
  EXPECT_EQ(cell.services.size(), 1u);
  return cell.services.empty() ? ServiceSummary() : cell.services.front();
}

// Windows are closed meanwhile, in which every instance is asked what it used.
TEST(ServiceExampleTest, ADeviceAnswersForInstancesThatNeverStart) {
  const std::string profile = InSource("experiments/profiles/device_example.json");
  HarnessResult result;
  const ServiceSummary service = RunOnOneCore(
      fmt::format(R"(policies = ["devices-only"]
services = {{ window_s = 0.1 }}
[[device]]
name = "accelerator"
profile = "{}"
[[workload]]
model = "lenet5"
mode = "serve"
sla_ms = 100
[trace]
[[trace.requests]]
count = 20
gap = {{ distribution = "fixed", mean_s = 0.05 }}
)",
                  profile),
      [] { return false; }, &result);
  EXPECT_EQ(result.with_failures, 0);
  EXPECT_EQ(service.served, 20);
  EXPECT_GT(service.windows, 5);
}

// The service is killed in the middle: what it had not answered, and what is to come, is dropped.
TEST(ServiceExampleTest, AKilledServiceDropsWhatItHad) {
  bool killed = false;
  const auto begin = std::chrono::steady_clock::now();
  const auto kill_after_a_second = [&] {  // Asked after every event.
    if (!killed && std::chrono::steady_clock::now() - begin > seconds(1)) {
      killed = true;
      for (const pid_t pid : LivingChildrenOf(getpid())) kill(pid, SIGKILL);
    }
    return false;
  };
  HarnessResult result;
  const ServiceSummary service = RunOnOneCore(R"(policies = ["strict"]
[[workload]]
model = "lenet5"
mode = "serve"
max_batch = 1
[trace]
[[trace.requests]]
count = 400
gap = { distribution = "fixed", mean_s = 0.005 }
)",
                                              kill_after_a_second, &result);
  EXPECT_TRUE(killed);
  EXPECT_EQ(result.with_failures, 1);
  EXPECT_EQ(service.requests, 400);
  EXPECT_GT(service.dropped, 0);
  EXPECT_EQ(service.served + service.dropped, 400);
}

}  // namespace
}  // namespace cosched
