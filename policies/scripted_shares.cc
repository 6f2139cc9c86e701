// Plays a fixed timetable of shares to every job, for experiments about quotas rather than policies:
// what becomes of a program whose CPU time is changed while it runs, by the rule by which its threads
// follow. Times are seconds since the job's start. A job starts, first come first served, on the first
// node that has room for its first entry; one that asks for more than is free later waits for it.

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/node_jobs.h"
#include "policies/registry.h"
#include "policies/timetable.h"

namespace cosched {
namespace {

constexpr TimetableForm kShareForm{
    .key = "policy.scripted-shares.timetable",
    .allowed =
        "text: SECONDS:CORES with a space between entries, the first at 0, then rising; cores: "
        "numbers from 0.1 to 4096"};

struct ShareEntry {
  Duration at{0};
  CpuShare amount;
};

std::vector<ShareEntry> ParseShares(std::string_view text) {
  constexpr double kLeast = 0.1, kMost = 4096;
  std::vector<ShareEntry> entries;
  for (const TimedEntry& entry : SplitTimetable(text, kShareForm)) {
    double cores = 0;
    const char* const last = entry.value.data() + entry.value.size();
    const auto [end, error] = std::from_chars(entry.value.data(), last, cores);
    if (error != std::errc() || end != last || !(cores >= kLeast && cores <= kMost))
      RefuseEntry(kShareForm, entry.text, "has no number of cores");
    entries.push_back({.at = entry.at, .amount = {static_cast<int64_t>(cores * 1000 + 0.5)}});
  }
  return entries;
}

class ScriptedShares final : public Policy {
 public:
  ScriptedShares(std::vector<ShareEntry> timetable, bool round_up)
      : timetable_(std::move(timetable)), round_up_(round_up) {}

  Allocation Decide(const MachineView& view, const Event&) override {
    Allocation allocation;
    const NodeJobs jobs(view);
    for (size_t node = 0; node < jobs.Nodes(); ++node) {
      CpuShare left = CpuShare::OfCores(view.nodes[node].Count());
      for (const auto& [job, rank] : jobs.Of(node))
        left -= job->IsActive() ? job->amount : CpuShare();
      for (const auto& [job, rank] : jobs.Of(node)) {
        const CpuShare held = job->IsActive() ? job->amount : CpuShare();
        const CpuShare amount = std::min(Due(view, *job), CpuShare::OfCores(job->request.max));
        if (amount == held || amount - held > left) continue;
        left -= amount - held;
        allocation.jobs[job->id] =
            Run{.cores = Share{.amount = amount, .node = static_cast<int>(node)},
                .split = job->SplitOn(ThreadsOf(amount))};
      }
    }
    return allocation;
  }

  Duration TickPeriod() const override { return std::chrono::milliseconds(20); }

 private:
  CpuShare Due(const MachineView& view, const JobView& job) const {
    const Duration since = job.started ? view.now - *job.started : Duration(0);
    const auto next =
        std::upper_bound(timetable_.begin(), timetable_.end(), since,
                         [](Duration time, const ShareEntry& entry) { return time < entry.at; });
    return std::prev(next)->amount;
  }

  int ThreadsOf(CpuShare amount) const {
    return round_up_ ? amount.Threads() : std::max(1, static_cast<int>(amount.milli / 1000));
  }

  const std::vector<ShareEntry> timetable_;
  const bool round_up_;
};

constexpr std::array<PolicyParameter, 2> kScriptedSharesParameters{{
    {"timetable", "0:1", kShareForm.allowed, "how many cores' CPU time every job gets, and when"},
    {"threads", "ceil", "ceil | floor",
     "how many a malleable job has: as many as can use its share, or as have a whole core"},
}};

}  // namespace

PolicyInfo ScriptedSharesPolicy() {
  return {.name = "scripted-shares",
          .summary = "plays a fixed timetable of shares of cores to every job",
          .source = "",
          .parameters = kScriptedSharesParameters,
          .shares = true,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<ScriptedShares>(ParseShares(parameters.at("timetable")),
                                                    parameters.at("threads") == "ceil");
          }};
}

}  // namespace cosched
