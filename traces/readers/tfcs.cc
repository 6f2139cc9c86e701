// tfcs: the request files of the published container scheduler (github.com/leanlibutti/
// Tensorflow-Container-Scheduler, scheduler/Scheduler-host/scheduler.py: creation_requests and
// read_requests), a request a line:
//
//   execution,ID,IMAGE,CORES,GAP_S[,PRIORITY]    a container that asks for CORES cores
//   update,ID,IMAGE,CORES,GAP_S[,PRIORITY]       from now on it asks for CORES
//
// The scheduler waits GAP_S seconds before a request, so an arrival's time is the sum of the gaps
// up to its own, those of updates included; a gap may be in brackets, "[38.2]", as numpy writes it,
// and below 0 (a normal's draw), which is taken as 0: nobody waits a negative time. An update is no
// arrival: it belongs to the execution of its ID, whose attribute `updates` lists "61000ms:12"
// (when, as arrivals count, and the cores), separated by blanks. Who: the image.
//
// A parameters.json of the same scheduler is taken too: number_containers executions of
// tf_dockerimage with its time_gap ("static": the first number; "normal": mean and deviation) and
// resources_per_container ("static": the first number; "random": uniform from the first to below
// the second), priorities 0 to 4 at random, all drawn from TraceOptions::seed.

#include <algorithm>
#include <cstring>
#include <map>

#include "traces/generators/distribution.h"
#include "traces/input/formats.h"
#include "traces/input/json.h"
#include "traces/input/numbers.h"
#include "traces/input/table.h"
#include "traces/input/table_reader.h"

namespace cosched {

TraceFormat TfcsFormat();  // Named in formats.cc.

namespace {

constexpr size_t kMaxRequests = 1'000'000;
constexpr int64_t kMaxContainers = 100'000;
constexpr size_t kMaxBytes = 256 << 20;
constexpr int kMaxCores = 1'000'000;
constexpr int kMaxPriority = 1'000'000;
constexpr size_t kCells = 6;

const std::vector<std::string> kColumns = {"id", "image", "cores", "gap_s", "priority", "updates"};

struct Execution {
  Duration time{0};
  int cores = 1;
  std::optional<int> priority;
  int line = 0;
  std::vector<std::string> cells;  // A text for each of kColumns.
};

class TfcsReader final : public TraceReader {
 public:
  TfcsReader(std::vector<Execution> executions, const Counts& counts)
      : executions_(std::move(executions)), counts_(counts) {}

  std::span<const std::string> Columns() const override { return kColumns; }
  Counts RowCounts() const override { return counts_; }
  int Line() const override { return line_; }

  bool Next(Arrival* arrival) override {
    if (next_ == executions_.size()) return false;
    const Execution& execution = executions_[next_++];
    line_ = execution.line;
    cells_.assign(execution.cells.begin(), execution.cells.end());
    *arrival = {};
    arrival->time = execution.time;
    arrival->tenant = cells_[1];
    arrival->cores_preferred = execution.cores;
    arrival->priority = execution.priority;
    arrival->attributes = cells_;
    return true;
  }

 private:
  std::vector<Execution> executions_;
  std::vector<std::string_view> cells_;
  Counts counts_;
  size_t next_ = 0;
  int line_ = 0;
};

// The lines, into executions in order of time.
class Requests {
 public:
  Requests(TextInput* input, OnBadRow on_bad_row) : input_(input), log_(on_bad_row), splitter_({}) {
    std::string_view line;
    while (input->Line(&line)) {
      if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
      bytes_ += line.size() + sizeof(Execution);
      if (log_.Counts().rows == static_cast<int64_t>(kMaxRequests) || bytes_ > kMaxBytes)
        input->Fail("holds more than a million requests, or 256 MiB", "fewer");
      log_.Try([&] { Take(line); });
    }
    log_.RefuseNothing(input->File());
  }

  std::unique_ptr<TraceReader> Reader() {
    if (executions_.empty())
      throw InputError({.file = input_->File(), .problem = "holds updates only"});
    return std::make_unique<TfcsReader>(std::move(executions_), log_.Counts());
  }

 private:
  void Take(std::string_view line) {
    if (!splitter_.Split(line)) Fail("", "is " + Quoted(line), "cells separated by commas");
    const std::span<const std::string_view> cells = splitter_.Cells();
    const bool update = !cells.empty() && cells[0] == "update";
    if (!update && (cells.empty() || cells[0] != "execution"))
      Fail("", "begins with " + Quoted(cells.empty() ? line : cells[0]), "execution, update");
    if (cells.size() != kCells && cells.size() != kCells - 1) {
      Fail("", "has " + std::to_string(cells.size()) + " cells: " + Quoted(line),
           "execution|update,id,image,cores,gap_s[,priority]");
    }
    Execution request{.time = Now(cells[4]),
                      .cores = Integer("cores", cells[3], 1, kMaxCores),
                      .priority = {},
                      .line = input_->LineNumber(),
                      .cells = {}};
    if (cells.size() == kCells && !cells[5].empty())
      request.priority = Integer("priority", cells[5], -kMaxPriority, kMaxPriority);
    request.cells.assign(cells.begin() + 1, cells.end());
    request.cells.resize(kColumns.size());
    const std::string id(cells[1]);
    now_ = request.time;
    if (update) {
      Update(id, request);
    } else if (!index_.try_emplace(id, executions_.size()).second) {
      Fail("id", "is " + Quoted(id) + ", as an execution before", "an id of its own");
    } else {
      executions_.push_back(std::move(request));
    }
  }

