// [[generator]] process = "…" with its parameters.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/error.h"
#include "experiments/config/distribution_table.h"
#include "experiments/config/generator_table.h"
#include "traces/input/numbers.h"
#include "traces/input/row.h"
#include "traces/input/text_input.h"

namespace cosched {
namespace {

constexpr double kShortest = 1e-9;
constexpr double kMaxProcessSeconds = 4e9;
constexpr double kMaxRate = 1e9;
constexpr int kMaxUsers = 1'000'000;
constexpr int64_t kMaxStates = 100;
constexpr size_t kMaxPoints = 10'000'000;
constexpr size_t kMaxSeriesBytes = 256 << 20;
constexpr DrawnQuantity kSeconds = {.unit = "_s", .max = kMaxProcessSeconds};

// Keys that every generator takes, beside those of its process.
void AllowKeysOf(const TomlTable& table, std::initializer_list<std::string_view> of_process) {
  constexpr std::array kOfAll = {"process", "weight",   "tenant", "workload",   "kind",
                                 "size",    "duration", "cores",  "deadline_s", "priority"};
  for (const std::string& key : table.Keys()) {
    if (std::find(kOfAll.begin(), kOfAll.end(), key) != kOfAll.end()) continue;
    if (std::find(of_process.begin(), of_process.end(), key) != of_process.end()) continue;
    table.Fail(
        key, "unknown key of this process",
        fmt::format("{}; and for all: {}", fmt::join(of_process, ", "), fmt::join(kOfAll, ", ")));
  }
}

Distribution RequiredDistribution(const TomlTable& table, const char* key) {
  if (!table.Has(key)) {
    table.Fail(key, "is required",
               fmt::format("{} = {{ distribution = \"…\", mean_s = … }} with {}", key,
                           DistributionNames()));
  }
  return ReadDistribution(table.Table(key), kSeconds, {});
}

// Time must go on.
void RefuseZero(const TomlTable& table, const char* key, double seconds) {
  if (seconds < kShortest)
    table.Fail(key, fmt::format("takes {} s in the mean", seconds), "1e-9 or more");
}

RenewalSpec ReadRenewal(const TomlTable& table) {
  AllowKeysOf(table, {"gap"});
  const RenewalSpec spec{RequiredDistribution(table, "gap")};
  RefuseZero(table, "gap.mean_s", spec.gap.mean);
  return spec;
}

// States that can be reached from the first one, one transition after the other.
std::vector<bool> Reached(const std::vector<std::vector<double>>& transitions, bool backwards) {
  std::vector<bool> reached(transitions.size(), false);
  std::vector<size_t> open = {0};
  reached[0] = true;
  while (!open.empty()) {
    const size_t from = open.back();
    open.pop_back();
    for (size_t to = 0; to < transitions.size(); ++to) {
      const double weight = backwards ? transitions[to][from] : transitions[from][to];
      if (weight <= 0 || reached[to]) continue;
      reached[to] = true;
      open.push_back(to);
    }
  }
  return reached;
}

void ReadTransitions(const TomlTable& table, const std::vector<TomlTable>& states, MmppSpec* spec) {
  const auto has_next = [](const TomlTable& state) { return state.Has("next"); };
  if (std::none_of(states.begin(), states.end(), has_next)) return;
  for (size_t from = 0; from < states.size(); ++from) {
    const TomlTable& state = states[from];
    const std::string allowed =
        fmt::format("{} probabilities with the sum 1, that of itself 0", states.size());
    if (!has_next(state) || state.Size("next") != states.size())
      state.Fail("next", "is not a probability for each state", allowed);
    std::vector<double> row;
    double sum = 0;
    for (size_t to = 0; to < states.size(); ++to) {
      row.push_back(state.Number(fmt::format("next.{}", to), {}, 0, 1));
      sum += row.back();
    }
    if (std::abs(sum - 1) > 1e-9 || row[from] != 0) state.Fail("next", "does not add up", allowed);
    spec->transitions.push_back(std::move(row));
  }
  for (const bool backwards : {false, true}) {
    const std::vector<bool> reached = Reached(spec->transitions, backwards);
    const auto lost = std::find(reached.begin(), reached.end(), false);
    if (lost == reached.end()) continue;
    const auto state = lost - reached.begin();
    table.Fail(fmt::format("state.{}", state),
               backwards ? "state 0 can't be reached from it" : "can't be reached from state 0",
               "every state within reach of every other");
  }
}

MmppSpec ReadMmpp(const TomlTable& table) {
  AllowKeysOf(table, {"state"});
  const std::vector<TomlTable> states = table.Tables("state");
  if (states.size() < 2 || states.size() > kMaxStates) {
    table.Fail("state", fmt::format("there are {}", states.size()),
               fmt::format("2 to {} [[generator.state]]", kMaxStates));
  }
  MmppSpec spec;
  double fastest = 0;
  for (const TomlTable& state : states) {
    state.AllowOnly({"rate_per_s", "mean_stay_s", "next"});
    spec.states.push_back({state.Number("rate_per_s", {}, 0, kMaxRate),
                           state.Number("mean_stay_s", {}, kShortest, kMaxProcessSeconds)});
    fastest = std::max(fastest, spec.states.back().rate_per_s);
  }
  if (fastest <= 0) table.Fail("state", "every rate is 0", "a rate_per_s above 0 for one of them");
  ReadTransitions(table, states, &spec);
  return spec;
}

void ReadPoints(const TomlTable& table, RateFunction* rate) {
  const std::string allowed = "[[0, rate], [seconds, rate], …], seconds ascending below period_s";
  const size_t count = table.Has("points") ? table.Size("points") : 0;
  for (size_t i = 0; i < count; ++i) {
    const std::string point = fmt::format("points.{}", i);
    if (table.Size(point) != 2) table.Fail(point, "is not a pair", allowed);
    const double at_s = table.Number(point + ".0", {}, 0, kMaxProcessSeconds);
    const bool ordered = i == 0 ? at_s == 0 : at_s > rate->points.back().at_s;
    if (!ordered || at_s >= rate->period_s)
      table.Fail(point, fmt::format("is at {} s", at_s), allowed);
    rate->points.push_back({at_s, table.Number(point + ".1", {}, 0, kMaxRate)});
  }
  if (count == 0) table.Fail("points", "are required", allowed);
}

// The file of a rate-series, packed or not; what is wrong with it is the key's fault.
std::string SeriesText(const TomlTable& table, const std::filesystem::path& file) {
  try {
    return TextInput(file).Rest(kMaxSeriesBytes);
  } catch (const InputError& error) {
    table.Fail("series", fmt::format("{} {}", file.string(), error.details().problem),
               "a file of counts of arrivals, separated by blanks");
  }
}

// A rate-series (traces/FORMAT.md): counts, separated by blanks.
void ReadSeries(const TomlTable& table, const std::filesystem::path& folder, RateFunction* rate) {
  const std::filesystem::path file = folder / table.String("series");
  const double bucket_s = table.Number("bucket_s", 1, kShortest, kMaxProcessSeconds);
  const std::string text = SeriesText(table, file);
  constexpr std::string_view kBlanks = " \t\r\n";
  auto& points = rate->points;
  for (size_t at = text.find_first_not_of(kBlanks); at != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    const std::string_view token = std::string_view(text).substr(at, end - at);
    int64_t count = 0;
    if (!ParseWholeNumber(token, &count) || count < 0 ||
        static_cast<double>(count) / bucket_s > kMaxRate || points.size() == kMaxPoints) {
      table.Fail(
          "series",
          fmt::format("number {} of {} is {}", points.size() + 1, file.string(), Quoted(token)),
          fmt::format("at most {} counts of arrivals, separated by blanks", kMaxPoints));
    }
    points.push_back(
        {static_cast<double>(points.size()) * bucket_s, static_cast<double>(count) / bucket_s});
    at = text.find_first_not_of(kBlanks, end);
  }
  if (points.empty())
    table.Fail("series", fmt::format("{} holds no count", file.string()), "one count or more");
  rate->period_s = static_cast<double>(points.size()) * bucket_s;
}

RateFunction ReadRate(const TomlTable& table, const std::filesystem::path& folder) {
  RateFunction rate;
  const std::string shape = table.String("shape");
  if (shape == "series") {
    table.AllowOnly({"shape", "series", "bucket_s"});
    rate.shape = RateFunction::Shape::kSteps;
    ReadSeries(table, folder, &rate);
    return rate;
  }
  rate.period_s = table.Number("period_s", rate.period_s, kShortest, kMaxProcessSeconds);
  if (shape == "sine") {
    table.AllowOnly({"shape", "period_s", "mean_per_s", "amplitude_per_s", "peak_s"});
    rate.shape = RateFunction::Shape::kSine;
    rate.mean_per_s = table.Number("mean_per_s", {}, kShortest, kMaxRate);
    rate.amplitude_per_s = table.Number("amplitude_per_s", {}, 0, rate.mean_per_s);
    rate.peak_s = table.Number("peak_s", 0, 0, rate.period_s);
    return rate;
  }
  if (shape != "linear" && shape != "steps")
    table.Fail("shape", fmt::format("is \"{}\"", shape), "sine, linear, steps, series");
  table.AllowOnly({"shape", "period_s", "points"});
  rate.shape = shape == "linear" ? RateFunction::Shape::kLinear : RateFunction::Shape::kSteps;
  ReadPoints(table, &rate);
  return rate;
}

DiurnalSpec ReadDiurnal(const TomlTable& table, const std::filesystem::path& folder) {
  AllowKeysOf(table, {"rate"});
  const DiurnalSpec spec{ReadRate(table.Table("rate"), folder)};
  const auto& points = spec.rate.points;
  const bool silent = std::all_of(points.begin(), points.end(),
                                  [](const auto& point) { return point.rate_per_s <= 0; });
  if (spec.rate.shape != RateFunction::Shape::kSine && silent)
    table.Fail("rate", "is 0 at all times", "a rate above 0 somewhere");
  return spec;
}

BurstsSpec ReadBursts(const TomlTable& table) {
  AllowKeysOf(table, {"pause", "burst"});
  BurstsSpec spec;
  spec.pause = RequiredDistribution(table, "pause");
  const TomlTable burst = table.Table("burst");
  burst.AllowOnly({"mean_size", "sizes", "gap_s"});
  const std::string sizes = burst.String("sizes", "geometric");
  if (sizes != "geometric" && sizes != "fixed")
    burst.Fail("sizes", fmt::format("is \"{}\"", sizes), "geometric, fixed");
  spec.geometric = sizes == "geometric";
  spec.mean_size = burst.Number("mean_size", {}, 1, kMaxRate);
  if (!spec.geometric && spec.mean_size != std::floor(spec.mean_size))
    burst.Fail("mean_size", fmt::format("is {}", spec.mean_size),
               "a whole number where all have it");
  spec.gap_s = burst.Number("gap_s", 0, 0, kMaxProcessSeconds);
  RefuseZero(table, "pause.mean_s", spec.pause.mean);
  return spec;
}

ClosedLoopSpec ReadClosedLoop(const TomlTable& table) {
  AllowKeysOf(table, {"users", "service", "think"});
  const ClosedLoopSpec spec{static_cast<int>(table.Integer("users", {}, 1, kMaxUsers)),
                            RequiredDistribution(table, "service"),
                            RequiredDistribution(table, "think")};
  RefuseZero(table, "service.mean_s", spec.service.mean + spec.think.mean);
  return spec;
}

LoadGenSpec ReadLoadGen(const TomlTable& table) {
  AllowKeysOf(table, {"scenario", "target_qps", "latency_s", "samples_per_query", "min_query_count",
                      "min_duration_s"});
  LoadGenSpec spec;
  const std::string name = table.String("scenario");
  if (!ParseScenario(name, &spec.scenario))
    table.Fail("scenario", fmt::format("is \"{}\"", name), ScenarioNames());
  using Scenario = LoadGenSpec::Scenario;
  const bool streams =
      spec.scenario == Scenario::kSingleStream || spec.scenario == Scenario::kMultiStream;
  if (streams) {
    spec.latency_s = table.Number("latency_s", {}, kShortest, kMaxProcessSeconds);
  } else {
    spec.target_qps = table.Number("target_qps", {}, kShortest, kMaxRate);
  }
  const auto refuse = [&](const char* key, bool belongs, const char* owners) {
    if (!belongs && table.Has(key))
      table.Fail(key, fmt::format("has no meaning for {}", name), owners);
  };
  refuse("latency_s", streams, "only with SingleStream, MultiStream");
  refuse("target_qps", !streams, "only with Server, Offline");
  refuse("samples_per_query", spec.scenario == Scenario::kMultiStream, "only with MultiStream");
  if (spec.scenario == Scenario::kMultiStream)
    spec.samples_per_query = table.Integer("samples_per_query", 8, 1, kMaxUsers);
  spec.min_query_count = table.Integer("min_query_count", 0, 0, int64_t{1} << 53);
  spec.min_duration_s = table.Number("min_duration_s", 0, 0, kMaxProcessSeconds);
  return spec;
}

}  // namespace

ProcessSpec ReadProcess(const TomlTable& table, const std::filesystem::path& folder) {
  const std::string process = table.String("process");
  if (process == "renewal") return ReadRenewal(table);
  if (process == "mmpp") return ReadMmpp(table);
  if (process == "diurnal") return ReadDiurnal(table, folder);
  if (process == "bursts") return ReadBursts(table);
  if (process == "closed-loop") return ReadClosedLoop(table);
  if (process == "loadgen") return ReadLoadGen(table);
  table.Fail("process", fmt::format("is \"{}\"", process),
             "renewal, mmpp, diurnal, bursts, closed-loop, loadgen");
}

}  // namespace cosched
