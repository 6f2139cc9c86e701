// Agents of this machine, each with fake tenants: what a host of several nodes does as one of one
// node would, and what becomes of jobs, agents and harness when one of them goes.

#include "experiments/hosts/cluster_host.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "experiments/hosts/host_protocol.h"
#include "experiments/hosts/node_agent.h"
#include "experiments/wire/frame_socket.h"
#include "tests/experiments/hosts/cluster_fixture.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class ClusterHostTest : public testing::Test {
 protected:
  ClusterHostTest() : cores_(Topology::ThisMachine().Cpus().Lowest(2)) {}
  void SetUp() override {
    if (cores_.Count() < 2) GTEST_SKIP() << "needs two cores";
  }
  // Whatever the test did.
  void TearDown() override {
    host_.reset();
    EXPECT_TRUE(LivingChildrenOf(getpid()).empty()) << "agents are left";
  }

  ClusterHost& Host() {
    if (!host_) host_ = std::make_unique<ClusterHost>(options_);
    return *host_;
  }
  void OneNode() { options_.nodes = {{"n0", cores_}}; }
  CpuSet Core(size_t node) const { return CpuSet{cores_.ToVector().at(node)}; }

  JobId Start(const std::string& behaviour, const CpuSet& cores, int64_t steps = kForever) {
    Job job;
    job.id = JobId{next_job_++};
    job.request = {1, cores_.Count(), cores_.Count()};
    TenantSpec spec;
    spec.model = behaviour;
    spec.steps = steps;
    Host().Describe(job.id, spec);
    Host().Start(job, Place::Whole(cores, DefaultSplit(cores.Count())));
    return job.id;
  }
  std::optional<HostEvent> Next(Duration patience = seconds(60)) {
    const TimePoint deadline = Host().GetClock().Now() + patience;
    while (true) {
      std::optional<HostEvent> event = Host().NextEvent(deadline);
      if (event || Host().GetClock().Now() >= deadline) return event;
    }
  }
  void ExpectSettled(JobId job) {
    const std::optional<HostEvent> event = Next();
    ASSERT_TRUE(event) << "nothing happened";
    if (const auto* failed = std::get_if<HostFailed>(&*event)) FAIL() << failed->reason;
    ASSERT_TRUE(std::holds_alternative<HostSettled>(*event));
    EXPECT_EQ(std::get<HostSettled>(*event).job, job);
  }
  std::string Failure(JobId job) {
    const std::optional<HostEvent> event = Next();
    if (!event) return "nothing happened";
    const auto* failed = std::get_if<HostFailed>(&*event);
    if (failed == nullptr) return "no failure";
    EXPECT_EQ(failed->job, job);
    return failed->reason;
  }
  std::string WhyNone() {
    try {
      Host();
    } catch (const InputError& error) {
      return error.what();
    }
    return "it is there";
  }

  const TemporaryFolder folder_;
  const CpuSet cores_;
  ClusterHost::Options options_ = ClusterOptions(folder_.path(), OneCoreNodes(cores_));

 private:
  std::unique_ptr<ClusterHost> host_;
  int64_t next_job_ = 1;
};

TEST_F(ClusterHostTest, AJobRunsWhereItsCoresAre) {
  const JobId first = Start("obedient", Core(0)), second = Start("obedient", Core(1));
  std::set<JobId> settled;
  for (int i = 0; i < 2; ++i) {
    const auto event = Next();
    ASSERT_TRUE(event && std::holds_alternative<HostSettled>(*event));
    settled.insert(std::get<HostSettled>(*event).job);
  }
  EXPECT_EQ(settled, (std::set<JobId>{first, second}));
  for (const size_t node : {0, 1}) {
    const std::vector<pid_t> tenants = TenantsOf(AgentOfNode("n" + std::to_string(node)));
    ASSERT_EQ(tenants.size(), 1U);
    EXPECT_EQ(UnionOfBindings(tenants.front(), false), Core(node));
  }
}

