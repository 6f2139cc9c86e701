// Our own format (traces/FORMAT.md is its specification): a header that names the columns, then a
// row an arrival, in order of time. An empty cell says nothing. Lines that begin with '#' are
// comments. Columns that are not listed here are kept as attributes.

#include <algorithm>
#include <array>

#include "traces/input/formats.h"
#include "traces/input/table_reader.h"

namespace cosched {

TraceFormat CoschedFormat();  // Named in formats.cc.

namespace {

constexpr int kMaxInteger = 1'000'000'000;

struct IntegerColumn {
  std::string_view name;
  std::optional<int> Arrival::*field;
  int min;
};
constexpr std::array<IntegerColumn, 4> kIntegers = {
    {{"cores_min", &Arrival::cores_min, 1},
     {"cores_preferred", &Arrival::cores_preferred, 1},
     {"cores_max", &Arrival::cores_max, 1},
     {"priority", &Arrival::priority, -1'000'000}}};

class CoschedRow final : public RowFormat {
 public:
  explicit CoschedRow(const Columns& columns)
      : time_(columns.Required("arrival_s")),
        workload_(columns.Find("workload")),
        tenant_(columns.Find("tenant")),
        kind_(columns.Find("kind")),
        size_(columns.Find("size")),
        steps_(columns.Find("steps")),
        duration_(columns.Find("duration_s")),
        deadline_(columns.Find("deadline_s")) {
    for (size_t i = 0; i < kIntegers.size(); ++i) integers_[i] = columns.Find(kIntegers[i].name);
  }

  size_t TimeColumn() const override { return time_; }

  bool IsFact(size_t column) const override {
    return column == time_ || column == tenant_ || column == size_ || column == duration_ ||
           column == deadline_ ||
           std::find(integers_.begin(), integers_.end(), column) != integers_.end();
  }

  void Read(const Row& row, Arrival* arrival) const override {
    arrival->time = row.Seconds(time_);
    if (workload_ && row.Empty(*workload_)) row.Refuse(*workload_, "the name of a workload");
    arrival->tenant = tenant_ ? row.Text(tenant_) : row.Text(workload_);
    if (row.Has(kind_)) arrival->kind = Kind(row);
    if (row.Has(size_)) arrival->size = row.Integer(*size_, 0);
    if (row.Has(steps_)) {
      const int64_t steps = row.Integer(*steps_, 1, kMaxInteger);
      if (!arrival->size) arrival->size = steps;
    }
    if (row.Has(duration_)) arrival->duration = row.Seconds(*duration_);
    if (row.Has(deadline_)) arrival->deadline = row.Seconds(*deadline_);
    for (size_t i = 0; i < kIntegers.size(); ++i) {
      if (!row.Has(integers_[i])) continue;
      arrival->*(kIntegers[i].field) =
          static_cast<int>(row.Integer(*integers_[i], kIntegers[i].min, kMaxInteger));
    }
  }

 private:
  Arrival::Kind Kind(const Row& row) const {
    if (row.Text(kind_) == "job") return Arrival::Kind::kJob;
    if (row.Text(kind_) == "request") return Arrival::Kind::kRequest;
    row.Refuse(*kind_, "job, request, or nothing (a job)");
  }

  size_t time_;
  std::optional<size_t> workload_;
  std::optional<size_t> tenant_;
  std::optional<size_t> kind_;
  std::optional<size_t> size_;
  std::optional<size_t> steps_;
  std::optional<size_t> duration_;
  std::optional<size_t> deadline_;
  std::array<std::optional<size_t>, kIntegers.size()> integers_;
};

constexpr TableFormat kFormat = {.syntax = {.comment = '#'},
                                 .order = TableFormat::Order::kPromised,
                                 .make = MakeRowFormat<CoschedRow>};

bool Detect(const TraceHead& head) { return head.HasColumns({"arrival_s"}, '#'); }

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return ReadTable(std::move(input), kFormat, options.on_bad_row);
}

}  // namespace

TraceFormat CoschedFormat() {
  return {.name = "cosched",
          .summary =
              "arrival_s,workload[,cores_…,priority,steps,…]; "
              "our own, traces/FORMAT.md",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
