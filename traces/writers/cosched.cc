// Our own CSV format (traces/FORMAT.md). It holds every fact of an arrival, and the source's
// columns as attributes; a column whose name means something to the format gets the source's name
// in front of it, unless it means just that.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "traces/input/formats.h"
#include "traces/writers.h"

namespace cosched {

TraceTarget CoschedTarget();  // Named in writers.cc.

namespace {

constexpr std::array<std::string_view, 12> kNames = {
    "arrival_s", "workload",        "kind",      "tenant",     "size",    "steps", "duration_s",
    "cores_min", "cores_preferred", "cores_max", "deadline_s", "priority"};

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// In quotes where it needs them: outside of them blanks at the ends are left out.
void AppendCell(std::string_view cell, std::string* out) {
  const bool blank_ends = !cell.empty() && (IsBlank(cell.front()) || IsBlank(cell.back()));
  if (!blank_ends && cell.find_first_of(",\"\n\r") == std::string_view::npos) {
    *out += cell;
    return;
  }
  *out += '"';
  for (char c : cell) {
    if (c == '"') *out += c;
    *out += c == '\n' || c == '\r' ? ' ' : c;
  }
  *out += '"';
}

// Times of the format are not negative.
Duration NegativeOrigin(const TraceSurvey& survey) {
  return survey.first < Duration{0} ? survey.first : Duration{0};
}

class CoschedWriter final : public TraceWriter {
 public:
  explicit CoschedWriter(const TraceSurvey& survey) : origin_(NegativeOrigin(survey)) {
    const bool ours = survey.format == "cosched";
    const auto there = [&](Fact fact) { return survey.having[fact] > 0; };
    const auto fact = [&](bool written, const char* name, auto append) {
      if (written) facts_.push_back({name, append});
    };
    fact(there(kRequest), "kind", [](const Arrival& a, std::string* out) {
      *out += a.kind == Arrival::Kind::kRequest ? "request" : "job";
    });
    fact(there(kTenant) && !(ours && survey.Repeats("workload", kTenant)), "tenant",
         [](const Arrival& a, std::string* out) { AppendCell(a.tenant, out); });
    fact(there(kSize) && !(ours && survey.Repeats("steps", kSize)), "size",
         [](const Arrival& a, std::string* out) { AppendInteger(a.size, out); });
    fact(there(kDuration), "duration_s",
         [](const Arrival& a, std::string* out) { AppendTime(a.duration, out); });
    fact(there(kCoresMin), "cores_min",
         [](const Arrival& a, std::string* out) { AppendInteger(a.cores_min, out); });
    fact(there(kCoresPreferred), "cores_preferred",
         [](const Arrival& a, std::string* out) { AppendInteger(a.cores_preferred, out); });
    fact(there(kCoresMax), "cores_max",
         [](const Arrival& a, std::string* out) { AppendInteger(a.cores_max, out); });
    fact(there(kDeadline), "deadline_s",
         [](const Arrival& a, std::string* out) { AppendTime(a.deadline, out); });
    fact(there(kPriority), "priority",
         [](const Arrival& a, std::string* out) { AppendInteger(a.priority, out); });
    for (size_t i = 0; i < survey.columns.size(); ++i) AddColumn(survey, i, ours);
    if (!ours && LooksLikeAnother()) {
      for (Column& column : columns_) column.name = Prefixed(survey, survey.columns[column.index]);
    }
  }

  void Begin(std::string* out) override {
    *out += "arrival_s";
    for (const FactColumn& fact : facts_) {
      *out += ',';
      *out += fact.name;
    }
    for (const Column& column : columns_) {
      *out += ',';
      AppendCell(column.name, out);
    }
    *out += '\n';
  }

  void Write(const Arrival& arrival, std::string* out) override {
    AppendSeconds(arrival.time - origin_, out);
    for (const FactColumn& fact : facts_) {
      *out += ',';
      fact.append(arrival, out);
    }
    for (const Column& column : columns_) {
      *out += ',';
      AppendCell(arrival.attributes[column.index], out);
    }
    *out += '\n';
  }

 private:
  struct FactColumn {
    std::string_view name;
    void (*append)(const Arrival& arrival, std::string* out);
  };
  struct Column {
    std::string name;
    size_t index;
  };

  template <typename Integer>
  static void AppendInteger(const std::optional<Integer>& value, std::string* out) {
    if (value) fmt::format_to(std::back_inserter(*out), "{}", *value);
  }
  static void AppendTime(const std::optional<Duration>& time, std::string* out) {
    if (time) AppendSeconds(*time, out);
  }

  static std::string Prefixed(const TraceSurvey& survey, const std::string& name) {
    return survey.format + "_" + name;
  }

  void AddColumn(const TraceSurvey& survey, size_t index, bool ours) {
    const std::string& name = survey.columns[index];
    const bool known = std::find(kNames.begin(), kNames.end(), name) != kNames.end();
    if (ours) {  // The facts stand for all known columns but these.
      if (!known || name == "workload" || name == "steps") columns_.push_back({name, index});
    } else if (!survey.repeats[index][kTime]) {
      columns_.push_back({known ? Prefixed(survey, name) : name, index});
    }
  }

  bool LooksLikeAnother() {
    std::string header;
    Begin(&header);
    const TraceHead head = {.text = header, .is_all = false, .file_name = ""};
    return std::any_of(
        TraceFormats().begin(), TraceFormats().end(),
        [&](const TraceFormat& format) { return format.name != "cosched" && format.detect(head); });
  }

  const Duration origin_;
  std::vector<FactColumn> facts_;
  std::vector<Column> columns_;
};

std::unique_ptr<TraceWriter> Make(const TraceSurvey& survey) {
  return std::make_unique<CoschedWriter>(survey);
}

std::vector<std::string> Losses(const TraceSurvey& survey) {
  LossList losses(survey);
  losses.AddOrigin(NegativeOrigin(survey));
  std::vector<std::string> lines = losses.Lines();
  if (survey.line_breaks > 0)
    lines.push_back(fmt::format("line breaks in {} cells: they become blanks", survey.line_breaks));
  return lines;
}

}  // namespace

TraceTarget CoschedTarget() {
  return {.name = "cosched",
          .summary = "our own, holds all facts; traces/FORMAT.md",
          .make = Make,
          .losses = Losses};
}

}  // namespace cosched
