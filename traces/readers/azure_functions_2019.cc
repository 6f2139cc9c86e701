// azure-functions-2019: Azure Functions' invocations of 2019 (invocations_per_function_md.anon.dNN
// .csv of github.com/Azure/AzurePublicDataset): HashOwner,HashApp,HashFunction,Trigger,1,2,…,1440,
// a row a function, a count a minute of the day. Column k is the minute [k - 1, k) from 0.
//
// Where in its minute an invocation lies the file does not say. TraceOptions::spread is the rule
// (formats.h; uniform unless it says otherwise), drawn from TraceOptions::seed with a stream for
// each function and minute, so other rows move nothing.
//
// Durations come from the day's function_durations_percentiles.anon.dNN.csv, whose Average is in
// milliseconds; a function that is not in it has none. Without TraceOptions::durations the file of
// that name beside the trace is taken ("…invocations…" -> "…durations…" for other names), if it is
// there. A malformed row of it is an error under either rule for bad rows.
//
// A row is wide and arrivals go by time, so counts are sorted by minute first (ExternalSort), names
// wait in a temporary file; memory grows only with the functions that are active in one minute, and
// with the rows of the file of durations.

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "traces/input/external_sort.h"
#include "traces/input/formats.h"
#include "traces/input/numbers.h"
#include "traces/input/spread.h"
#include "traces/input/table_reader.h"
#include "traces/input/temporary_file.h"

namespace cosched {

TraceFormat AzureFunctions2019Format();  // Named in formats.cc.

namespace {

constexpr Duration kMinute = std::chrono::minutes(1);
constexpr int64_t kMaxMinute = 100'000'000;
constexpr size_t kMaxFunctions = 1'000'000;

using DurationOfFunction = std::unordered_map<std::string, Duration>;

// The columns that name a function; in traces and files of durations alike.
class FunctionName {
 public:
  explicit FunctionName(const Columns& columns)
      : owner_(columns.Find("HashOwner")),
        app_(columns.Find("HashApp")),
        function_(columns.Required("HashFunction")) {}

  std::string Of(const Row& row) const {
    std::string name(row.Text(owner_));
    name.append(",").append(row.Text(app_)).append(",").append(row.Text(function_));
    return name;
  }
  size_t Function() const { return function_; }

 private:
  std::optional<size_t> owner_;
  std::optional<size_t> app_;
  size_t function_;
};

DurationOfFunction ReadDurations(const std::filesystem::path& file) {
  Table table(std::make_unique<TextInput>(file), {});
  const FunctionName name(table.GetColumns());
  const size_t average = table.GetColumns().Required("Average");
  DurationOfFunction durations;
  std::string_view line;
  while (table.NextLine(&line)) {
    const Row& row = table.Split(line, table.LineNumber());
    Duration duration{0};
    if (!ParseMilliseconds(row.Text(average), &duration)) row.Refuse(average, "milliseconds");
    if (duration >= Duration::zero()) durations[name.Of(row)] = duration;
    if (durations.size() > kMaxFunctions) {
      row.Fail("", "has more than " + std::to_string(kMaxFunctions) + " functions",
               "the durations of one day");
    }
  }
  return durations;
}

std::filesystem::path DurationsBeside(const std::filesystem::path& trace) {
  const std::pair<std::string_view, std::string_view> kNames[] = {
      {"invocations_per_function_md", "function_durations_percentiles"},
      {"invocations", "durations"}};
  for (const auto& [invocations, durations] : kNames) {
    std::string name = trace.filename().string();
    const size_t at = name.find(invocations);
    if (at == std::string::npos) continue;
    name.replace(at, invocations.size(), durations);
    std::filesystem::path beside = trace.parent_path() / name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(beside, ignored)) return beside;
  }
  return {};
}

class InvocationsReader final : public TraceReader {
 public:
  InvocationsReader(std::unique_ptr<TextInput> input, const TraceOptions& options)
      : rule_(options.spread.value_or(Spread::kUniform)),
        random_(options.seed),
        log_(options.on_bad_row),
        table_(std::move(input), {}),
        name_(table_.GetColumns()) {
    const std::filesystem::path durations =
        options.durations.empty() ? DurationsBeside(table_.File()) : options.durations;
    if (!durations.empty()) durations_ = ReadDurations(durations);
    FindColumns();
  }

  std::span<const std::string> Columns() const override { return columns_; }
  Counts RowCounts() const override { return log_.Counts(); }
  int Line() const override { return line_; }

  bool Next(Arrival* arrival) override {
    if (!sorted_) Sort();
    while (heap_.empty()) {
      if (!NextMinute()) return false;
    }
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    Turn& turn = heap_.back();
    Active& active = active_[turn.active];
    arrival_cells_.assign(active.cells.begin(), active.cells.end());
    *arrival = {};
    arrival->time = turn.time;
    arrival->kind = Arrival::Kind::kRequest;
    arrival->tenant = active.cells[function_cell_];
    arrival->duration = active.duration;
    arrival->attributes = arrival_cells_;
    line_ = active.line;
    if (active.times.Next(&turn.time)) {
      std::push_heap(heap_.begin(), heap_.end(), Later);
    } else {
      heap_.pop_back();
    }
    return true;
  }

