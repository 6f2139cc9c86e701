#include "experiments/config/trace_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "experiments/config/distribution_table.h"
#include "experiments/config/experiment_config.h"

namespace cosched {
namespace {

constexpr std::string_view kGapShape = "{ distribution = \"exponential\", mean_s = 0.5 }";

constexpr int kMostJobs = 1'000'000;
constexpr double kMaxTraceGapSeconds = 86'400;  // A day.
constexpr double kMaxWork = 1e9;

std::vector<std::string> ConfiguredServices(const ExperimentConfig& config) {
  std::vector<std::string> names;
  for (const WorkloadConfig& workload : config.workloads)
    if (workload.spec.serves) names.push_back(workload.name);
  return names;
}

RequestStream ReadStream(const TomlTable& table, const std::vector<std::string>& services) {
  table.AllowOnly({"service", "count", "gap", "work", "start_s"});
  const std::string names = fmt::format("{}", fmt::join(services, ", "));
  RequestStream stream;
  if (services.size() > 1 || table.Has("service")) {
    stream.service = table.String("service");
    if (std::find(services.begin(), services.end(), stream.service) == services.end())
      table.Fail("service", fmt::format("there is no service \"{}\"", stream.service), names);
  } else {
    stream.service = services.front();
  }
  stream.count = static_cast<int>(table.Integer("count", {}, 1, 10 * kMostJobs));
  stream.gap = ReadGap(table.Table("gap", kGapShape), stream.gap);
  stream.start = FromSeconds(table.Number("start_s", 0, 0, kMaxTraceGapSeconds));
  if (table.IsTable("work")) {
    stream.work = ReadDistribution(table.Table("work"), {.unit = "", .max = kMaxWork}, stream.work);
  } else {
    stream.work.mean = table.Number("work", 1, 0, kMaxWork);
  }
  return stream;
}

std::vector<RequestStream> ReadStreams(const TomlTable& table, const ExperimentConfig& config) {
  const std::vector<std::string> services = ConfiguredServices(config);
  std::vector<RequestStream> streams;
  if (services.empty() && table.Has("requests")) {
    table.Fail("requests", "are there, but no service",
               "only where a [[workload]] has mode = \"serve\"");
  }
  for (const TomlTable& stream : table.Tables("requests"))
    streams.push_back(ReadStream(stream, services));
  return streams;
}

// Jobs that are drawn; none where there are only services.
int ReadJobCount(const TomlTable& table, const ExperimentConfig& config, int fallback) {
  const bool some = std::any_of(config.workloads.begin(), config.workloads.end(),
                                [](const WorkloadConfig& one) { return !one.spec.serves; });
  if (some) {
    const int least = config.HasServices() ? 0 : 1;
    return static_cast<int>(table.Integer("jobs", fallback, least, 10 * kMostJobs));
  }
  for (const char* key : {"jobs", "gap"}) {
    if (table.Has(key))
      table.Fail(key, "is of jobs, but every workload is a service", "[[trace.requests]]");
  }
  return 0;
}

void RefuseKeysOfFiles(const TomlTable& table) {
  for (const char* key : {"format", "start_s", "length_s", "sample", "speedup", "spread",
                          "durations", "on_bad_row", "map", "merge"}) {
    if (table.Has(key)) table.Fail(key, "is of a trace file, but there is none", "file beside it");
  }
}

}  // namespace

TraceConfig ReadTraceConfig(const TomlTable& table, const std::filesystem::path& folder,
                            const ExperimentConfig& config) {
  table.AllowOnly({"jobs", "gap", "requests", "file", "format", "start_s", "length_s", "sample",
                   "speedup", "spread", "durations", "on_bad_row", "map", "merge"});
  TraceConfig trace;
  trace.requests = ReadStreams(table, config);
  if (!table.Has("file")) {
    RefuseKeysOfFiles(table);
    trace.jobs = ReadJobCount(table, config, trace.jobs);
    trace.gap = ReadGap(table.Table("gap", kGapShape), trace.gap);
    return trace;
  }
  for (const char* key : {"jobs", "gap"}) {
    if (table.Has(key))
      table.Fail(key, "has no meaning beside trace.file", "jobs and gap, or file");
  }
  TraceContent content = ReadTraceSources(table, folder, config);
  trace.file = content.sources.front().file;
  trace.sources = std::move(content.sources);
  trace.replay = JobTrace(content.jobs);
  trace.replay_requests = std::move(content.requests);
  trace.jobs = static_cast<int>(trace.replay->size());
  return trace;
}

}  // namespace cosched
