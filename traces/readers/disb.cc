// disb: the workloads of the Deep Learning Inference Serving Benchmark (github.com/SJTU-IPADS/disb,
// benchmarks/workloads): an object with "time" in seconds and "tasks", each a client with an id and
// a load. load.type says when it asks:
//   trace       at the offsets of load.trace, in milliseconds;
//   periodic    load.frequency times a second, the first time at 0, until "time";
//   poisson     so often on average, drawn from TraceOptions::seed, each client from its own
//               stream;
//   continuous  again and again, when it has its answer: a closed loop, of which the file can't say
//               when it asks. Such clients have no arrivals here.
// Who: the task's id. Size: its client.batch_size. The task's other values are attributes. A row is
// an offset, or a task that has none.

#include <algorithm>
#include <array>
#include <cstring>

#include "traces/generators/generated_trace.h"
#include "traces/input/formats.h"
#include "traces/input/json_reader.h"
#include "traces/input/numbers.h"

namespace cosched {

TraceFormat DisbFormat();  // Named in formats.cc.

namespace {

constexpr size_t kMaxTasks = 10'000;
constexpr int64_t kMaxBatch = int64_t{1} << 40;
constexpr int64_t kMaxFrequency = 1'000'000;  // Arrivals/s.
constexpr size_t kMaxBytes = 64 << 20;        // Bytes of all tasks' values but offsets.

struct Task {
  JsonRecord record;
  std::string tenant;
  std::optional<int64_t> size;
  bool refused = false;  // The task's offsets are left out.
};

class DisbReader final : public TraceReader {
 public:
  DisbReader(std::unique_ptr<TextInput> input, const TraceOptions& options)
      : file_(input->File()), log_(options.on_bad_row) {
    builder_.Stream("load.trace", [this](const JsonScalar& offset) { TakeOffset(offset); });
    ReadObjects(
        input.get(), "tasks", &builder_, [this] { EndTask(); },
        [this](std::string_view key, const JsonScalar& scalar, const JsonPlace& place) {
          if (key == "time") TakeTime(scalar, place);
        });
    sort_.Finish();
    NextListed();
    PrepareDrawn(options.seed);
    if (!listed_ && !drawn_) RefuseNothing();
  }

  std::span<const std::string> Columns() const override { return columns_; }
  int Line() const override { return 0; }
  Counts RowCounts() const override { return log_.Counts(); }

  bool Next(Arrival* arrival) override {
    if (!listed_ && !drawn_) return false;
    const bool take_listed = listed_ && (!drawn_ || listed_->time <= drawn_->time);
    const Coming next = take_listed ? *listed_ : *drawn_;
    Tell(next, arrival);
    if (take_listed) {
      NextListed();
    } else {
      NextDrawn();
    }
    return true;
  }

 private:
  struct Coming {
    Duration time;
    size_t task;
  };

  void Tell(const Coming& coming, Arrival* arrival) {
    const Task& task = tasks_[coming.task];
    *arrival = {};
    arrival->time = coming.time;
    arrival->kind = Arrival::Kind::kRequest;
    arrival->tenant = task.tenant;
    arrival->size = task.size;
    cells_.assign(columns_.size(), {});
    for (size_t i = 0; i < columns_.size(); ++i) {
      const JsonRecord::Field* field = task.record.Find(columns_[i]);
      if (field != nullptr) cells_[i] = field->text;
    }
    arrival->attributes = cells_;
  }

  void NextListed() {
    int64_t time = 0;
    std::string_view bytes;
    size_t task = 0;
    listed_.reset();
    do {
      if (!sort_.Next(&time, &bytes)) return;
      std::memcpy(&task, bytes.data(), sizeof task);
    } while (tasks_[task].refused);
    listed_ = Coming{Duration(time), task};
  }

  void NextDrawn() {
    Arrival arrival;
    int64_t task = 0;
    drawn_.reset();
    if (!generated_->Next(&arrival)) return;
    ParseInteger(arrival.attributes[0], &task);
    drawn_ = Coming{arrival.time, static_cast<size_t>(task)};
  }

  // Takes an offset of the task that is being read, whose id may still be to come.
  void TakeOffset(const JsonScalar& offset) {
    ++offsets_;
    log_.Try([&] {
      Duration time{0};
      if (!ParseMilliseconds(offset.text, &time) || time < Duration::zero())
        builder_.Record().Fail("load.trace", "holds " + Quoted(offset.text), "milliseconds from 0");
      const size_t task = tasks_.size();
      sort_.Add(time.count(), {reinterpret_cast<const char*>(&task), sizeof task});
    });
  }

