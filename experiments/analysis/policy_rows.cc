#include "experiments/analysis/policy_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "experiments/analysis/statistics.h"
#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

template <typename Metric>
std::string SpreadText(const CellGroup& group, Metric metric, std::string (*format)(double),
                       int digits) {
  return MedianText(group.Values(metric), format, digits);
}

// A median alone.
template <typename Metric>
std::string Middle(const CellGroup& group, Metric metric, std::string (*format)(double)) {
  const std::vector<double> values = group.Values(metric);
  return values.empty() ? "-" : format(Median(values));
}

std::string Milliseconds(double seconds) { return RoundedText(seconds * 1e3); }

// "3 rejected, 1 failed".
std::string LossKinds(const CellGroup& group) {
  int rejected = 0, failed = 0, cancelled = 0;
  for (const ComparedCell& cell : group.cells) {
    rejected += cell.summary.rejected;
    failed += cell.summary.failed;
    cancelled += cell.summary.cancelled;
  }
  std::vector<std::string> kinds;
  if (rejected > 0) kinds.push_back(fmt::format("{} rejected", rejected));
  if (failed > 0) kinds.push_back(fmt::format("{} failed", failed));
  if (cancelled > 0) kinds.push_back(fmt::format("{} cancelled", cancelled));
  return fmt::format("{}", fmt::join(kinds, ", "));
}

// Nobody wins by losing jobs: the fewer there are, the faster all looks.
std::string LossLine(const CellGroup& group) {
  const int lossy = group.LossyCells();
  if (lossy == 0) return "";
  int jobs = 0;
  for (const ComparedCell& cell : group.cells) jobs += cell.summary.jobs;
  const auto trials = static_cast<int64_t>(group.cells.size());
  const std::string figures = lossy == trials ? "not compared by makespan or turnaround"
                                              : fmt::format("the figures are of the other {}",
                                                            Counted(trials - lossy, "trial"));
  return Wrapped("   ", fmt::format("LOST {} of {} ({}) in {} of {}: {}", group.LostJobs(),
                                    Counted(jobs, "job"), LossKinds(group), lossy,
                                    Counted(trials, "trial"), figures));
}

std::string PolicyRow(const CellGroup& group, size_t width) {
  std::vector<double> resizes;
  for (const ComparedCell* cell : group.Shown()) resizes.push_back(cell->summary.resizes);
  return fmt::format("{}{:<{}} {:<17} {:<17} {:>6} {:>8} {:>7} {:>6} {:>9} {:>8} {:>5}\n",
                     group.LossyCells() > 0 ? "! " : "  ", group.policy, width,
                     SpreadText(group, &CellSummary::makespan_s, RoundedText, 5),
                     SpreadText(group, &CellSummary::mean_turnaround_s, RoundedText, 5),
                     Middle(group, &CellSummary::p95_turnaround_s, RoundedText),
                     Middle(group, &CellSummary::max_wait_s, RoundedText),
                     Middle(group, &CellSummary::throughput_jobs_per_hour, RoundedText),
                     Middle(group, &CellSummary::core_utilization, ShareText),
                     Middle(group, &CellSummary::oversubscription, ShareText),
                     resizes.empty() ? "-" : fmt::format("{:.0f}", Median(resizes)),
                     group.LostJobs()) +
         LossLine(group);
}

template <auto metric>
std::vector<double> Values(const CellGroup& group) {
  return group.Values(metric);
}

// One column of the table of all intervals.
struct DetailColumn {
  const char* title;
  std::vector<double> (*values)(const CellGroup&);
  std::string (*format)(double);
  int median_width;
  int width;  // Width of the whole, median and interval.
};

constexpr DetailColumn kMetricColumns[] = {
    {"execution s", Values<&CellSummary::mean_execution_s>, RoundedText, 5, 18},
    {"p95 turnaround s", Values<&CellSummary::p95_turnaround_s>, RoundedText, 5, 18},
    {"jobs/h", Values<&CellSummary::throughput_jobs_per_hour>, RoundedText, 4, 17},
    {"used %", Values<&CellSummary::core_utilization>, ShareText, 3, 13},
    {"oversub %", Values<&CellSummary::oversubscription>, ShareText, 3, 13},
    {"of tenants %", Values<&CellSummary::tenant_oversubscription>, ShareText, 3, 13},
};

