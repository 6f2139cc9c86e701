#include "experiments/cli/bench_serve.h"

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
#include "experiments/cli/interrupt.h"
#include "experiments/cli/plots.h"
#include "experiments/cli/scratch_folder.h"
#include "experiments/harness.h"
#include "experiments/hosts/packet_socket.h"
#include "experiments/hosts/request_packets.h"
#include "experiments/hosts/thread_affinity.h"
#include "experiments/metrics.h"
#include "experiments/output_file.h"
#include "experiments/realtime.h"
#include "experiments/request_driver.h"

namespace cosched {
namespace {

constexpr double kStartSeconds = 1;  // Until the service is up.

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

// Of equally many bytes as so many requests in a packet and their answers.
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

struct Row {
  ServiceSummary service;
  double harness_us = 0, tenant_us = 0;  // CPU time a request, starting and ending included.
};

std::optional<Row> Measure(const BenchServeOptions& options, double rate, const CpuSet& core,
                           const Topology& topology, const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "bench.toml";
  WriteFileWhole(file, Experiment(options, rate, core.First()));
  const ExperimentConfig config = LoadConfig(file, {}, topology);
  const Plan plan = MakePlan(config);
  const double ours = CpuSeconds(RUSAGE_SELF), theirs = CpuSeconds(RUSAGE_CHILDREN);
  const HarnessResult result = RunCells(config, plan, plan.cells,
                                        {.run = folder / "run",
                                         .topology = topology,
                                         .make_world = WorldsOf(ThisBinary(), topology, config),
                                         .interrupted = Interrupted});
  if (result.done != 1) return std::nullopt;
  const CellSummary cell = Summarize(folder / "run", plan.cells.front());
  Row row;
  row.service = cell.services.at(0);
  const auto requests = static_cast<double>(row.service.requests);
  row.harness_us = (CpuSeconds(RUSAGE_SELF) - ours) * 1e6 / requests;
  row.tenant_us = (CpuSeconds(RUSAGE_CHILDREN) - theirs) * 1e6 / requests;
  return row;
}

}  // namespace

int RunBenchServe(const BenchServeOptions& options, const Topology& topology) {
  const CpuSet core{topology.Cpus().First()};
  if (ConfineThreads(getpid(), core, Which::kAll, topology) != Confinement::kDone)
    throw InputError({"command line", 0, "bench serve", "this process can't be moved to one core",
                      "a machine that lets it"});
  constexpr double kPingSeconds = 0.5;
  fmt::print("all on core {}; a bare socket carries the bytes of\n", core.ToString());
  for (const int together : {1, options.max_batch}) {
    fmt::print("  {:>10.0f} requests/s there and back, {} in a packet\n",
               BareRequestsPerSecond(together, kPingSeconds), together);
  }
  fmt::print(
      "{}, up to {} at once, {} ms delay; late: the worst lag of the generator, more than "
      "{:.0f} ms marks a run\n",
      options.model, options.max_batch, options.max_delay_ms, ToSeconds(kLateRequest) * 1e3);
  constexpr const char* kFormat = "{:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9}\n";
  fmt::print(kFormat, "sent/s", "served/s", "dropped", "p50 ms", "p99 ms", "late ms", "batch",
             "harness us", "tenant us");
  const SignalScope signals;
  const RealtimeScope realtime;
  double highest = 0;
  for (const double rate : options.rates) {
    const ScratchFolder folder;
    const std::optional<Row> row = Measure(options, rate, core, topology, folder.path());
    if (!row) {
      fmt::print("{:>9.0f} failed\n", rate);
      return 1;
    }
    const ServiceSummary& service = row->service;
    const auto number = [](double value) { return fmt::format("{:.2f}", value); };
    fmt::print(
        kFormat, fmt::format("{:.0f}", rate), fmt::format("{:.0f}", service.throughput_per_s),
        service.dropped, number(service.p50_latency_ms.value_or(0)),
        number(service.p99_latency_ms.value_or(0)), number(service.worst_lag_ms),
        number(service.mean_batch.value_or(0)), number(row->harness_us), number(row->tenant_us));
    std::fflush(stdout);
    const bool kept_up =
        service.dropped == 0 && service.worst_lag_ms <= ToSeconds(kLateRequest) * 1e3;
    if (kept_up) highest = std::max(highest, service.throughput_per_s);
  }
  fmt::print("most that was answered without the generator falling behind: {:.0f} requests/s\n",
             highest);
  return 0;
}

}  // namespace cosched