  void EndTask() {
    const bool traced = offsets_ > 0;
    offsets_ = 0;
    if (tasks_.size() == kMaxTasks) builder_.Record().Fail("tasks", "are more than 10000", "fewer");
    Task task{.record = builder_.Record(), .tenant = {}, .size = {}, .refused = true};
    const auto read = [&] { Check(&task, traced); };
    // Offsets are rows; a task without any is a row of its own.
    if (traced) {
      read();
    } else {
      log_.Try(read);
    }
    for (const JsonRecord::Field& field : task.record.Fields()) {
      if (std::find(columns_.begin(), columns_.end(), field.key) == columns_.end())
        columns_.push_back(field.key);
    }
    if (columns_.size() > ArrivalSorter::kMaxColumns)
      task.record.Fail("tasks", "have more than 256 keys", "fewer");
    tasks_.push_back(std::move(task));
  }

  static void Check(Task* task, bool traced) {
    const JsonRecord& record = task->record;
    const std::string_view type = record.Text("load.type");
    constexpr std::array<std::string_view, 4> kTypes = {"trace", "periodic", "poisson",
                                                        "continuous"};
    if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end())
      record.Fail("load.type", "is " + Quoted(type), "trace, periodic, poisson, continuous");
    if (traced != (type == "trace")) {
      record.Fail("load.trace", traced ? "has no meaning for " + Quoted(type) : "has no offsets",
                  "offsets where load.type is \"trace\"");
    }
    if (type == "periodic" || type == "poisson") Frequency(record);
    task->tenant = record.Text("id");
    task->size = record.Integer("client.batch_size", 0, kMaxBatch);
    task->refused = false;
  }

  static double Frequency(const JsonRecord& record) {
    int64_t billionths = 0;
    const std::string_view text = record.Text("load.frequency");
    if (!ParseScaled(text, 9, &billionths) || billionths <= 0 ||
        billionths > kMaxFrequency * 1'000'000'000) {
      record.Fail("load.frequency", "is " + Quoted(text), "arrivals/s above 0, up to 1e6");
    }
    return static_cast<double>(billionths) / 1e9;
  }

  void TakeTime(const JsonScalar& scalar, const JsonPlace& place) {
    Duration time{0};
    if (!ParseSeconds(scalar.text, &time) || time < Duration::zero()) {
      throw InputError({.file = *place.file,
                        .line = place.line,
                        .key = "time",
                        .problem = "is " + Quoted(scalar.text),
                        .allowed = "seconds"});
    }
    time_ = time;
  }

  void PrepareDrawn(uint64_t seed) {
    std::vector<GeneratorSpec> generators;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const Task& task = tasks_[i];
      if (task.refused) continue;
      const std::string_view type = task.record.Text("load.type");
      if (type != "periodic" && type != "poisson") continue;
      if (!time_) task.record.Fail("time", "is required", "seconds, beside the tasks");
      const double gap_s = 1 / Frequency(task.record);
      GeneratorSpec generator;
      if (type == "poisson") {
        generator.process = RenewalSpec{{.kind = Distribution::Kind::kExponential, .mean = gap_s}};
      } else {  // From 0 on.
        LoadGenSpec beat;
        beat.scenario = LoadGenSpec::Scenario::kSingleStream;
        beat.latency_s = gap_s;
        beat.min_duration_s = ToSeconds(*time_);
        generator.process = beat;
      }
      generator.cells = {std::to_string(i)};
      generators.push_back(std::move(generator));
    }
    if (generators.empty()) return;
    generated_ =
        std::make_unique<GeneratedTrace>(std::vector<std::string>{"task"}, std::move(generators),
                                         TraceLimits{.arrivals = {}, .length = time_}, seed);
    NextDrawn();
  }

  [[noreturn]] void RefuseNothing() const {
    throw InputError({.file = file_,
                      .key = "tasks",
                      .problem = "none has arrivals",
                      .allowed = "one with load.type trace, periodic or poisson: when a continuous "
                                 "one asks depends on the answers"});
  }

  std::string file_;
  BadRowLog log_;
  JsonRecordBuilder builder_;
  ExternalSort sort_;  // Sorts the offsets.
  std::unique_ptr<GeneratedTrace> generated_;
  std::optional<Coming> listed_;  // The next one of each.
  std::optional<Coming> drawn_;
  std::vector<Task> tasks_;
  std::vector<std::string> columns_;
  std::vector<std::string_view> cells_;
  std::optional<Duration> time_;
  size_t bytes_ = 0;
  int64_t offsets_ = 0;  // Offsets of the task that is being read.
};

bool Detect(const TraceHead& head) {
  const size_t first = head.text.find_first_not_of(" \t\r\n");
  const auto holds = [&head](std::string_view text) {
    return head.text.find(text) != std::string_view::npos;
  };
  return first != std::string_view::npos && head.text[first] == '{' && holds("\"tasks\"") &&
         holds("\"load\"") && holds("\"type\"");
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return std::make_unique<DisbReader>(std::move(input), options);
}

}  // namespace

TraceFormat DisbFormat() {
  return {.name = "disb",
          .summary = "JSON, tasks[].load.{type,trace}; the clients of DISB",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
