#include "experiments/bench/bench_serve.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>

#include "engine/base/error.h"
#include "experiments/analysis/metrics.h"
#include "experiments/harness/harness.h"
#include "experiments/launch/plots.h"
#include "experiments/os/interrupt.h"
#include "experiments/os/realtime.h"
#include "experiments/os/scratch_folder.h"
#include "experiments/os/this_binary.h"
#include "experiments/os/thread_affinity.h"
#include "experiments/records/output_file.h"
#include "experiments/wire/packet_socket.h"
#include "experiments/wire/request_packets.h"
#include "traces/arrivals/request_arrival.h"

namespace cosched {
namespace {

constexpr double kStartSeconds = 1;  // Until the service is up.
// The last answer comes after the last request, which alone makes the rate of answers lower.
constexpr double kAnsweredShare = 0.99;

// Blocks. False if the peer is gone: then a socket can be written to, but nothing arrives.
bool WaitFor(int socket, short event) {
  pollfd descriptor{socket, event, 0};
  const bool ready = poll(&descriptor, 1, -1) > 0;
  return ready && (descriptor.revents & (POLLHUP | POLLERR)) == 0;
}

// Sends `answer` for every packet until the peer is gone.
[[noreturn]] void Echo(int socket, const std::string& answer) {
  std::string text;
  while (WaitFor(socket, POLLIN)) {
    for (Receipt receipt; (receipt = ReceivePacket(socket, &text)) != Receipt::kNothing;) {
      if (receipt != Receipt::kPacket) _exit(0);
      while (!SendPacket(socket, answer)) {
        if (!WaitFor(socket, POLLOUT)) _exit(0);
      }
    }
  }
  _exit(0);
}

// Packets there and back a second, as many under way as the socket holds.
double PingRate(const std::string& question, const std::string& answer, double seconds) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    ours.Reset();
    Echo(theirs.get(), answer);
  }
  theirs.Reset();
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  int64_t back = 0;
  std::string text;
  while (passed() < seconds) {
    while (SendPacket(ours.get(), question)) {
    }
    WaitFor(ours.get(), POLLIN);
    while (ReceivePacket(ours.get(), &text) == Receipt::kPacket) ++back;
  }
  const double rate = static_cast<double>(back) / passed();
  ours.Reset();
  waitpid(child, nullptr, 0);
  return rate;
}

// The rate of packets with equally many bytes as so many requests in a packet and their answers.
double BareRequestsPerSecond(int together, double seconds) {
  AnsweredBatch batch;
  batch.size = together;
  batch.answers.resize(static_cast<size_t>(together));
  const std::string question =
      Encode(RequestPacket{0, std::vector<double>(static_cast<size_t>(together), 1)});
  return together * PingRate(question, Encode(AnswerPacket{{batch}}), seconds);
}

double CpuSeconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

std::string Experiment(const BenchServeOptions& options, double rate, int core) {
  return fmt::format(R"(name = "bench"
trials = 1
policies = ["strict"]
machine = {{ cores = "{}" }}
[[workload]]
name = "service"
model = "{}"
mode = "serve"
max_batch = {}
max_delay_ms = {}
[[trace.requests]]
count = {:.0f}
gap = {{ distribution = "exponential", mean_s = {} }}
start_s = {}
)",
                     core, options.model, options.max_batch, options.max_delay_ms,
                     std::max(1.0, rate * options.seconds), 1 / rate, kStartSeconds);
}

struct RateRow {
  ServiceSummary service;
  double harness_us = 0, tenant_us = 0;  // CPU time a request, starting and ending included.
};

std::optional<RateRow> Measure(const BenchServeOptions& options, double rate, const CpuSet& core,
                               const Topology& topology, const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "bench.toml";
  WriteFileWhole(file, Experiment(options, rate, core.First()));
  const ExperimentConfig config = LoadConfig(file, {}, topology);
  const Plan plan = MakePlan(config);
  const double ours = CpuSeconds(RUSAGE_SELF), theirs = CpuSeconds(RUSAGE_CHILDREN);
  const HarnessResult result = RunCells(config, plan, plan.cells,
                                        {.run = folder / "run",
                                         .topology = topology,
                                         .hosts = HostsOf(ThisBinary(), topology, config),
                                         .interrupted = Interrupted});
  if (result.done != 1) return std::nullopt;
  const CellSummary cell = Summarize(folder / "run", plan.cells.front());
  RateRow row;
  row.service = cell.services.at(0);
  const auto requests = static_cast<double>(row.service.requests);
  row.harness_us = (CpuSeconds(RUSAGE_SELF) - ours) * 1e6 / requests;
  row.tenant_us = (CpuSeconds(RUSAGE_CHILDREN) - theirs) * 1e6 / requests;
  return row;
}