TEST_F(ClusterHostTest, JobsOfAllNodesFinish) {
  const JobId first = Start("obedient", Core(0), 300), second = Start("obedient", Core(1), 50);
  std::set<JobId> settled, finished;
  for (int i = 0; i < 4; ++i) {
    const auto event = Next();
    ASSERT_TRUE(event);
    if (const auto* const one = std::get_if<HostSettled>(&*event)) settled.insert(one->job);
    if (const auto* const one = std::get_if<HostFinished>(&*event)) finished.insert(one->job);
  }
  EXPECT_EQ(settled, (std::set<JobId>{first, second}));
  EXPECT_EQ(finished, settled);
  for (const JobId job : {first, second}) EXPECT_EQ(Host().Progress(job), 1.0);
}

TEST_F(ClusterHostTest, StepsAndSamplesAreInTheCellsTime) {
  const JobId job = Start("obedient", Core(1), 50);
  ExpectSettled(job);
  const std::vector<TenantSample> samples = Host().Sample();
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].job, job);
  EXPECT_EQ(samples[0].granted, Core(1));
  const auto finished = Next();
  ASSERT_TRUE(finished && std::holds_alternative<HostFinished>(*finished));
  const std::vector<StepSample> steps = Host().TakeSteps();
  ASSERT_EQ(steps.size(), 50U);
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].step, static_cast<int64_t>(i));
    EXPECT_GT(steps[i].finished, TimePoint());
    EXPECT_LE(steps[i].finished, Host().GetClock().Now());
    EXPECT_GE(steps[i].finished, steps[i > 0 ? i - 1 : 0].finished);
  }
  EXPECT_GT(samples[0].time, TimePoint());
  EXPECT_LT(samples[0].time, steps.back().finished);
  EXPECT_TRUE(Host().TakeSteps().empty());
  EXPECT_EQ(Host().Sample().size(), 1U) << "the last of one that is gone";
  EXPECT_TRUE(Host().Sample().empty());
}

TEST_F(ClusterHostTest, GrantsAndPausesAreFollowed) {
  OneNode();
  const JobId job = Start("obedient", cores_);
  ExpectSettled(job);
  const pid_t tenant = TenantsOf(AgentOfNode("n0")).at(0);
  for (const CpuSet& cores : {Core(0), cores_, Core(1)}) {
    Host().Grant(job, Place::Whole(cores, DefaultSplit(cores.Count())));
    ASSERT_NO_FATAL_FAILURE(ExpectSettled(job));
    EXPECT_EQ(UnionOfBindings(tenant, false), cores);
  }
  Host().Pause(job);
  ASSERT_NO_FATAL_FAILURE(ExpectSettled(job));
  EXPECT_FALSE(Next(kOffItsCore));
  const Duration paused = RunTime(tenant);
  EXPECT_FALSE(Next(milliseconds(100)));
  EXPECT_EQ(RunTime(tenant), paused);
  Host().Grant(job, Place::Whole(Core(0), {1, 1}));
  ASSERT_NO_FATAL_FAILURE(ExpectSettled(job));
  EXPECT_EQ(Host().TakeActuations().size(), 5U);
  Host().Stop(job);
  EXPECT_TRUE(IsGone(tenant));
  EXPECT_FALSE(Next(milliseconds(50)));
}

// However many of them are on their way.
TEST_F(ClusterHostTest, OnlyTheLatestGrantSettles) {
  OneNode();
  const JobId job = Start("obedient", cores_);
  ExpectSettled(job);
  for (int round = 0; round < 20; ++round) {
    Host().Grant(job, Place::Whole(Core(0), {1, 1}));
    // The first is not yet on its way, underway, or done by then: nothing is waited for.
    std::this_thread::sleep_for(milliseconds(round / 4));
    Host().Grant(job, Place::Whole(cores_, {1, 2}));
    ASSERT_NO_FATAL_FAILURE(ExpectSettled(job));
    EXPECT_EQ(UnionOfBindings(TenantsOf(AgentOfNode("n0")).at(0), false), cores_);
    ASSERT_FALSE(Next(milliseconds(10)));
  }
}

TEST_F(ClusterHostTest, ATenantThatDiesIsReported) {
  const JobId job = Start("crash", Core(0));
  EXPECT_THAT(Failure(job), HasSubstr("exited with status 3"));
  Host().Grant(job, Place::Whole(Core(0), {1, 1}));  // As an arbiter that has not heard of it.
  EXPECT_FALSE(Next(milliseconds(50)));
}

