// The simulator, with all that costs anything off, is a queueing system whose mean values are
// known. Sources: Kleinrock, "Queueing Systems" I, 1975 (M/M/1, M/M/k, M/D/1, M/G/1 processor
// sharing); Little, Operations Research 9(3), 1961.

#include <algorithm>

#include "tests/fidelity/simulation.h"

namespace cosched {
namespace {

constexpr int kReplications = 20;
constexpr int kJobs = 10000;
constexpr int kWarmUp = 1000;  // Jobs that find the system emptier than it is in the long run.

enum class Service { kExponential, kConstant, kHyperexponential };

double Draw(Service service, Random* random) {
  switch (service) {
    case Service::kExponential: return random->Exponential(1);
    case Service::kConstant: return 1;
    // Mean 1, squared coefficient of variation 5.
    case Service::kHyperexponential:
      return random->Uniform() < 0.1 ? random->Exponential(5.5) : random->Exponential(0.5);
  }
  return 1;
}

std::vector<Demand> Poisson(double rate, Service service, uint64_t seed) {
  Random gaps = Random(seed).Derive("gaps");
  Random services = Random(seed).Derive("services");
  std::vector<Demand> stream;
  double time = 0;
  for (int i = 0; i < kJobs; ++i) {
    time += gaps.Exponential(1 / rate);
    stream.push_back({.arrival_s = time, .units = Draw(service, &services)});
  }
  return stream;
}

// Mean turnaround of each replication. first: its seed; others for each question, so that they do
// not err alike.
std::vector<double> Turnarounds(const Simulation& simulation, double rate, Service service,
                                int first) {
  std::vector<double> means;
  for (int seed = first; seed < first + kReplications; ++seed) {
    const std::vector<Lived> lives =
        Simulate(simulation, Poisson(rate, service, static_cast<uint64_t>(seed)));
    double sum = 0;
    for (size_t i = kWarmUp; i < lives.size(); ++i) sum += lives[i].Turnaround();
    means.push_back(sum / (kJobs - kWarmUp));
  }
  return means;
}

TEST(Queues, MM1) {
  const double rate = 0.6;
  ExpectMean("M/M/1 turnaround 1/(mu - lambda)", 1 / (1 - rate),
             Turnarounds({}, rate, Service::kExponential, 100));
}

TEST(Queues, MMk) {
  const int k = 4;
  const double load = 2.8;
  // Erlang's C.
  double sum = 0, term = 1;
  for (int n = 0; n < k; ++n) {
    sum += term;
    term *= load / (n + 1);
  }
  const double waits = term * k / (k - load);
  const double probability = waits / (sum + waits);
  ExpectMean("M/M/4 turnaround 1/mu + C(k, a)/(k mu - lambda)", 1 + probability / (k - load),
             Turnarounds({.cores = k}, load, Service::kExponential, 200));
}

TEST(Queues, MD1) {
  const double rate = 0.6;
  ExpectMean("M/D/1 turnaround 1/mu + rho/(2 mu (1 - rho))", 1 + rate / (2 * (1 - rate)),
             Turnarounds({}, rate, Service::kConstant, 300));
}

// Whatever the distribution of the service, if its mean is the same.
TEST(Queues, MG1ProcessorSharing) {
  const double rate = 0.6;
  const Simulation sharing{.policy = "no-control", .elasticity = Elasticity::kRigid};
  ExpectMean("M/G/1-PS turnaround, hyperexponential, E[S]/(1 - rho)", 1 / (1 - rate),
             Turnarounds(sharing, rate, Service::kHyperexponential, 400));
  ExpectMean("M/G/1-PS turnaround, constant, E[S]/(1 - rho)", 1 / (1 - rate),
             Turnarounds(sharing, rate, Service::kConstant, 500));
}

// An identity, not a mean: jobs in the system, integrated over time, are the sum of turnarounds.
TEST(Queues, LittlesLaw) {
  const std::vector<Lived> lives = Simulate({.cores = 2}, Poisson(1.5, Service::kExponential, 1));
  std::vector<std::pair<double, int>> changes;
  double turnarounds = 0;
  for (const Lived& life : lives) {
    changes.emplace_back(life.submitted, 1);
    changes.emplace_back(life.ended, -1);
    turnarounds += life.Turnaround();
  }
  std::sort(changes.begin(), changes.end());
  double integral = 0, last = 0;
  int jobs = 0;
  for (const auto& [time, change] : changes) {
    integral += jobs * (time - last);
    last = time;
    jobs += change;
  }
  const double span = last;
  const double arrival_rate = static_cast<double>(lives.size()) / span;
  const double mean_turnaround = turnarounds / static_cast<double>(lives.size());
  ExpectExactly("Little's law, L = lambda W", arrival_rate * mean_turnaround, integral / span);
}

}  // namespace
}  // namespace cosched