  void Update(const std::string& id, const Execution& request) {
    const auto of = index_.find(id);
    if (of == index_.end()) Fail("id", "is " + Quoted(id), "the id of an execution before it");
    std::string& updates = executions_[of->second].cells.back();
    // Milliseconds are what an experiment can tell apart.
    updates += (updates.empty() ? "" : " ") +
               std::to_string(request.time / std::chrono::milliseconds(1)) +
               "ms:" + std::to_string(request.cores);
  }

  Duration Now(std::string_view gap) const {
    std::string_view text = gap;
    if (text.starts_with('[') && text.ends_with(']') && text.size() > 1)
      text = text.substr(1, text.size() - 2);
    Duration parsed{0};
    if (!ParseSeconds(text, &parsed)) Fail("gap_s", "is " + Quoted(gap), "seconds");
    parsed = std::max(parsed, Duration::zero());
    if (parsed > Duration::max() - now_) Fail("gap_s", "leads beyond the year 2262", "less");
    return now_ + parsed;
  }

  int Integer(const char* column, std::string_view text, int min, int max) const {
    int64_t value = 0;
    if (!ParseInteger(text, &value) || value < min || value > max) {
      Fail(column, "is " + Quoted(text),
           "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    }
    return static_cast<int>(value);
  }

  [[noreturn]] void Fail(const char* column, const std::string& problem,
                         const std::string& allowed) const {
    throw BadRow({.file = input_->File(),
                  .line = input_->LineNumber(),
                  .key = column,
                  .problem = problem,
                  .allowed = allowed});
  }

  TextInput* input_;
  BadRowLog log_;
  CellSplitter splitter_;
  std::vector<Execution> executions_;
  std::map<std::string, size_t> index_;  // By id.
  Duration now_{0};
  size_t bytes_ = 0;
};

// The two numbers of an array's text, "[40,5]".
std::pair<double, double> Pair(const JsonRecord& parameters, std::string_view key) {
  const std::string_view text = parameters.Text(key);
  const size_t comma = text.find(',');
  int64_t first = 0, second = 0;
  if (!text.starts_with('[') || !text.ends_with(']') || comma == std::string_view::npos ||
      !ParseScaled(text.substr(1, comma - 1), 9, &first) ||
      !ParseScaled(text.substr(comma + 1, text.size() - comma - 2), 9, &second) || first < 0 ||
      second < 0) {
    parameters.Fail(key, "is " + Quoted(text), "two numbers from 0 to 9e9, \"[40, 5]\"");
  }
  return {static_cast<double>(first) / 1e9, static_cast<double>(second) / 1e9};
}

bool Chosen(const JsonRecord& parameters, std::string_view key, std::string_view other) {
  const std::string_view text = parameters.Text(key);
  if (text != "static" && text != other)
    parameters.Fail(key, "is " + Quoted(text), "static, " + std::string(other));
  return text == other;
}

std::unique_ptr<TraceReader> Draw(const JsonRecord& parameters, uint64_t seed) {
  if (parameters.Find("number_containers") == nullptr)
    parameters.Fail("number_containers", "is required", "a number of containers");
  const int64_t count = *parameters.Integer("number_containers", 1, kMaxContainers);
  const bool normal = Chosen(parameters, "time_distribution", "normal");
  const auto [mean, sd] = Pair(parameters, "time_gap");
  const bool random_cores = Chosen(parameters, "resources_distribution", "random");
  const auto [least, most] = Pair(parameters, "resources_per_container");
  if (least < 1 || most > kMaxCores || least > kMaxCores || (random_cores && most < least + 1)) {
    parameters.Fail("resources_per_container",
                    "is " + Quoted(parameters.Text("resources_per_container")),
                    "a number of cores; where random, the least and one above the most");
  }
  const std::string image(parameters.Text("tf_dockerimage"));
  const Sampler gaps({.kind = normal ? Distribution::Kind::kNormal : Distribution::Kind::kFixed,
                      .mean = mean,
                      .sd = normal ? sd : 0});
  Random times = Random(seed).Derive("gaps");
  Random rest = Random(seed).Derive("cores and priorities");
  std::vector<Execution> executions;
  Duration now{0};
  for (int64_t i = 0; i < count; ++i) {
    const Duration gap = FromSeconds(gaps.Draw(times));
    now += gap;
    if (now > Duration::max() / 2) parameters.Fail("time_gap", "leads beyond 146 years", "less");
    int cores = static_cast<int>(least);
    if (random_cores) cores += static_cast<int>(rest.Below(static_cast<uint64_t>(most - least)));
    const int priority = static_cast<int>(rest.Below(5));
    executions.push_back({now,
                          cores,
                          priority,
                          parameters.Line(),
                          {std::to_string(i), image, std::to_string(cores),
                           std::to_string(ToSeconds(gap)), std::to_string(priority), ""}});
  }
  return std::make_unique<TfcsReader>(
      std::move(executions), TraceReader::Counts{.rows = count, .skipped = 0, .first_skipped = {}});
}

bool IsParameters(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

bool Detect(const TraceHead& head) {
  if (IsParameters(head.text)) {
    return head.text.find("\"number_containers\"") != std::string_view::npos &&
           head.text.find("\"time_gap\"") != std::string_view::npos;
  }
  return head.FirstLine().starts_with("execution,") || head.FirstLine().starts_with("update,");
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  if (!IsParameters(input->Head())) return Requests(input.get(), options.on_bad_row).Reader();
  JsonPlace place{&input->File(), 1};
  JsonRecordBuilder builder;
  builder.Begin(place);
  ParseJson(input.get(), &builder, &place);
  return Draw(builder.Record(), options.seed);
}

}  // namespace

TraceFormat TfcsFormat() {
  return {
      .name = "tfcs",
      .summary = "execution,id,image,cores,gap_s[,priority]; the published container scheduler's",
      .detect = Detect,
      .open = Open};
}

}  // namespace cosched
