#include "experiments/config/trace_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "experiments/config/distribution_table.h"
#include "experiments/config/experiment_config.h"

namespace cosched {
namespace {

constexpr std::string_view kGapShape = "{ distribution = \"exponential\", mean_s = 0.5 }";

constexpr double kMaxTraceGapSeconds = 86'400;  // A day.
constexpr double kLatestChangeSeconds = 86'400'000;
constexpr double kMaxWork = 1e9;
constexpr int kMostClients = 100'000;
constexpr double kMaxRequestRate = 1e7;  // Requests a second.

std::vector<std::string> ConfiguredServices(const ExperimentConfig& config) {
  std::vector<std::string> names;
  for (const WorkloadConfig& workload : config.workloads)
    if (workload.spec.serves) names.push_back(workload.name);
  return names;
}

std::string ReadService(const TomlTable& table, const std::vector<std::string>& services) {
  const bool only_one = services.size() == 1 && !table.Has("service");
  std::string service = only_one ? services.front() : table.String("service");
  if (std::find(services.begin(), services.end(), service) == services.end())
    table.Fail("service", fmt::format("there is no service \"{}\"", service),
               fmt::format("{}", fmt::join(services, ", ")));
  return service;
}

RequestStream ReadStream(const TomlTable& table, const std::vector<std::string>& services) {
  RequestStream stream;
  RequestStreamSection().Read(table, &stream);
  stream.service = ReadService(table, services);
  return stream;
}

std::vector<ObjectiveChange> ReadChanges(const TomlTable& table, const ExperimentConfig& config) {
  const std::vector<std::string> services = ConfiguredServices(config);
  if (services.empty() && table.Has("changes")) {
    table.Fail("changes", "are there, but no service",
               "only where a [[workload]] has mode = \"serve\"");
  }
  std::vector<ObjectiveChange> changes;
  for (const TomlTable& entry : table.Tables("changes")) {
    ObjectiveChange& change = changes.emplace_back();
    ObjectiveChangeSection().Read(entry, &change);
    change.service = ReadService(entry, services);
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& one, const auto& other) { return one.at < other.at; });
  return changes;
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
    return static_cast<int>(table.Integer("jobs", fallback, least, kMostDrawn));
  }
  for (const char* key : {"jobs", "gap"}) {
    if (table.Has(key))
      table.Fail(key, "is of jobs, but every workload is a service", "[[trace.requests]]");
  }
  return 0;
}

// Where it can make a difference.
void CheckMalleableShare(const TomlTable& table, const ExperimentConfig& config) {
  constexpr const char* kName = "malleable_share";
  if (!table.Has(kName)) return;
  const auto is_rigid = [](Elasticity one) { return one == Elasticity::kRigid; };
  const auto serves = [](const WorkloadConfig& one) { return one.spec.serves; };
  if (std::all_of(config.workloads.begin(), config.workloads.end(), serves))
    table.Fail(kName, "is of jobs, but every workload is a service", "only with jobs");
  if (std::all_of(config.elasticities.begin(), config.elasticities.end(), is_rigid))
    table.Fail(kName, "is there, but no job may be more elastic than rigid",
               "elasticity = [\"malleable\"], or moldable, beside it");
}

// Keys of [trace] that speak of its file.
std::vector<std::string> KeysOfFiles() {
  std::vector<std::string> keys = TraceSourceSection().Names();
  std::erase(keys, "offset_s");  // The offset is counted from this file.
  return keys;
}

void RefuseKeysOfFiles(const TomlTable& table) {
  std::vector<std::string> keys = KeysOfFiles();
  keys.emplace_back("merge");
  for (const std::string& key : keys) {
    if (table.Has(key)) table.Fail(key, "is of a trace file, but there is none", "file beside it");
  }
}

void RefuseUnknownKeys(const TomlTable& table) {
  std::vector<std::string> keys = TraceSection().Names();
  for (std::string& key : KeysOfFiles()) keys.push_back(std::move(key));
  table.AllowOnly(keys);
}

DrawnQuantity WorkOfRequests() { return {.unit = "", .max = kMaxWork}; }

void ReadWork(const SectionKey<RequestStream>& key, const TomlTable& table, RequestStream* stream) {
  const std::string& name = key.help.name;
  if (table.IsTable(name)) {
    stream->work = ReadDistribution(table.Table(name), WorkOfRequests(), stream->work);
  } else {
    stream->work.mean = table.Number(name, 1, 0, kMaxWork);
  }
}

