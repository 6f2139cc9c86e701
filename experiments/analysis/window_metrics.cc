#include "experiments/analysis/window_metrics.h"

#include <algorithm>

#include "experiments/records/rows.h"
#include "experiments/records/table.h"

namespace cosched {
namespace {

constexpr size_t kPublishedWindows = 10;  // Of a published one.
constexpr double kPublishedLimit = 1.1;   // Times the objective.

}  // namespace

std::map<std::string, WindowObjectives, std::less<>> ReadObjectives(
    const std::filesystem::path& cell) {
  std::map<std::string, WindowObjectives, std::less<>> services;
  if (!HasTable<ObjectiveRow>(cell)) return services;
  RowReader<ObjectiveRow> reader(cell, &ObjectiveRow::time, &ObjectiveRow::service,
                                 &ObjectiveRow::sla_ms, &ObjectiveRow::window_s);
  while (const ObjectiveRow* row = reader.Next()) {
    WindowObjectives& service = services[std::string(row->service)];
    service.window_us = std::max<int64_t>(1, WholeMicroseconds(row->window_s));
    service.objectives_us.emplace_back(WholeMicroseconds(row->time),
                                       WholeMicroseconds(row->sla_ms / 1e3));
  }
  return services;
}

void WindowSums::Add(int64_t due_us, std::optional<int64_t> answered_us) {
  ++windows_[due_us / objectives_.window_us].due;
  if (!answered_us) return;
  // What is answered as a window ends is in it: policies have been told of it.
  Window& window = windows_[std::max<int64_t>(0, *answered_us - 1) / objectives_.window_us];
  window.responses_us += *answered_us - due_us;
  ++window.answered;
}

int64_t WindowSums::ObjectiveAt(int64_t time_us) const {
  int64_t objective = 0;
  for (const auto& [since, value] : objectives_.objectives_us) {
    if (since <= time_us) objective = value;
  }
  return objective;
}

WindowSummary WindowSums::Summary() const {
  WindowSummary summary;
  if (windows_.empty()) return summary;
  struct Sample {
    double mean_us;
    int64_t objective_us;
  };
  std::vector<Sample> published;
  int64_t waiting = 0;
  for (int64_t number = windows_.begin()->first; number <= windows_.rbegin()->first; ++number) {
    const auto found = windows_.find(number);
    const Window window = found == windows_.end() ? Window() : found->second;
    waiting += window.due - window.answered;
    const int64_t objective = ObjectiveAt(number * objectives_.window_us);
    if (objective == 0) continue;
    if (window.answered == 0) {  // Nothing to count, unless they wait for it.
      summary.windows += waiting > 0 ? 1 : 0;
      summary.violated += waiting > 0 ? 1 : 0;
      continue;
    }
    const double mean =
        static_cast<double>(window.responses_us) / static_cast<double>(window.answered);
    ++summary.windows;
    summary.violated += mean > static_cast<double>(objective) ? 1 : 0;
    summary.worst_window_ms = std::max(summary.worst_window_ms, mean / 1e3);
    published.push_back({mean, objective});
  }
  for (size_t i = 0; i + kPublishedWindows <= published.size(); i += kPublishedWindows) {
    double sum = 0;
    for (size_t k = 0; k < kPublishedWindows; ++k) sum += published[i + k].mean_us;
    const double limit = kPublishedLimit * static_cast<double>(published[i].objective_us);
    ++summary.tens;
    summary.tens_violated += sum / kPublishedWindows > limit ? 1 : 0;
  }
  return summary;
}

}  // namespace cosched
