// Our own CSV format (traces/FORMAT.md): a header row that names the columns, then one row an
// arrival, in order of time.

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <system_error>

#include "engine/base/error.h"
#include "traces/formats.h"

namespace cosched {

JobTrace ReadCsvTrace(const std::filesystem::path& file,
                      const ArrivalCheck& check);  // Named in formats.cc.

namespace {

constexpr double kMaxSeconds = 1e9;  // Times are integer nanoseconds: 292 years fit.

constexpr std::array<std::string_view, 7> kColumns = {
    "arrival_s", "workload", "cores_min", "cores_preferred", "cores_max", "priority", "steps"};
constexpr const char* kHeader =
    "arrival_s,workload[,cores_min,cores_preferred,cores_max,priority,steps]";

struct IntegerColumn {
  std::string_view name;
  std::optional<int> JobArrival::*field;
  int min;
};
constexpr std::array<IntegerColumn, 5> kIntegers = {
    {{"cores_min", &JobArrival::cores_min, 1},
     {"cores_preferred", &JobArrival::cores_preferred, 1},
     {"cores_max", &JobArrival::cores_max, 1},
     {"priority", &JobArrival::priority, -1'000'000},
     {"steps", &JobArrival::steps, 1}}};
constexpr int kMaxInteger = 1'000'000'000;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos
             ? ""
             : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string> SplitRow(std::string_view line) {
  std::vector<std::string> cells;
  for (size_t start = 0; start <= line.size();) {
    const size_t comma = std::min(line.find(',', start), line.size());
    cells.emplace_back(Trim(line.substr(start, comma - start)));
    start = comma + 1;
  }
  return cells;
}

template <typename Number>
bool ParseNumber(const std::string& text, Number* value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && rest == end;
}

class CsvTraceReader {
 public:
  CsvTraceReader(const std::filesystem::path& file, const ArrivalCheck& check)
      : file_(file), check_(check) {}

  JobTrace Read() {
    std::error_code ignored;
    std::ifstream stream(file_);
    if (!stream)
      Fail("", std::string("can't be read: ") + std::generic_category().message(errno),
           "a trace file");
    if (std::filesystem::is_directory(file_, ignored)) Fail("", "is a folder", "a trace file");
    std::string line;
    while (std::getline(stream, line)) {
      ++line_;
      if (line_ == 1 && line.starts_with("\xEF\xBB\xBF"))
        line.erase(0, 3);  // What spreadsheets put before UTF-8.
      const std::string_view row = Trim(line);
      if (row.empty() || row.front() == '#') continue;
      if (header_.empty()) {
        ReadHeader(row);
      } else {
        ReadRow(row);
      }
    }
    if (stream.bad())
      Fail("", std::string("can't be read to its end: ") + std::generic_category().message(errno),
           "");
    if (trace_.empty())
      Fail("", "holds no arrival", std::string("a header, ") + kHeader + ", and a row an arrival");
    return std::move(trace_);
  }

 private:
  [[noreturn]] void Fail(const std::string& column, const std::string& problem,
                         const std::string& allowed) const {
    throw InputError({.file = file_.string(),
                      .line = line_,
                      .key = column,
                      .problem = problem,
                      .allowed = allowed});
  }

  void ReadHeader(std::string_view row) {
    header_ = SplitRow(row);
    for (size_t i = 0; i < header_.size(); ++i) {
      if (std::find(kColumns.begin(), kColumns.end(), header_[i]) == kColumns.end()) {
        Fail(header_[i], "unknown column", kHeader);
      }
      if (std::find(header_.begin(), header_.begin() + i, header_[i]) != header_.begin() + i) {
        Fail(header_[i], "is there twice", "each column once");
      }
    }
    for (const char* required : {"arrival_s", "workload"}) {
      if (std::find(header_.begin(), header_.end(), required) == header_.end()) {
        Fail(required, "the header lacks this column", kHeader);
      }
    }
  }

  void ReadRow(std::string_view row) {
    const std::vector<std::string> cells = SplitRow(row);
    if (cells.size() != header_.size()) {
      Fail("", "has " + std::to_string(cells.size()) + " cells",
           std::to_string(header_.size()) + " cells, as the header has");
    }
    JobArrival arrival;
    for (size_t i = 0; i < cells.size(); ++i) ReadCell(header_[i], cells[i], &arrival);
    if (!trace_.empty() && arrival.time < trace_.back().time) {
      Fail("arrival_s", "is earlier than the row before", "rows in order of time");
    }
    if (check_) {
      if (const std::optional<ArrivalProblem> problem = check_(arrival)) {
        Fail(problem->column, problem->problem, problem->allowed);
      }
    }
    trace_.push_back(std::move(arrival));
  }

  void ReadCell(const std::string& column, const std::string& cell, JobArrival* arrival) const {
    if (column == "arrival_s") {
      double seconds = 0;
      if (!ParseNumber(cell, &seconds) || !(seconds >= 0 && seconds <= kMaxSeconds)) {
        Fail(column, "is \"" + cell + "\"", "seconds from 0 to 1e9");
      }
      arrival->time = FromSeconds(seconds);
    } else if (column == "workload") {
      if (cell.empty()) Fail(column, "is empty", "the name of a [[workload]]");
      arrival->workload = cell;
    } else if (!cell.empty()) {  // An empty cell leaves it to the workload.
      const auto* integer =
          std::find_if(kIntegers.begin(), kIntegers.end(),
                       [&column](const IntegerColumn& known) { return known.name == column; });
      int value = 0;
      if (!ParseNumber(cell, &value) || value < integer->min || value > kMaxInteger) {
        Fail(column, "is \"" + cell + "\"",
             "an integer from " + std::to_string(integer->min) + ", or nothing");
      }
      arrival->*(integer->field) = value;
    }
  }

  const std::filesystem::path& file_;
  const ArrivalCheck& check_;
  int line_ = 0;
  std::vector<std::string> header_;
  JobTrace trace_;
};

}  // namespace

JobTrace ReadCsvTrace(const std::filesystem::path& file, const ArrivalCheck& check) {
  return CsvTraceReader(file, check).Read();
}

}  // namespace cosched