void ReadPhases(const SectionKey<RequestStream>& key, const TomlTable& table,
                RequestStream* stream) {
  for (const TomlTable& phase : table.Tables(key.help.name))
    LoadPhaseSection().Read(phase, &stream->phases.emplace_back());
  const double expected = ExpectedArrivals(stream->phases);
  if (expected > kMostDrawn || (table.Has(key.help.name) && expected <= 0))
    table.Fail(key.help.name, fmt::format("make {:.0f} requests in the mean", expected),
               fmt::format("more than 0, at most {}", kMostDrawn));
}

std::optional<SectionKey<RequestStream>::Refusal> OfStreamsWithoutPhases(
    const RequestStream& stream) {
  if (stream.phases.empty()) return {};
  return SectionKey<RequestStream>::Refusal{"has no meaning beside phases",
                                            "one of the two: phases have rates and lengths"};
}

void ReadGapOfStream(const SectionKey<RequestStream>& key, const TomlTable& table,
                     RequestStream* stream) {
  const TomlTable gap = table.Table(key.help.name, kGapShape);
  stream->gap = ReadGap(gap, stream->gap);
  if (!stream->phases.empty() && stream->gap.mean != 1)
    gap.Fail("mean_s", fmt::format("is {}, beside phases", stream->gap.mean),
             "1: it is the rate of a phase that says how long a gap is");
}

}  // namespace

const Section<LoadPhase>& LoadPhaseSection() {
  using Key = SectionKey<LoadPhase>;
  static const Section<LoadPhase> section(
      "trace.requests.phases = [{ … }, …]", "load in steps: each is steady",
      {Key::Time("for_s", &LoadPhase::length, 1, 1e-3, kMaxTraceGapSeconds, "how long it lasts")
           .Required(),
       Key::Number("rate", &LoadPhase::rate_per_s, 0, kMaxRequestRate,
                   "requests a second, in the mean")
           .Required(),
       Key::Number("work", &LoadPhase::work, 0, kMaxWork, "times the work of each request")});
  return section;
}

const Section<TraceConfig>& TraceSection() {
  using Key = SectionKey<TraceConfig>;
  using T = TraceConfig;
  using Json = Key::Json;
  static const Section<TraceConfig> section(
      "[trace]", "what arrives when: drawn here, or from a file (below)",
      {Key::Recorded(
           "file",
           [](const T& trace) -> Json { return trace.replay ? Json(trace.file.string()) : Json(); })
           .OmittedWhereAbsent(),
       Key::Read({.name = "jobs",
                  .type = "integer",
                  .fallback = {},
                  .range = IntegerRange(1, kMostDrawn) + "; 0 beside services",
                  .meaning = "jobs of a trial"},
                 nullptr, [](const T& trace) { return trace.jobs; }),
       Key::Recorded("files",
                     [](const T& trace) -> Json {
                       Json files;
                       for (const TraceSource& source : trace.sources)
                         files.push_back(TraceSourceSection().ToJson(source));
                       return files;
                     })
           .OmittedWhereAbsent(),
       Key::Read({.name = "gap",
                  .type = "table",
                  .fallback = {},
                  .range = std::string(kGapShape),
                  .meaning = "seconds between two jobs"},
                 nullptr,
                 [](const T& trace) -> Json {
                   return trace.replay ? Json() : GapSection().ToJson(trace.gap);
                 })
           .OmittedWhereAbsent(),
       Key::Number(
           "malleable_share", &T::malleable_share, 0, 1,
           "of the jobs, those as elastic as their cell, by the seed; the others are rigid. "
           "A larger share has all that a smaller one has")
           .RecordedAs([](const T& trace) -> Json {
             return trace.malleable_share < 1 ? Json(trace.malleable_share) : Json();
           })
           .Default("1")
           .OmittedWhereAbsent(),
       Key::Read({.name = "requests",
                  .type = "table",
                  .fallback = "none",
                  .range = "its own keys",
                  .meaning = "any number of [[trace.requests]]: clients of services"},
                 nullptr,
                 [](const T& trace) -> Json {
                   Json streams;
                   for (const RequestStream& stream : trace.requests)
                     streams.push_back(RequestStreamSection().ToJson(stream));
                   return streams;
                 })
           .OmittedWhereAbsent(),
       Key::Read({.name = "changes",
                  .type = "table",
                  .fallback = "none",
                  .range = "its own keys",
                  .meaning = "any number of [[trace.changes]]: other objectives of services"},
                 nullptr,
                 [](const T& trace) -> Json {
                   Json changes;
                   for (const ObjectiveChange& change : trace.changes)
                     changes.push_back(ObjectiveChangeSection().ToJson(change));
                   return changes;
                 })
           .OmittedWhereAbsent(),
       Key::Read({.name = "merge",
                  .type = "table",
                  .fallback = "none",
                  .range = "keys of a file",
                  .meaning = "any number of [[trace.merge]]: further files"},
                 nullptr, nullptr)});
  return section;
}