TEST_F(ClusterHostTest, AProcessIsOnOneNode) {
  EXPECT_THAT(Failure(Start("obedient", cores_)), HasSubstr("are of several nodes"));
  const JobId job = Start("obedient", Core(0));
  ExpectSettled(job);
  const pid_t tenant = TenantsOf(AgentOfNode("n0")).at(0);
  Host().Grant(job, Place::Whole(Core(1), {1, 1}));
  EXPECT_THAT(Failure(job), HasSubstr("but it runs on node n0"));
  EXPECT_TRUE(IsGone(tenant));
}

TEST_F(ClusterHostTest, AnAgentThatIsKilledTakesOnlyItsJobsWithIt) {
  const JobId lost = Start("obedient", Core(0));
  ExpectSettled(lost);
  const JobId paused = Start("obedient", Core(0));
  ExpectSettled(paused);
  Host().Pause(paused);
  ExpectSettled(paused);
  const JobId kept = Start("obedient", Core(1), 1500);
  ExpectSettled(kept);
  const pid_t agent = AgentOfNode("n0");
  const std::vector<pid_t> tenants = TenantsOf(agent);
  ASSERT_EQ(tenants.size(), 2U);
  kill(agent, SIGKILL);
  EXPECT_THAT(Failure(lost), HasSubstr("the agent of node n0 was lost"));
  EXPECT_THAT(Failure(paused), HasSubstr("the agent of node n0 was lost"));
  for (const pid_t tenant : tenants)
    EXPECT_TRUE(HoldsWithin(seconds(20), [tenant] { return IsGone(tenant); }));
  EXPECT_THAT(Failure(Start("obedient", Core(0))), HasSubstr("was lost before"));
  Host().Stop(lost);
  EXPECT_EQ(Host().Sample().size(), 1U);
  const auto finished = Next();
  ASSERT_TRUE(finished && std::holds_alternative<HostFinished>(*finished));
  EXPECT_EQ(std::get<HostFinished>(*finished).job, kept);
  EXPECT_FALSE(Host().TakeSteps().empty());
  EXPECT_THAT(Host().TakeMarks(), testing::Contains(HasSubstr("node n0 was lost")));
}

// In the middle of a question: an agent that is stopped says nothing.
TEST_F(ClusterHostTest, AnAgentThatDoesNotAnswerIsLost) {
  options_.answer_timeout = seconds(1);
  const JobId job = Start("obedient", Core(0)), kept = Start("obedient", Core(1));
  ASSERT_TRUE(Next() && Next());
  const pid_t agent = AgentOfNode("n0");
  kill(agent, SIGSTOP);
  EXPECT_EQ(Host().Sample().size(), 1U) << "that of the other";
  kill(agent, SIGCONT);
  EXPECT_THAT(Failure(job), HasSubstr("did not answer"));
  Host().Stop(kept);
}

TEST_F(ClusterHostTest, AnAgentThatHangsIsNoticedWithoutAQuestion) {
  options_.answer_timeout = seconds(1);
  const JobId job = Start("obedient", Core(0));
  ASSERT_NO_FATAL_FAILURE(ExpectSettled(job));
  const pid_t agent = AgentOfNode("n0");
  kill(agent, SIGSTOP);
  EXPECT_THAT(Failure(job), HasSubstr("did not answer"));
  kill(agent, SIGCONT);
}

TEST_F(ClusterHostTest, AgentsEndWithTheirHost) {
  const JobId job = Start("obedient", Core(0));
  ExpectSettled(job);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "agents.token"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "node-n0.log"));
  EXPECT_EQ(ReadText(folder_.path() / "node-n0.log"), "");
}

TEST_F(ClusterHostTest, AnAgentThatDoesNotComeIsNamed) {
  options_.nodes[1].launcher = {"false"};
  EXPECT_THAT(WhyNone(), HasSubstr("node n1: its agent ended before it had connected"));
  options_.nodes[1].launcher = {"/no/such/srun"};
  EXPECT_THAT(WhyNone(), HasSubstr("node n1: starting /no/such/srun"));
  for (auto& node : options_.nodes) node.launcher = {"sh", "-c", "exec sleep 1000"};
  options_.connect_timeout = milliseconds(500);
  EXPECT_THAT(WhyNone(), HasSubstr("node n0: its agent did not connect"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "agents.token"));
}

