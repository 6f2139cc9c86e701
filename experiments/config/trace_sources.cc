#include "experiments/config/trace_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "experiments/config/experiment_config.h"
#include "experiments/config/trace_map.h"
#include "traces/input/formats.h"
#include "traces/trace_mapping.h"

namespace cosched {
namespace {

constexpr double kMaxSourceSeconds = 3e9;      // Ninety-five years: readers take a century.
constexpr int64_t kMostArrivals = 20'000'000;  // In memory.

// A file is read through this once more, so that a result can be told to come from this very file.
std::string HashOf(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::array<char, 1 << 16> buffer{};
  uint64_t hash = 0xcbf29ce484222325;
  while (stream) {
    stream.read(buffer.data(), buffer.size());
    for (std::streamsize i = 0; i < stream.gcount(); ++i) {
      hash = (hash ^ static_cast<unsigned char>(buffer[static_cast<size_t>(i)])) * 0x100000001b3;
    }
  }
  return fmt::format("{:016x}", hash);
}

using SourceKey = SectionKey<TraceSource>;

std::vector<SourceKey> SourceKeys() {
  using S = TraceSource;
  using T = TraceSelection;
  const auto path = [](std::filesystem::path S::*member) -> SourceKey::Reader {
    return [member](const SourceKey& key, const TomlTable& table, S* source) {
      if (!table.Has(key.help.name)) return;
      source->*member = (table.Folder() / table.String(key.help.name)).lexically_normal();
    };
  };
  const auto recorded = [](const std::string& name, auto member) {
    return SourceKey::Recorded(
        name, [member](const S& source) -> SourceKey::Json { return source.*member; });
  };
  return {SourceKey::Read({.name = "file",
                           .type = "text",
                           .fallback = "none: arrivals are drawn",
                           .range = "a file, relative to this one",
                           .meaning = "a trace"},
                          path(&S::file), [](const S& source) { return source.file.string(); }),
          recorded("fnv1a", &S::hash),
          SourceKey::Text("format", &S::format, "a name of `cosched list formats`", "its format")
              .Default("recognised by the content"),
          SourceKey::Time("start_s", Inside(&S::selection, &T::start), 1, 0, kMaxSourceSeconds,
                          "of the file's own time, from its first arrival on"),
          SourceKey::Time("length_s", Inside(&S::selection, &T::length), 1, 1e-9, kMaxSourceSeconds,
                          "how much of it")
              .Default("all"),
          SourceKey::Number("sample", Inside(&S::selection, &T::sample), 1e-9, 1,
                            "of the arrivals, each drawn by the experiment's seed"),
          SourceKey::Recorded("sample_seed", [](const S& source) { return source.selection.seed; }),
          SourceKey::Number("speedup", Inside(&S::selection, &T::speedup), 1e-9, 1e9,
                            "what is kept comes so many times as fast"),
          SourceKey::Time("offset_s", &S::offset, 1, 0, kMaxSourceSeconds,
                          "[[trace.merge]] only: begins so long after the first file"),
          SourceKey::Choice("spread", &S::spread,
                            std::vector{Spread::kUniform, Spread::kStart, Spread::kExponential},
                            "how arrivals lie within a bucket of counts")
              .Default("by the format"),
          SourceKey::Read({.name = "durations",
                           .type = "text",
                           .fallback = "by the file's name",
                           .range = "a file, relative to this one",
                           .meaning = "the companion of an azure-functions-2019 file"},
                          path(&S::durations),
                          [](const S& source) { return source.durations.string(); }),
          SourceKey::EitherWord("on_bad_row", &S::skip_bad_rows, "error", "skip",
                                "what a malformed row is"),
          SourceKey::Read({.name = "map",
                           .type = "table",
                           .fallback = "required but in the cosched format",
                           .range = "its own keys",
                           .meaning = "which arrival is a job or request of which workload"},
                          nullptr, [](const S& source) { return source.map; }),
          recorded("rows", &S::rows),
          recorded("skipped", &S::skipped),
          recorded("first_skipped", &S::first_skipped),
          recorded("jobs", &S::jobs),
          recorded("requests", &S::requests),
          recorded("rejected", &S::rejected),
          recorded("limited", &S::limited)};
}

TraceSource ReadKeys(const TomlTable& table, uint64_t seed) {
  TraceSource source;
  TraceSourceSection().ReadListed(table, &source);
  source.selection.seed = seed;
  return source;
}

// One file on its way into the experiment.
class SourceReader {
 public:
  // map_owner: whose key "map" holds the rules.
  SourceReader(const TomlTable& table, const TomlTable& map_owner, const ExperimentConfig& config,
               size_t index)
      : config_(config), table_(table), map_owner_(map_owner) {
    const Random random = Random(config.seed).Derive("trace file").Derive(std::to_string(index));
    source_ = ReadKeys(table, random.Derive("sample").Next());
    OpenedTrace opened = Open(random.Derive("spread").Next());
    source_.format = opened.format->name;
    source_.hash = HashOf(source_.file);
    reader_ = std::make_unique<SelectedTrace>(std::move(opened.reader), source_.selection);
    mapping_ = std::make_unique<TraceMapping>(MakeMapping(random.Derive("map").Next()));
  }

