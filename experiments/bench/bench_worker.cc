#include "experiments/bench/bench_worker.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/read_number.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

rusage Usage() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double WorkerCpuSeconds() {
  const rusage usage = Usage();
  return SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime);
}

// "run SECONDS"
double ParseRun(std::string_view line) {
  constexpr std::string_view kRun = "run ";
  if (line.starts_with(kRun)) {
    const auto seconds =
        ReadNumber<double>(line.substr(kRun.size()), 0, std::numeric_limits<double>::max());
    if (seconds) return *seconds;
  }
  InputErrorDetails details;
  details.file = "standard input";
  details.problem = fmt::format("\"{}\"", line);
  details.allowed = "run SECONDS";
  throw InputError(std::move(details));
}

void Reply(const Json& json) {
  std::puts(json.dump().c_str());
  std::fflush(stdout);
}

}  // namespace

int RunBenchWorker(const EngineCell& cell, const Topology& topology) {
  const int64_t before_kib = Usage().ru_maxrss;
  EngineRun run(cell, topology);
  const EngineTurn warm = RunFor(0, [&] { run.Step(); });
  Reply({{"ready", true}, {"seconds_per_run", warm.seconds}, {"runtime_kib", before_kib}});
  for (std::string line; std::getline(std::cin, line);) {
    const double seconds = ParseRun(line);
    const double cpu_before = WorkerCpuSeconds();
    const EngineTurn turn = RunFor(seconds, [&] { run.Step(); });
    Reply({{"images", turn.steps * cell.batch},
           {"seconds", turn.seconds},
           {"cpu_seconds", WorkerCpuSeconds() - cpu_before}});
  }
  return 0;
}

}  // namespace cosched
