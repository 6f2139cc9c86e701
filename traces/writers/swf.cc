// The Standard Workload Format, version 2.2, of the Parallel Workloads Archive
// (www.cs.huji.ac.il/labs/parallel/workload/swf.html): a header of "; Name: value" lines, then 18
// fields a job, -1 = not known. Columns of the source that are called as the fields are (those of
// our swf reader) are copied; otherwise the shared facts fill what they can. Times are whole
// seconds, rounded to the nearest. Users are natural numbers: tenants who are none are numbered in
// the order of their first arrivals.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <unordered_map>

#include "traces/input/swf_fields.h"
#include "traces/writers.h"

namespace cosched {

TraceTarget SwfTarget();  // Named in writers.cc.

namespace {

constexpr size_t kMostUsers = 1'000'000;  // That are numbered; what comes after them is not known.

int64_t RoundedSeconds(Duration time) {
  return std::chrono::floor<std::chrono::seconds>(time + std::chrono::milliseconds(500)).count();
}

bool IsNumber(std::string_view cell) {
  double ignored = 0;
  const char* const end = cell.data() + cell.size();
  const auto [rest, error] = std::from_chars(cell.data(), end, ignored);
  return error == std::errc() && rest == end;
}

bool IsInteger(std::string_view cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789") == std::string_view::npos;
}

class SwfWriter final : public TraceWriter {
 public:
  explicit SwfWriter(const TraceSurvey& survey) : survey_(survey), origin_(Origin(survey)) {
    for (size_t field = 0; field < kSwfFields; ++field)
      columns_[field] = survey.Column(kSwfNames[field]);
    columns_[kSwfSubmit].reset();  // What was selected may come at another time.
  }

  void Begin(std::string* out) override {
    const auto line = [out](std::string_view name, const auto& value) {
      fmt::format_to(std::back_inserter(*out), "; {}: {}\n", name, value);
    };
    line("Version", "2.2");
    line("Conversion", fmt::format("cosched trace convert, from the format {}", survey_.format));
    line("MaxJobs", survey_.arrivals());
    line("MaxRecords", survey_.arrivals());
    if (origin_ > Duration{0}) line("UnixStartTime", StartSeconds());
    if (survey_.most_cores > 0) line("MaxProcs", survey_.most_cores);
    if (survey_.longest > Duration{0}) line("MaxRuntime", RoundedSeconds(survey_.longest));
  }

  void Write(const Arrival& arrival, std::string* out) override {
    ++jobs_;
    for (size_t field = 0; field < kSwfFields; ++field) {
      if (field > 0) *out += ' ';
      if (!columns_[field]) {
        fmt::format_to(std::back_inserter(*out), "{}", FromFacts(field, arrival));
        continue;
      }
      const std::string_view cell = arrival.attributes[*columns_[field]];
      *out += IsNumber(cell) ? cell : std::string_view("-1");
    }
    *out += '\n';
  }

 private:
  int64_t StartSeconds() const { return std::chrono::floor<std::chrono::seconds>(origin_).count(); }

  int64_t FromFacts(size_t field, const Arrival& arrival) {
    switch (field) {
      case kSwfJobNumber: return jobs_;
      case kSwfSubmit: return RoundedSeconds(arrival.time) - StartSeconds();
      case kSwfRunTime: return arrival.duration ? RoundedSeconds(*arrival.duration) : -1;
      case kSwfRequested: return Cores(arrival);
      case kSwfUser: return User(arrival.tenant);
      default: return -1;
    }
  }

  static int64_t Cores(const Arrival& arrival) {
    if (arrival.cores_preferred) return *arrival.cores_preferred;
    if (arrival.cores_max) return *arrival.cores_max;
    return arrival.cores_min.value_or(-1);
  }

  int64_t User(std::string_view tenant) {
    if (tenant.empty()) return -1;
    int64_t user = 0;
    if (IsInteger(tenant) &&
        std::from_chars(tenant.data(), tenant.data() + tenant.size(), user).ec == std::errc()) {
      return user;
    }
    if (users_.size() >= kMostUsers && !users_.contains(std::string(tenant))) return -1;
    return users_.try_emplace(std::string(tenant), static_cast<int64_t>(users_.size()) + 1)
        .first->second;
  }

  const TraceSurvey survey_;
  const Duration origin_;
  std::array<std::optional<size_t>, kSwfFields> columns_;
  int64_t jobs_ = 0;
  std::unordered_map<std::string, int64_t> users_;
};

std::unique_ptr<TraceWriter> Make(const TraceSurvey& survey) {
  return std::make_unique<SwfWriter>(survey);
}

std::vector<std::string> Losses(const TraceSurvey& survey) {
  std::vector<size_t> held;
  for (std::string_view name : kSwfNames) {
    if (const std::optional<size_t> column = survey.Column(name)) held.push_back(*column);
  }
  LossList losses(survey);
  losses.AddOrigin(std::min(Origin(survey), Duration{0}));  // Else the header tells it.
  losses.Add(survey.split_seconds, "fractions of a second", "times are rounded");
  if (!survey.Column(kSwfNames[kSwfRunTime]))
    losses.Add(survey.split_durations, "fractions of a second of durations", "they are rounded");
  losses.Add(kRequest, "kind", "requests become jobs");
  if (!survey.Column(kSwfNames[kSwfUser]))
    losses.Add(kTenant, "names of tenants", "numbered by first arrival, unless they are numbers");
  losses.Add(kSize, "size");
  const auto other_cores = std::max(survey.having[kCoresMin], survey.having[kCoresMax]);
  losses.Add(survey.having[kCoresPreferred] > 0 ? other_cores : 0, "cores_min and cores_max",
             "cores_preferred is kept");
  return losses.Add(kDeadline, "deadline").Add(kPriority, "priority").AddColumns(held).Lines();
}

}  // namespace

TraceTarget SwfTarget() {
  return {.name = "swf",
          .summary = "Standard Workload Format 2.2: jobs, whole seconds",
          .make = Make,
          .losses = Losses};
}

}  // namespace cosched
