// loadgen: the settings of MLPerf's LoadGen (github.com/mlcommons/inference, loadgen/mlperf.conf
// and a submitter's user.conf), a line each, "model.scenario.key = value", '*' for any model or
// scenario, times in milliseconds, '#' before comments. They are generator settings: the arrivals
// are drawn from TraceOptions::seed (not from LoadGen's own, whose generator is its C++ library's
// and differs between libraries).
//
// Each model and scenario that a line names is a tenant "model.scenario" that runs from 0 on,
// beside the others; where all lines are for any model, each scenario that they name. A value is
// looked up as LoadGen does: model.scenario.key, *.scenario.key, model.*.key, *.*.key, then
// LoadGen's default (test_settings.h: 1 query/s, 1 ms a query, 8 samples of 8 ms, at least 10 s and
// 100 queries).
//
// Read are target_qps (Server, Offline), target_latency (SingleStream, MultiStream: how long a
// query takes, after which the next is issued; Server: the deadline), samples_per_query,
// min_duration, max_duration, min_query_count, max_query_count. Other keys change no arrival.

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "traces/generators/generated_trace.h"
#include "traces/input/formats.h"
#include "traces/input/numbers.h"
#include "traces/input/table_reader.h"

namespace cosched {

TraceFormat LoadgenFormat();  // Named in formats.cc.

namespace {

using Scenario = LoadGenSpec::Scenario;

constexpr size_t kMaxSettings = 10'000;
constexpr size_t kMaxKey = 200;
constexpr int64_t kMaxMilliseconds = 4'000'000'000'000;  // 126 years.
constexpr int64_t kMaxCount = int64_t{1} << 53;

struct Value {
  std::string text;
  int line = 0;
};

// model, scenario and key of a setting's name. Models hold dots, the others do not.
bool SplitName(std::string_view name, std::array<std::string_view, 3>* parts) {
  const size_t last = name.rfind('.');
  if (last == std::string_view::npos || last == 0) return false;
  const size_t middle = name.rfind('.', last - 1);
  if (middle == std::string_view::npos || middle == 0) return false;
  *parts = {name.substr(0, middle), name.substr(middle + 1, last - middle - 1),
            name.substr(last + 1)};
  return !(*parts)[1].empty() && !(*parts)[2].empty();
}

bool IsScenario(std::string_view text) {
  Scenario unused;
  return ParseScenario(text, &unused);
}

// "name = value" of a line; false if it is neither that nor blank. Both empty for blank lines.
bool SplitLine(std::string_view line, std::string_view* name, std::string_view* value) {
  line = line.substr(0, line.find('#'));
  const auto trim = [](std::string_view text) {
    const size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return std::string_view();
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
  };
  *name = *value = {};
  if (trim(line).empty()) return true;
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return false;
  *name = trim(line.substr(0, equals));
  *value = trim(line.substr(equals + 1));
  return !name->empty() && !value->empty();
}

class Settings {
 public:
  Settings(TextInput* input, OnBadRow on_bad_row) : file_(input->File()), log_(on_bad_row) {
    std::string_view line;
    while (input->Line(&line)) {
      std::string_view name, value;
      if (SplitLine(line, &name, &value) && name.empty()) continue;
      if (log_.Counts().rows == static_cast<int64_t>(kMaxSettings))
        input->Fail("holds more than 10000 settings", "fewer");
      log_.Try([&] { Take(line, input->LineNumber()); });
    }
    log_.RefuseNothing(file_);
  }

  const TraceReader::Counts& Counts() const { return log_.Counts(); }

  std::vector<GeneratorSpec> Generators() const {
    std::map<std::pair<std::string, std::string>, int> runs;  // Model and scenario; their line.
    for (const bool any_model : {false, true}) {
      for (const auto& [name, value] : values_) {
        std::array<std::string_view, 3> parts;
        SplitName(name, &parts);
        if (IsScenario(parts[1]) && (parts[0] == "*") == any_model)
          runs.try_emplace({std::string(parts[0]), std::string(parts[1])}, value.line);
      }
      if (!runs.empty()) break;
    }
    std::vector<GeneratorSpec> generators;
    for (const auto& [run, line] : runs) generators.push_back(Generator(run.first, run.second));
    if (generators.empty()) {
      throw InputError({.file = file_,
                        .problem = "names no scenario",
                        .allowed = "a setting of " + ScenarioNames()});
    }
    return generators;
  }

 private:
  void Take(std::string_view line, int number) {
    std::string_view name, value;
    std::array<std::string_view, 3> parts;
    const bool split = SplitLine(line, &name, &value);
    int64_t unused = 0;
    const bool is_number = ParseScaled(value, 0, &unused) ||
                           value.find_first_not_of("0123456789") == std::string_view::npos;
    if (!split || name.size() > kMaxKey || !SplitName(name, &parts) ||
        (parts[1] != "*" && !IsScenario(parts[1])) || !is_number) {
      throw BadRow(
          {.file = file_,
           .line = number,
           .problem = "is " + Quoted(line),
           .allowed = "model.scenario.key = number, the scenario one of *, " + ScenarioNames()});
    }
    values_.insert_or_assign(std::string(name), Value{std::string(value), number});
  }