  void Read(TraceContent* content) {
    Arrival arrival;
    while (reader_->Next(&arrival)) {
      try {
        Take(mapping_->Map(arrival), content);
      } catch (const InputError& error) {
        InputErrorDetails details = error.details();
        details.file = source_.file.string();
        details.line = std::max(1, reader_->Line());
        if (!source_.skip_bad_rows) throw InputError(details);
        if (source_.skipped++ == 0) source_.first_skipped = InputError(details).what();
      }
    }
    const TraceReader::Counts counts = reader_->RowCounts();
    source_.rows = counts.rows;
    source_.skipped += counts.skipped;
    if (!counts.first_skipped.empty()) source_.first_skipped = counts.first_skipped;
    source_.limited = mapping_->limited();
    content->sources.push_back(source_);
  }

 private:
  OpenedTrace Open(uint64_t seed) const {
    try {
      return table_.OfFile("file", [&] {
        return OpenTrace(source_.file, source_.format,
                         {.on_bad_row = source_.skip_bad_rows ? OnBadRow::kSkip : OnBadRow::kError,
                          .seed = seed,
                          .spread = source_.spread,
                          .durations = source_.durations});
      });
    } catch (const InputError& error) {
      // An error of the key, not of the file.
      if (error.details().key == "format")
        table_.Fail("format", error.details().problem, error.details().allowed);
      throw;
    }
  }

  TraceMapping MakeMapping(uint64_t seed) {
    MappingRules rules;
    const bool as_it_is = source_.format == "cosched" && !table_.Has("map");
    if (!as_it_is && map_owner_.Has("map")) {
      source_.map = map_owner_.TomlText("map");
      rules = ReadTraceMap(map_owner_.Table("map"), config_);
    } else if (as_it_is) {
      CheckColumns();
      const auto columns = reader_->Columns();
      rules =
          CoschedMap(config_, std::find(columns.begin(), columns.end(), "steps") != columns.end());
    } else {
      table_.Fail("map", fmt::format("is required for a trace in the format {}", source_.format),
                  "[trace.map] with workload = \"by-weight\", \"by-hash\", a workload, or "
                  "{ column = \"…\", VALUE = \"…\", default = \"reject\" }");
    }
    rules.seed = seed;
    try {
      return TraceMapping(std::move(rules), reader_->Columns());
    } catch (const InputError& error) {
      map_owner_.Fail("map." + error.details().key, error.details().problem,
                      error.details().allowed);
    }
  }

  // A misspelt column must not go unnoticed where the file is taken as it is.
  void CheckColumns() const {
    constexpr std::array<std::string_view, 12> kKnown = {
        "arrival_s", "workload", "cores_min", "cores_preferred", "cores_max", "priority", "steps",
        "kind",      "tenant",   "size",      "duration_s",      "deadline_s"};
    constexpr const char* kHeader =
        "arrival_s,workload[,cores_min,cores_preferred,cores_max,priority,steps,deadline_s,…]";
    const auto fail = [this](const std::string& column, const std::string& problem) {
      throw InputError({.file = source_.file.string(),
                        .line = 1,
                        .key = column,
                        .problem = problem,
                        .allowed = kHeader});
    };
    bool has_workload = false;
    for (const std::string& column : reader_->Columns()) {
      if (std::find(kKnown.begin(), kKnown.end(), column) == kKnown.end())
        fail(column, "unknown column");
      has_workload = has_workload || column == "workload";
    }
    if (!has_workload) fail("workload", "the header lacks this column");
  }

  void Take(TraceMapping::Result mapped, TraceContent* content) {
    if (std::holds_alternative<TraceMapping::Rejected>(mapped)) {
      ++source_.rejected;
      return;
    }
    if (static_cast<int64_t>(content->jobs.size() + content->requests.size()) >= kMostArrivals) {
      throw InputError({.file = source_.file.string(),
                        .line = reader_->Line(),
                        .key = {},
                        .problem = fmt::format("more than {} arrivals", kMostArrivals),
                        .allowed = "trace.length_s or trace.sample that leave fewer"});
    }
    if (auto* job = std::get_if<JobArrival>(&mapped)) {
      Complete(job);
      job->time = OnClock(job->time);
      content->jobs.push_back(std::move(*job));
      ++source_.jobs;
    } else {
      auto& request = std::get<RequestArrival>(mapped);
      request.time = OnClock(request.time);
      content->requests.push_back(std::move(request));
      ++source_.requests;
    }
  }