const Section<ObjectiveChange>& ObjectiveChangeSection() {
  using Key = SectionKey<ObjectiveChange>;
  using O = ObjectiveChange;
  static const Section<ObjectiveChange> section(
      "[[trace.changes]]", "another objective for a service, in mid-run",
      {Key::Time("at_s", &O::at, 1, 0, kLatestChangeSeconds, "when").Required(),
       Key::Read({.name = "service",
                  .type = "text",
                  .fallback = "the only one",
                  .range = "a workload with mode = \"serve\"",
                  .meaning = "whose"},
                 nullptr, [](const O& change) { return change.service; }),
       Key::Time("sla_ms", &O::objective, 1e3, 1e-3, kLatestChangeSeconds,
                 "what its mean response in a window is to be from then on, at most")
           .Required()});
  return section;
}

const Section<RequestStream>& RequestStreamSection() {
  using Key = SectionKey<RequestStream>;
  using R = RequestStream;
  static const Section<RequestStream> section(
      "[[trace.requests]]", "clients that send requests when they are due, answered or not",
      {Key::Read({.name = "service",
                  .type = "text",
                  .fallback = "the only one",
                  .range = "a workload with mode = \"serve\"",
                  .meaning = "who answers"},
                 nullptr, [](const R& stream) { return stream.service; }),
       Key::Read({.name = "phases",
                  .type = "list",
                  .fallback = "none",
                  .range = "[{ for_s = 20, rate = 4 }, …]",
                  .meaning = "load in steps: how long, and at what rate"},
                 ReadPhases,
                 [](const R& stream) -> Key::Json {
                   Key::Json phases;
                   for (const LoadPhase& phase : stream.phases)
                     phases.push_back(LoadPhaseSection().ToJson(phase));
                   return phases;
                 })
           .OmittedWhereAbsent(),
       Key::Integer("count", &R::count, 1, kMostDrawn, "requests of a trial; not with phases")
           .Required()
           .RefusedWhere(OfStreamsWithoutPhases),
       Key::Integer("clients", &R::clients, 1, kMostClients,
                    "a closed loop: each waits for its answer before it asks again")
           .Default("none: an open loop")
           .RecordedAs([](const R& stream) {
             return stream.clients > 0 ? Key::Json(stream.clients) : Key::Json();
           })
           .OmittedWhereAbsent()
           .RefusedWhere(OfStreamsWithoutPhases),
       Key::Read(
           {.name = "gap",
            .type = "table",
            .fallback = {},
            .range = std::string(kGapShape),
            .meaning = "seconds between two of them, of a client between an answer and its next "
                       "request; with phases only how regular they are"},
           ReadGapOfStream, [](const R& stream) { return GapSection().ToJson(stream.gap); }),
       Key::Read({.name = "work",
                  .type = "number, table",
                  .fallback = "1",
                  .range = NumberRange(0, kMaxWork) + ", or a distribution",
                  .meaning = "of each, in steps of the service's program"},
                 ReadWork,
                 [](const R& stream) {
                   return DistributionSection(WorkOfRequests()).ToJson(stream.work);
                 }),
       Key::Time("start_s", &R::start, 1, 0, kMaxTraceGapSeconds, "when the first one is sent")});
  return section;
}

TraceConfig ReadTraceConfig(const TomlTable& table, const ExperimentConfig& config) {
  RefuseUnknownKeys(table);
  CheckMalleableShare(table, config);
  TraceConfig trace;
  TraceSection().ReadListed(table, &trace);
  trace.requests = ReadStreams(table, config);
  trace.changes = ReadChanges(table, config);
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
  TraceContent content = ReadTraceSources(table, config);
  trace.file = content.sources.front().file;
  trace.sources = std::move(content.sources);
  trace.replay = JobTrace(content.jobs);
  trace.replay_requests = std::move(content.requests);
  trace.jobs = static_cast<int>(trace.replay->size());
  return trace;
}

}  // namespace cosched