  const Value* Find(const std::string& model, const std::string& scenario,
                    const std::string& key) const {
    const std::string_view any = "*";
    for (const auto& [of_model, of_scenario] :
         {std::pair<std::string_view, std::string_view>(model, scenario),
          {any, scenario},
          {model, any},
          {any, any}}) {
      const auto found = values_.find(fmt::format("{}.{}.{}", of_model, of_scenario, key));
      if (found != values_.end()) return &found->second;
    }
    return nullptr;
  }

  // The number in units of 10^-decimals, or the fallback.
  int64_t Number(const std::string& model, const std::string& scenario, const char* key,
                 int decimals, int64_t fallback, int64_t min, int64_t max) const {
    const Value* value = Find(model, scenario, key);
    if (value == nullptr) return fallback;
    int64_t number = 0;
    if (ParseScaled(value->text, decimals, &number) && number >= min && number <= max)
      return number;
    throw InputError({.file = file_,
                      .line = value->line,
                      .key = key,
                      .problem = "is " + Quoted(value->text),
                      .allowed = "more, or less"});
  }

  GeneratorSpec Generator(const std::string& model, const std::string& scenario) const {
    const auto milliseconds = [&](const char* key, int64_t fallback, int64_t min) {
      return static_cast<double>(
                 Number(model, scenario, key, 3, fallback * 1000, min, kMaxMilliseconds * 1000)) /
             1e6;
    };
    const auto count = [&](const char* key, int64_t fallback, int64_t min) {
      return Number(model, scenario, key, 0, fallback, min, kMaxCount);
    };
    LoadGenSpec spec;
    ParseScenario(scenario, &spec.scenario);
    const bool multi = spec.scenario == Scenario::kMultiStream;
    spec.target_qps = static_cast<double>(Number(model, scenario, "target_qps", 9, 1'000'000'000, 1,
                                                 int64_t{1'000'000'000'000'000'000})) /
                      1e9;
    GeneratorSpec generator;
    if (spec.scenario == Scenario::kServer) {
      const double deadline_s = milliseconds("target_latency", 100, 0);
      if (deadline_s > 0) generator.deadline = FromSeconds(deadline_s);  // 0: by token latencies.
    } else if (multi || spec.scenario == Scenario::kSingleStream) {
      spec.latency_s = milliseconds("target_latency", multi ? 8 : 1, 1);
    }
    if (multi)
      spec.samples_per_query = Number(model, scenario, "samples_per_query", 0, 8, 1, 1 << 20);
    spec.min_duration_s = milliseconds("min_duration", 10'000, 0);
    spec.max_duration_s = milliseconds("max_duration", 0, 0);
    spec.min_query_count = count("min_query_count", 100, 0);
    spec.max_query_count = count("max_query_count", 0, 0);
    generator.process = spec;
    generator.kind = Arrival::Kind::kRequest;
    generator.tenant = model == "*" ? scenario : model + "." + scenario;
    generator.cells = {model, scenario};
    return generator;
  }

  std::string file_;
  BadRowLog log_;
  std::map<std::string, Value> values_;  // The last one of a name counts, as in LoadGen.
};

class LoadgenReader final : public TraceReader {
 public:
  LoadgenReader(const Settings& settings, uint64_t seed)
      : trace_({"model", "scenario"}, settings.Generators(), {}, seed),
        counts_(settings.Counts()) {}

  std::span<const std::string> Columns() const override { return trace_.Columns(); }
  bool Next(Arrival* arrival) override { return trace_.Next(arrival); }
  int Line() const override { return 0; }
  Counts RowCounts() const override { return counts_; }  // The settings' counts.

 private:
  GeneratedTrace trace_;
  Counts counts_;
};

bool Detect(const TraceHead& head) {
  std::string_view text = head.text;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::string_view name, value;
    std::array<std::string_view, 3> parts;
    if (!SplitLine(line, &name, &value)) return false;
    if (name.empty()) continue;
    return SplitName(name, &parts) && (parts[1] == "*" || IsScenario(parts[1]));
  }
  return false;
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  const Settings settings(input.get(), options.on_bad_row);
  return std::make_unique<LoadgenReader>(settings, options.seed);
}

}  // namespace

TraceFormat LoadgenFormat() {
  return {
      .name = "loadgen",
      .summary = "model.scenario.key = value; MLPerf LoadGen's settings, from which it is drawn",
      .detect = Detect,
      .open = Open};
}

}  // namespace cosched