constexpr DetailColumn kKernelColumns[] = {
    {"worst tenant %", Values<&CellSummary::worst_tenant_oversubscription>, ShareText, 4, 15},
    {"run-queue wait ms", Values<&CellSummary::runqueue_wait_s_per_core_s>, Milliseconds, 5, 18},
    {"switches forced", Values<&CellSummary::involuntary_switches_per_core_s>, RoundedText, 5, 17},
    {"migrations", Values<&CellSummary::migrations_per_core_s>, RoundedText, 5, 14},
    {"throttled ms", Values<&CellSummary::throttled_s_per_core_s>, Milliseconds, 5, 13},
    {"pressure ms", Values<&CellSummary::pressure_s_per_core_s>, Milliseconds, 5, 13},
};

// Where tenants had memory on several NUMA nodes.
constexpr DetailColumn kMemoryColumns[] = {
    {"node moves", Values<&CellSummary::node_moves>, RoundedText, 5, 18},
    {"memory moved MB", Values<&CellSummary::memory_moved_mb>, RoundedText, 5, 18},
};

bool HasMemoryMoves(const ComparedCells& cells) {
  return std::any_of(cells.groups.begin(), cells.groups.end(), [](const CellGroup& group) {
    return !group.Values(&CellSummary::node_moves).empty();
  });
}

std::string DetailBlock(const ComparedCells& cells, Elasticity elasticity,
                        std::span<const DetailColumn> columns) {
  std::string text = fmt::format("\n{:<{}}", ToString(elasticity), cells.NameWidth());
  for (const DetailColumn& column : columns) {
    text += fmt::format(" {:<{}}", column.title, column.width);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
  for (const std::string& policy : cells.policies) {
    const CellGroup* group = cells.Find(policy, elasticity);
    if (group == nullptr) continue;
    std::string row = fmt::format("{:<{}}", policy, cells.NameWidth());
    for (const DetailColumn& column : columns) {
      row += fmt::format(" {:<{}}",
                         MedianText(column.values(*group), column.format, column.median_width),
                         column.width);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
  return text;
}

// Whether every job of every cell serves: means of jobs are 0 then, and say nothing.
bool OnlyServices(const ComparedCells& cells) {
  return std::all_of(cells.groups.begin(), cells.groups.end(), [](const CellGroup& group) {
    return std::all_of(group.cells.begin(), group.cells.end(), [](const ComparedCell& cell) {
      return !cell.summary.services.empty() && cell.summary.mean_turnaround_s == 0 &&
             cell.summary.Lost() == 0;
    });
  });
}

// What the answers of the services' table were paid with.
constexpr DetailColumn kResourceColumns[] = {
    {"granted core-s", Values<&CellSummary::granted_core_s>, RoundedText, 5, 19},
    {"used core-s", Values<&CellSummary::used_core_s>, RoundedText, 5, 19},
    {"device slot-s", Values<&CellSummary::device_busy_s>, RoundedText, 5, 19},
};

}  // namespace

std::string PolicyRows(const ComparedCells& cells, Elasticity elasticity) {
  if (OnlyServices(cells)) return DetailBlock(cells, elasticity, kResourceColumns);
  const size_t width = cells.NameWidth();
  std::string text =
      fmt::format("\n{:<{}} {:<17} {:<17} {:>6} {:>8} {:>7} {:>6} {:>9} {:>8} {:>5}\n",
                  ToString(elasticity), width + 2, "   makespan s", "   turnaround s", "p95 s",
                  "max wait", "jobs/h", "used %", "oversub %", "resizes", "lost");
  for (const std::string& policy : cells.policies) {
    const CellGroup* group = cells.Find(policy, elasticity);
    if (group != nullptr) text += PolicyRow(*group, width);
  }
  return text;
}

std::string DetailTable(const ComparedCells& cells) {
  std::string text = "all intervals; what the kernel counted is per second of a granted core\n";
  for (const Elasticity elasticity : cells.elasticities) {
    text += DetailBlock(cells, elasticity, kMetricColumns);
    text += DetailBlock(cells, elasticity, kKernelColumns);
    if (HasMemoryMoves(cells)) text += DetailBlock(cells, elasticity, kMemoryColumns);
  }
  return text;
}

}  // namespace cosched
