// A simulated service, driven by an open-loop stream of requests through the arbiter's seam,
// against the closed forms of its queue (Kleinrock, "Queueing Systems" I, 1975).

#include <functional>

#include "tests/fidelity/simulation.h"

namespace cosched {
namespace {

constexpr int kReplications = 20;
constexpr int kRequests = 10000;
constexpr int kWarmUp = 1000;

// Starts what waits with a split of one thread for each core.
class Serving final : public Policy {
 public:
  explicit Serving(Split split) : split_(split) {}
  Allocation Decide(const MachineView& view, const Event&) override {
    Allocation allocation;
    for (const JobView& job : view.jobs.Waiting())
      allocation.jobs[job.id] = cosched::Run{.cores = view.cores.Count(), .split = split_};
    return allocation;
  }

 private:
  const Split split_;
};

std::vector<RequestSample> Serve(int servers, double rate,
                                 const std::function<double(Random*)>& work, uint64_t seed,
                                 int batch = 1, Profile profile = PerfectProfile()) {
  const Topology machine = Topology::Synthetic("pack:1 core:" + std::to_string(servers) + " pu:1");
  SimulatedHost host({.profile = std::make_shared<const Profile>(std::move(profile)),
                      .model = {.charge = SimulationSettings::Charge::kNone},
                      .steps = false});
  Serving policy({servers, 1});
  Lives lives;
  Arbiter arbiter(policy, false, host, machine, machine.Cpus(), lives);
  TenantSpec spec;
  spec.model = "lenet5";
  spec.batch = batch;
  spec.serves = true;
  host.Describe(JobId{0}, spec);
  arbiter.Submit({.id = {0}, .workload = "service", .request = {1, servers, servers}});
  Random gaps = Random(seed).Derive("gaps"), works = Random(seed).Derive("work");
  TimePoint next;
  for (int64_t sent = 0; sent < kRequests;) {
    const std::optional<HostEvent> event = host.NextEvent(next);
    if (event) {
      arbiter.Handle(*event);
      continue;
    }
    host.Send(JobId{0}, {.id = sent++, .scheduled = next, .work = work(&works) * kStepsPerUnit});
    next += FromSeconds(gaps.Exponential(1 / rate));
  }
  std::vector<RequestSample> answers;
  while (answers.size() < kRequests) {
    if (const auto event = host.NextEvent(host.Now() + std::chrono::seconds(10)))
      arbiter.Handle(*event);
    for (const RequestSample& request : host.TakeRequests()) answers.push_back(request);
  }
  return answers;
}

std::vector<double> MeanResponses(int servers, double rate,
                                  const std::function<double(Random*)>& work, int first) {
  std::vector<double> means;
  for (int seed = first; seed < first + kReplications; ++seed) {
    double sum = 0;
    for (const RequestSample& request : Serve(servers, rate, work, static_cast<uint64_t>(seed))) {
      if (request.id >= kWarmUp) sum += ToSeconds(request.finished - request.scheduled);
    }
    means.push_back(sum / (kRequests - kWarmUp));
  }
  return means;
}

double Exponential(Random* random) { return random->Exponential(1); }
double Constant(Random*) { return 1; }

TEST(Services, MM1) {
  ExpectMean("service M/M/1, 1/(mu - lambda)", 1 / (1 - 0.6),
             MeanResponses(1, 0.6, Exponential, 600));
}

TEST(Services, MD1) {
  ExpectMean("service M/D/1, 1/mu + rho/(2 mu (1 - rho))", 1 + 0.6 / (2 * 0.4),
             MeanResponses(1, 0.6, Constant, 700));
}

TEST(Services, MM2) {
  // 1 / (mu (1 - rho^2)) for two servers.
  ExpectMean("service M/M/2, 1/(mu (1 - rho^2))", 1 / (1 - 0.7 * 0.7),
             MeanResponses(2, 1.4, Exponential, 800));
}

// A request alone takes a second, four together two, and so do three: their batch is padded.
TEST(Services, BatchesAreAsFastAsTheProfileSays) {
  Profile profile = PerfectProfile();
  profile.programs.push_back(profile.programs[0]);
  profile.programs[1].program = "lenet5 train batch 4";
  const double step = 2 / kStepsPerUnit;
  profile.programs[1].alone = {{1, {1, 1}, {step, step, step, 1}}};
  // Far more requests than can be answered one by one, so that batches are full; but the first one
  // comes to an idle server and goes alone, and three are left over at the end.
  static_assert((kRequests - 1) % 4 == 3);
  const std::vector<RequestSample> answers = Serve(1, 100, Constant, 1, 4, profile);
  Duration last{0};
  for (const RequestSample& request : answers)
    last = std::max(last, request.finished.time_since_epoch());
  const int full = (kRequests - 1) / 4;
  ExpectExactly("10,000 requests in batches of four", 1 + 2 * full + 2, ToSeconds(last), 1e-5);
}

// What a request costs in looks at services, of so many that serve on a core each.
double TouchesPerRequest(int services) {
  constexpr int kSent = 200;
  SimulatedHost host({.profile = std::make_shared<const Profile>(PerfectProfile()),
                      .model = {.charge = SimulationSettings::Charge::kNone},
                      .steps = false});
  TenantSpec spec;
  spec.model = "lenet5";
  spec.batch = 1;
  spec.serves = true;
  for (int i = 0; i < services; ++i) {
    host.Describe(JobId{i}, spec);
    host.Start({.id = {i}, .workload = "service", .request = {1, 1, 1}},
               Place::Whole(CpuSet{i}, {1, 1}));
  }
  while (host.NextEvent(host.Now() + std::chrono::seconds(1))) continue;  // All are ready.
  const int64_t before = host.ServiceTouches();
  for (int i = 0; i < kSent; ++i) {
    host.Send(JobId{i % services},
              {.id = i, .scheduled = host.Now(), .work = 0.001 * kStepsPerUnit});
    host.NextEvent(host.Now() + std::chrono::milliseconds(10));
    EXPECT_EQ(host.TakeRequests().size(), 1U);
  }
  return static_cast<double>(host.ServiceTouches() - before) / kSent;
}

TEST(Services, AnEventLooksOnlyAtTheServiceThatItConcerns) {
  for (const int services : {1, 10, 1000}) {
    const double touches = TouchesPerRequest(services);
    std::printf("%d services: %g looks a request\n", services, touches);
    EXPECT_LE(touches, 2);  // A request comes, and is answered.
  }
}

}  // namespace
}  // namespace cosched