TEST_F(ClusterHostTest, ANodeWithoutTheCoresIsNamed) {
  options_.nodes[1].cores = CpuSet{CpuSet::kMaxCpu};
  EXPECT_THAT(WhyNone(), HasSubstr("node n1: the node is to have cores 4095, but may use"));
}

// It goes on as the agent only if it was turned away, and the file is its user's alone.
TEST_F(ClusterHostTest, WhoDoesNotKnowTheTokenIsTurnedAway) {
  for (auto& node : options_.nodes) node.launcher = {"/proc/self/exe", "impostor"};
  const JobId job = Start("obedient", Core(1));
  ExpectSettled(job);
}

std::vector<pid_t> AllBelow(pid_t process) {
  std::vector<pid_t> found;
  for (const pid_t child : LivingChildrenOf(process)) {
    found.push_back(child);
    for (const pid_t below : AllBelow(child)) found.push_back(below);
  }
  return found;
}

TEST_F(ClusterHostTest, NothingOutlivesAHarnessThatIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t harness = fork();
  if (harness == 0) {
    dup2(ends[1], 1);
    execl("/proc/self/exe", "harness", "cluster-harness", folder_.path().c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  char ready = 0;
  ASSERT_EQ(read(ends[0], &ready, 1), 1);
  close(ends[0]);
  const std::vector<pid_t> all = AllBelow(harness);
  const pid_t agent = AgentOfNode("n0", harness);
  EXPECT_GE(all.size(), 4U) << "two agents, each with a tenant";
  kill(harness, SIGKILL);
  waitpid(harness, nullptr, 0);
  EXPECT_TRUE(HoldsWithin(seconds(20), [&all] {
    return std::all_of(all.begin(), all.end(), [](pid_t process) { return IsGone(process); });
  }));
  EXPECT_GT(agent, 0);
}

// An agent, and what it gets from a harness that is not one.
class NodeAgentTest : public testing::Test {
 protected:
  NodeAgentTest() : listener_(ListenOnTcp(/*local=*/true)) {
    WriteText(folder_.path() / "token", "secret\n");
    pid_ = fork();
    if (pid_ == 0) {
      const std::string address = "127.0.0.1:" + std::to_string(listener_.port);
      const std::string token = folder_.path() / "token";
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, 2);
      execl("/proc/self/exe", "agent", "node", "--connect", address.c_str(), "--token-file",
            token.c_str(), "--name", "n7", nullptr);
      _exit(127);
    }
    UniqueFd fd;
    while (!fd) fd = AcceptTcp(listener_.fd.get());
    socket_ = std::make_unique<FrameSocket>(std::move(fd));
  }
  AgentReport Take() {
    std::string text;
    while (!socket_->Take(&text)) {
      if (socket_->closed()) return EventReport{"closed", {}, socket_->problem(), 0};
      socket_->Receive();
    }
    return *ParseAgentReport(text).message;
  }
  int ExitCode() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void Say(const HostCall& call) { socket_->Send(Encode(call)); }
  void Begin() {
    Take();
    Say(BeginCall{.cores = Topology::ThisMachine().Cpus(),
                  .binary = "/proc/self/exe",
                  .log_directory = {},
                  .run = {},
                  .quota_period = milliseconds(100),
                  .timeouts = {.heartbeat = seconds(10),
                               .start = seconds(10),
                               .settle = seconds(10),
                               .revocation = seconds(1)}});
    EXPECT_EQ(std::get<BegunReport>(Take()).problem, "");
  }

  const TemporaryFolder folder_;
  const TcpListener listener_;
  std::unique_ptr<FrameSocket> socket_;
  pid_t pid_ = -1;
};

TEST_F(NodeAgentTest, SaysWhoItIsAndEndsWithTheConnection) {
  const AgentReport first = Take();
  const auto* hello = std::get_if<HelloReport>(&first);
  ASSERT_NE(hello, nullptr);
  EXPECT_EQ(hello->token, "secret");
  EXPECT_EQ(hello->node, "n7");
  socket_.reset();
  EXPECT_EQ(ExitCode(), 0);
}

TEST_F(NodeAgentTest, EndsWithItsTenants) {
  Begin();
  TenantSpec spec;
  spec.model = "obedient";
  spec.steps = kForever;
  Say(DescribeCall{JobId{1}, spec});
  StartCall start;
  start.job = JobId{1};
  start.place = Place::Whole(Topology::ThisMachine().Cpus().Lowest(1), {1, 1});
  start.order = 1;
  Say(start);
  AgentReport report = Take();
  while (!std::holds_alternative<EventReport>(report)) report = Take();
  EXPECT_EQ(std::get<EventReport>(report).what, "settled");
  const std::vector<pid_t> all = AllBelow(pid_);
  EXPECT_FALSE(TenantsOf(pid_).empty());
  socket_.reset();
  EXPECT_EQ(ExitCode(), 0);
  for (const pid_t process : all) EXPECT_TRUE(IsGone(process));
}

TEST_F(NodeAgentTest, NonsenseEndsIt) {
  Take();
  socket_->Send("{\"type\":\"grant\"}");
  EXPECT_EQ(ExitCode(), 1);
}

TEST_F(NodeAgentTest, NoFrameEndsIt) {
  Take();
  ASSERT_EQ(send(socket_->fd(), "\xFF\xFF\xFF\xFF", 4, 0), 4);
  EXPECT_EQ(ExitCode(), 0) << "as a connection that ended";
}

TEST_F(NodeAgentTest, NothingGoesBeforeTheBeginning) {
  Take();
  Say(DrainCall{JobId{1}});
  EXPECT_EQ(ExitCode(), 1);
}

TEST_F(NodeAgentTest, AJobThatIsNotThereEndsIt) {
  Begin();
  Say(GrantCall{JobId{1}, Place::Paused(), 1});
  EXPECT_EQ(ExitCode(), 1);
}

}  // namespace