 private:
  // What is sorted by minute: a count and where its function's cells are.
  struct Cell {
    int64_t cells_at;
    int64_t cells_size;
    int64_t count;
    int64_t duration;  // Nanoseconds; -1 = not known.
    int line;
  };
  // A function in the minute at hand.
  struct Active {
    std::vector<std::string> cells;
    std::optional<Duration> duration;
    int line;
    SpreadArrivals times;
  };
  struct Turn {
    Duration time;
    size_t active;
  };
  static bool Later(const Turn& a, const Turn& b) {
    return a.time != b.time ? a.time > b.time : a.active > b.active;
  }

  // Columns with a number for a name are minutes; all others are attributes.
  void FindColumns() {
    const std::vector<std::string>& names = table_.GetColumns().Names();
    for (size_t i = 0; i < names.size(); ++i) {
      int64_t minute = 0;
      if (ParseInteger(names[i], &minute)) {
        if (minute < 1 || minute > kMaxMinute)
          table_.GetColumns().Fail(names[i], "is no minute", "minutes from 1");
        minutes_.emplace_back(i, minute);
      } else {
        if (i == name_.Function()) function_cell_ = columns_.size();
        kept_.push_back(i);
        columns_.push_back(names[i]);
      }
    }
    if (minutes_.empty()) table_.GetColumns().Required("1");
    columns_.insert(columns_.end(), {"minute", "count"});
  }

  void Sort() {
    sorted_ = true;
    std::string_view line;
    while (table_.NextLine(&line)) {
      log_.Try([&] { AddRow(table_.Split(line, table_.LineNumber())); });
    }
    log_.RefuseNothing(table_.File());
    sort_.Finish();
    more_ = sort_.Next(&minute_, &record_);
  }

  void AddRow(const Row& row) {
    counts_.clear();
    for (const auto& [column, minute] : minutes_) {
      if (row.Text(column) == "0") continue;  // Most of them.
      const int64_t count = row.WholeNumber(column, 0, SpreadArrivals::kMaxCount);
      if (count > 0) counts_.emplace_back(minute, count);
    }
    if (counts_.empty()) return;
    std::string cells;
    for (const size_t column : kept_) cells.append(row.Text(column)).push_back('\0');
    const auto duration = durations_.find(name_.Of(row));
    Cell cell = {.cells_at = names_.Size(),
                 .cells_size = static_cast<int64_t>(cells.size()),
                 .count = 0,
                 .duration = duration == durations_.end() ? -1 : duration->second.count(),
                 .line = row.Line()};
    names_.Append(cells);
    for (const auto& [minute, count] : counts_) {
      cell.count = count;
      sort_.Add(minute, {reinterpret_cast<const char*>(&cell), sizeof cell});
    }
  }

  bool NextMinute() {
    active_.clear();
    if (!more_) return false;
    const int64_t minute = minute_;
    while (more_ && minute_ == minute) {
      Cell cell;
      std::memcpy(&cell, record_.data(), sizeof cell);
      Activate(cell, minute);
      more_ = sort_.Next(&minute_, &record_);
    }
    return true;
  }

  void Activate(const Cell& cell, int64_t minute) {
    std::string text(static_cast<size_t>(cell.cells_size), '\0');
    names_.ReadAt(cell.cells_at, text.data(), text.size());
    std::vector<std::string> cells;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\0', begin);
      cells.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    cells.push_back(std::to_string(minute));
    cells.push_back(std::to_string(cell.count));
    const Random random = random_.Derive(text).Derive(std::to_string(minute));
    active_.push_back(
        {.cells = std::move(cells),
         .duration = cell.duration < 0 ? std::nullopt : std::optional(Duration(cell.duration)),
         .line = cell.line,
         .times = SpreadArrivals(rule_, cell.count, (minute - 1) * kMinute, kMinute, random)});
    Turn turn = {.time = {}, .active = active_.size() - 1};
    if (!active_.back().times.Next(&turn.time)) return;
    heap_.push_back(turn);
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }

  Spread rule_;
  Random random_;
  BadRowLog log_;
  Table table_;
  FunctionName name_;
  DurationOfFunction durations_;
  std::vector<std::string> columns_;
  std::vector<size_t> kept_;                         // The table's columns that are attributes.
  size_t function_cell_ = 0;                         // The function's place among the attributes.
  std::vector<std::pair<size_t, int64_t>> minutes_;  // Column, minute.
  std::vector<std::pair<int64_t, int64_t>> counts_;  // A row's counts: minute, count.

  TemporaryFile names_;
  ExternalSort sort_;
  bool sorted_ = false;
  bool more_ = false;
  int64_t minute_ = 0;  // The minute of the record that comes next.
  std::string_view record_;

  std::vector<Active> active_;
  std::vector<Turn> heap_;
  std::vector<std::string_view> arrival_cells_;
  int line_ = 0;
};

bool Detect(const TraceHead& head) { return head.HasColumns({"HashFunction", "1"}); }

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return std::make_unique<InvocationsReader>(std::move(input), options);
}

}  // namespace

TraceFormat AzureFunctions2019Format() {
  return {.name = "azure-functions-2019",
          .summary = "HashOwner,HashApp,HashFunction,Trigger,1,2,…,1440; invocations per minute",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
