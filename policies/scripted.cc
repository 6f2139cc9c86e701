// Plays a fixed timetable to every job, for experiments about mechanism rather than policy: what a
// resize does at a known moment, beside the same job left alone. Times are seconds since the job's
// start. A job starts, first come first served, once what its first entry says is free; an entry
// that asks for more than is free is met as far as possible and completed when cores come free; one
// of 0 cores pauses. Counts are kept within the job's min and max and the machine. A list of cores is
// met once all of them are the job's own or free.

#include <algorithm>
#include <charconv>
#include <climits>
#include <string>
#include <string_view>
#include <vector>

#include "policies/queue_order.h"
#include "policies/registry.h"
#include "policies/timetable.h"

namespace cosched {
namespace {

constexpr TimetableForm kCoreForm{.key = "policy.scripted.timetable",
                                  .allowed =
                                      "text: SECONDS:CORES[:INTERxINTRA] with a space between "
                                      "entries, the first at 0, then rising; "
                                      "numbers, or all = as many as the job may have; CORES also a "
                                      "list of which, such as [0-1,4]"};
constexpr int kAll = INT_MAX;

struct Entry {
  Duration at{0};
  int cores = kAll;
  std::optional<CpuSet> exactly;
  std::optional<Split> split;  // Default: inter 1, intra = the cores it gets.
};

bool ParseNumber(std::string_view text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseCount(std::string_view text, int* count) {
  if (text != "all") return ParseNumber(text, count);
  *count = kAll;
  return true;
}

// "[0-1,4]". False: it is no list of cores.
bool ParseList(std::string_view text, Entry* entry) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  entry->exactly = CpuSet::Parse(text.substr(1, text.size() - 2));
  if (!entry->exactly || entry->exactly->Empty()) return false;
  entry->cores = entry->exactly->Count();
  return true;
}

Entry ParseEntry(const TimedEntry& timed) {
  std::string_view rest = timed.value;
  Entry entry;
  entry.at = timed.at;
  const std::string_view cores = TakeUntil(':', &rest);
  if (!ParseList(cores, &entry) && (!ParseCount(cores, &entry.cores) || entry.cores < 0))
    RefuseEntry(kCoreForm, timed.text, "has no number of cores");
  if (rest.empty()) return entry;
  Split split;
  const bool whole = ParseCount(TakeUntil('x', &rest), &split.inter) &&
                     ParseCount(rest, &split.intra) && split.inter >= 1 && split.intra >= 1;
  if (!whole) RefuseEntry(kCoreForm, timed.text, "has no split INTERxINTRA, each 1 or more");
  entry.split = split;
  return entry;
}

std::vector<Entry> ParseTimetable(std::string_view text) {
  std::vector<Entry> entries;
  for (const TimedEntry& timed : SplitTimetable(text, kCoreForm)) {
    entries.push_back(ParseEntry(timed));
    if (entries.front().cores == 0) RefuseEntry(kCoreForm, timed.text, "starts on no cores");
  }
  return entries;
}

class Scripted final : public Policy {
 public:
  explicit Scripted(std::vector<Entry> timetable) : timetable_(std::move(timetable)) {}

  Allocation Decide(const MachineView& view, const Event&) override {
    Allocation allocation;
    const CpuSet free_cores = view.FreeCores();
    Room free{free_cores.Count(), free_cores};
    for (const bool shrinks : {true, false}) {  // What some give up, others may take.
      for (const JobView& job : view.jobs) {
        if (job.started && Shrinks(view, job) == shrinks) Follow(view, job, &free, &allocation);
      }
    }
    for (const JobView& job : view.jobs.Waiting()) {
      const Entry& entry = timetable_.front();
      const int cores = Wanted(view, job, entry);
      if (cores > free.count || (entry.exactly && !free.cores.Contains(*entry.exactly))) break;
      free.count -= cores;
      if (entry.exactly) free.cores -= *entry.exactly;
      allocation.jobs[job.id] = RunWith(entry, cores);
    }
    return allocation;
  }

  Duration TickPeriod() const override { return std::chrono::milliseconds(20); }

 private:
  // What is free: lists take from both, numbers from the first.
  struct Room {
    int count;
    CpuSet cores;
  };

  static int Wanted(const MachineView& view, const JobView& job, const Entry& entry) {
    if (entry.exactly) return entry.cores;
    const int most = std::min(job.request.max, view.cores.Count());
    return std::clamp(entry.cores, std::min(job.request.min, most), most);
  }

  static Run RunWith(const Entry& entry, int cores) {
    Run run{.cores = cores, .split = entry.split};
    if (entry.exactly) run.cores = *entry.exactly;
    if (run.split && run.split->inter == kAll) run.split->inter = cores;
    if (run.split && run.split->intra == kAll) run.split->intra = cores;
    return run;
  }

  // The last entry whose time has come.
  const Entry& Due(Duration since_start) const {
    const auto next =
        std::upper_bound(timetable_.begin(), timetable_.end(), since_start,
                         [](Duration time, const Entry& entry) { return time < entry.at; });
    return *std::prev(next);
  }

  bool Shrinks(const MachineView& view, const JobView& job) const {
    const Entry& entry = Due(view.now - *job.started);
    return entry.cores == 0 || Wanted(view, job, entry) < job.cores.Count();
  }

  void Follow(const MachineView& view, const JobView& job, Room* free, Allocation* out) const {
    const Entry& entry = Due(view.now - *job.started);
    const int held = job.cores.Count();
    if (entry.cores == 0) {
      if (job.IsActive()) {
        out->jobs[job.id] = Pause{};
        free->count += held;
      }
      return;
    }
    if (entry.exactly) {
      if (!(free->cores | job.cores).Contains(*entry.exactly)) return;
      free->cores -= *entry.exactly;
    }
    const int cores = std::min(Wanted(view, job, entry), held + free->count);
    if (cores < job.request.min) return;
    free->count += held - cores;
    out->jobs[job.id] = RunWith(entry, cores);
  }

  const std::vector<Entry> timetable_;
};

constexpr PolicyParameter kParameters[] = {
    {"timetable", "0:all", kCoreForm.allowed, "what every job gets, and when"},
};

}  // namespace

PolicyInfo ScriptedPolicy() {
  return {.name = "scripted",
          .summary = "plays a fixed timetable of cores and splits to every job",
          .source = "",
          .parameters = kParameters,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<Scripted>(ParseTimetable(parameters.at("timetable")));
          }};
}

}  // namespace cosched