// "node --connect A --token-file F --name N", as `cosched node` has it.
int RunTestAgent(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 2; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  return RunNodeAgent({.connect = options["--connect"],
                       .token_file = options["--token-file"],
                       .node = options["--name"]});
}

// "impostor BINARY node --connect A …": tries to be the agent without the token, then becomes it.
int RunImpostor(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 4; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  struct stat file {};
  if (stat(options["--token-file"].c_str(), &file) != 0 || (file.st_mode & 07777) != 0600) return 1;
  const std::vector<std::string> attempts = {
      Encode(HelloReport{.token = "", .node = options["--name"]}),
      Encode(HelloReport{.token = std::string(64, '0'), .node = options["--name"]}),
      Encode(BegunReport{}), "nonsense", std::string(5000, ' ')};
  for (const std::string& attempt : attempts) {
    FrameSocket socket(ConnectTcp(options["--connect"]));
    socket.Send(attempt);
    if (!HoldsWithin(std::chrono::seconds(20), [&socket] {
          socket.Receive();
          return socket.closed();
        }))
      return 1;
  }
  execv(argv[2], argv + 2);
  return 1;
}

int RunClusterHarness(const std::string& folder) {
  const CpuSet cores = Topology::ThisMachine().Cpus().Lowest(2);
  ClusterHost host(ClusterOptions(folder, OneCoreNodes(cores)));
  for (int64_t id = 0; id < cores.Count(); ++id) {
    Job job;
    job.id = JobId{id};
    TenantSpec spec;
    spec.model = "obedient";
    spec.steps = kForever;
    host.Describe(job.id, spec);
    host.Start(job, Place::Whole(CpuSet{cores.ToVector()[static_cast<size_t>(id)]}, {1, 1}));
  }
  for (int settled = 0; settled < cores.Count();) {
    const auto event = host.NextEvent(host.GetClock().Now() + std::chrono::seconds(60));
    if (!event || !std::holds_alternative<HostSettled>(*event)) return 1;
    ++settled;
  }
  std::cout << '!' << std::flush;
  while (true) host.NextEvent(host.GetClock().Now() + std::chrono::seconds(1));
}

}  // namespace cosched