constexpr const char* kFormat =
    "{:>9} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7} {:>10} {:>9}  {}\n";

void PrintHead() {
  fmt::print(kFormat, "offered/s", "answered/s", "dropped", "p50 ms", "p95 ms", "p99 ms", "max ms",
             "late ms", "batch", "harness us", "tenant us", "verdict");
}

std::string ToText(ServeVerdict verdict) {
  return fmt::format("{}, generator {}", verdict.answered ? "answered" : "not answered",
                     verdict.kept_up ? "kept up" : "fell behind");
}

void Print(const RateRow& row) {
  const ServiceSummary& service = row.service;
  const auto number = [](std::optional<double> value) {
    return value ? fmt::format("{:.2f}", *value) : "";
  };
  fmt::print(kFormat, fmt::format("{:.0f}", service.offered_per_s),
             fmt::format("{:.0f}", service.throughput_per_s),
             fmt::format("{:.1f}%", 100 * static_cast<double>(service.dropped) /
                                        static_cast<double>(service.requests)),
             number(service.p50_latency_ms), number(service.p95_latency_ms),
             number(service.p99_latency_ms), number(service.max_latency_ms),
             number(service.worst_lag_ms), number(service.mean_batch), number(row.harness_us),
             number(row.tenant_us), ToText(Judge(service)));
  std::fflush(stdout);
}

void PrintEnd(const std::optional<ServiceSummary>& best) {
  if (!best) {
    fmt::print("no rate was answered by a run whose generator kept up\n");
    return;
  }
  fmt::print(
      "highest rate that was answered, with the generator keeping up: {:.0f} of {:.0f} requests/s, "
      "p50 {:.2f} ms, p99 {:.2f} ms from when they were due\n",
      best->throughput_per_s, best->offered_per_s, best->p50_latency_ms.value_or(0),
      best->p99_latency_ms.value_or(0));
}

}  // namespace

ServeVerdict Judge(const ServiceSummary& service) {
  return {.answered = service.dropped == 0 && service.served > 0 &&
                      service.throughput_per_s >= kAnsweredShare * service.offered_per_s,
          .kept_up = service.worst_lag_ms <= ToSeconds(kLateRequest) * 1e3};
}

int RunBenchServe(const BenchServeOptions& options, const Topology& topology) {
  const CpuSet core{topology.Cpus().First()};
  if (ConfineThreads(getpid(), core, topology) != Confinement::kDone)
    throw InputError({"command line", 0, "bench serve", "this process can't be moved to one core",
                      "a machine that lets it"});
  constexpr double kPingSeconds = 0.5;
  fmt::print("all on core {}; a bare socket carries the bytes of\n", core.ToString());
  for (const int together : {1, options.max_batch}) {
    fmt::print("  {:>10.0f} requests/s there and back, {} in a packet\n",
               BareRequestsPerSecond(together, kPingSeconds), together);
  }
  fmt::print(
      "{}, up to {} at once, {} ms delay. Latencies count from when requests were due\n"
      "answered: none was dropped, and {:.0f} % of what was offered a second was answered a "
      "second\n"
      "late: the worst lag of the generator; it fell behind if that is more than {:.0f} ms\n",
      options.model, options.max_batch, options.max_delay_ms, kAnsweredShare * 100,
      ToSeconds(kLateRequest) * 1e3);
  PrintHead();
  const SignalScope signals;
  const RealtimeScope realtime;
  std::optional<ServiceSummary> best;
  for (const double rate : options.rates) {
    const ScratchFolder folder;
    const std::optional<RateRow> row = Measure(options, rate, core, topology, folder.path());
    if (!row) {
      fmt::print("{:>9.0f} failed\n", rate);
      return 1;
    }
    Print(*row);
    const ServeVerdict verdict = Judge(row->service);
    const bool higher = !best || row->service.offered_per_s > best->offered_per_s;
    if (verdict.answered && verdict.kept_up && higher) best = row->service;
  }
  PrintEnd(best);
  return 0;
}

}  // namespace cosched