  Duration OnClock(Duration time) const { return time - *reader_->Begin() + source_.offset; }

  // A map's cores move the workload's own bounds where they lie outside; a file that is taken as it
  // is must fit them.
  void Complete(JobArrival* job) const {
    const WorkloadConfig& workload = *config_.FindWorkload(job->workload);
    const bool taken_as_it_is = source_.map.empty();
    if (!taken_as_it_is && (job->cores_min || job->cores_preferred || job->cores_max)) {
      const int least = job->cores_min.value_or(1);
      const int own = std::max(workload.cores.preferred, least);
      const int preferred = job->cores_preferred.value_or(job->cores_max.value_or(own));
      job->cores_preferred = preferred;
      job->cores_min = std::min(job->cores_min.value_or(workload.cores.min), preferred);
      job->cores_max = std::max(job->cores_max.value_or(workload.cores.max), preferred);
    }
    const auto problem = CheckRequest(RequestOf(workload, *job), config_.cores.Count());
    if (!problem) return;
    throw InputError({.file = {},
                      .line = 0,
                      .key = "cores_" + problem->column,
                      .problem = problem->problem,
                      .allowed = problem->allowed});
  }

  const ExperimentConfig& config_;
  const TomlTable table_;
  const TomlTable map_owner_;
  TraceSource source_;
  std::unique_ptr<SelectedTrace> reader_;
  std::unique_ptr<TraceMapping> mapping_;
};

// The first arrival that is left is at 0.
void Order(TraceContent* content) {
  const auto earlier = [](const auto& a, const auto& b) { return a.time < b.time; };
  std::stable_sort(content->jobs.begin(), content->jobs.end(), earlier);
  std::stable_sort(content->requests.begin(), content->requests.end(), earlier);
  Duration first = Duration::max();
  if (!content->jobs.empty()) first = std::min(first, content->jobs.front().time);
  if (!content->requests.empty()) first = std::min(first, content->requests.front().time);
  for (JobArrival& job : content->jobs) job.time -= first;
  for (RequestArrival& request : content->requests) request.time -= first;
}

}  // namespace

const Section<TraceSource>& TraceSourceSection() {
  static const Section<TraceSource> section(
      "[[trace.merge]], [trace]", "arrivals from files, in place of drawn ones", SourceKeys());
  return section;
}

TraceContent ReadTraceSources(const TomlTable& table, const ExperimentConfig& config) {
  TraceContent content;
  SourceReader(table, table, config, 0).Read(&content);
  const std::vector<TomlTable> others = table.Tables("merge");
  for (size_t i = 0; i < others.size(); ++i) {
    const TomlTable& other = others[i];
    TraceSourceSection().RefuseOthers(other);
    if (!other.Has("file")) other.Fail("file", "is required", "a string");
    const TomlTable& map_owner = other.Has("map") ? other : table;
    SourceReader(other, map_owner, config, i + 1).Read(&content);
  }
  if (content.jobs.empty() && content.requests.empty()) {
    const TraceSource& first = content.sources.front();
    table.Fail("file",
               fmt::format("nothing of {} is left: {} rows, {} skipped, {} rejected by the map",
                           first.file.string(), first.rows, first.skipped, first.rejected),
               "a window, a sample and a map that leave at least one arrival");
  }
  Order(&content);
  return content;
}

std::vector<std::string> TraceSourceNotes(const std::vector<TraceSource>& sources) {
  std::vector<std::string> notes;
  for (const TraceSource& source : sources) {
    const std::string name = source.file.filename().string();
    if (source.skipped > 0) {
      notes.push_back(fmt::format("trace {}: {} of {} rows skipped as malformed, the first: {}",
                                  name, source.skipped, source.rows, source.first_skipped));
    }
    if (source.rejected > 0) {
      notes.push_back(fmt::format("trace {}: {} of {} arrivals rejected by [trace.map]", name,
                                  source.rejected,
                                  source.rejected + source.jobs + source.requests));
    }
    if (source.limited > 0) {
      notes.push_back(
          fmt::format("trace {}: {} of {} jobs ask for more cores than there are, so "
                      "they ask for all",
                      name, source.limited, source.jobs));
    }
  }
  return notes;
}

}  // namespace cosched
