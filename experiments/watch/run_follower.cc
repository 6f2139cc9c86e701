#include "experiments/watch/run_follower.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "experiments/launch/run_folder.h"
#include "experiments/records/cell_file.h"
#include "experiments/records/manifest_file.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

// A look at all cells is followed by none for so many times as long as it took.
constexpr int kTimesAsLong = 4000;
// Cells that have not begun, of which other looks see no more.
constexpr size_t kMostLeft = 4;
// By so many ends it tells how fast cells end.
constexpr size_t kPaceOf = 40;
// Between two ends so many times as far apart as others nothing ran.
constexpr double kRest = 10;
// Whether anybody still runs it is asked so often.
constexpr std::chrono::seconds kBetweenLocks(2);

// "equal-share/malleable/3", as ToString has it; nullopt for anything else.
std::optional<CellKey> KeyOf(const std::string& text) {
  const size_t trial = text.rfind('/');
  const size_t elasticity = trial == std::string::npos ? trial : text.rfind('/', trial - 1);
  if (elasticity == std::string::npos) return std::nullopt;
  CellKey key{text.substr(0, elasticity)};
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data() + trial + 1, end, key.trial);
  if (number.ec != std::errc() || number.ptr != end) return std::nullopt;
  const std::string name = text.substr(elasticity + 1, trial - elasticity - 1);
  if (!ParseElasticity(name, &key.elasticity)) return std::nullopt;
  return key;
}

// trials = "until …".
bool IsSequential(const Json& manifest) {
  const auto experiment = manifest.find("experiment");
  return experiment != manifest.end() && experiment->is_object() &&
         experiment->value("trials", Json()).is_string();
}

bool Ended(const WatchedCell& cell) {
  return cell.state == CellState::kDone || cell.state == CellState::kFailed;
}

std::filesystem::file_time_type TimeOf(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::last_write_time(file, ignored);
}

}  // namespace

RunFollower::RunFollower(std::filesystem::path run) : path_(std::move(run)) {
  ReadManifest();
  ReadCells();
  Refresh(SteadyClock::now());
}

// In the order of now: a run that has trials enough needs no more.
void RunFollower::ReadCells() {
  cells_.clear();
  ends_.clear();
  latest_ended_.reset();
  for (const std::filesystem::path& point : PointFolders(path_)) {
    const std::optional<Json> manifest = cosched::ReadManifest(point);
    if (!manifest) continue;
    for (const Json& name : manifest->value("order", Json::array())) {
      const std::optional<CellKey> key = name.is_string() ? KeyOf(name) : std::nullopt;
      if (!key) continue;
      cells_.push_back(
          {.key = *key, .run = point, .point = point == path_ ? "" : point.filename().string()});
    }
    sequential_ |= IsSequential(*manifest);
  }
}

void RunFollower::ReadManifest() {
  manifest_time_ = TimeOf(path_ / kManifestName);
  const std::optional<Json> manifest = cosched::ReadManifest(path_);
  if (!manifest)
    throw InputError({.file = path_.string(),
                      .problem = "is no run: it has no manifest.json that can be read",
                      .allowed = "a folder results/<experiment>/<run>"});
  status_ = manifest->value("status", "");
  experiment_ = path_.parent_path().filename().string();
  if (const auto found = manifest->find("experiment"); found != manifest->end())
    experiment_ = found->value("name", experiment_);
}

bool RunFollower::IsRecorded(const WatchedCell& cell) const {
  std::error_code ignored;
  return (status_ == "running" || status_ == "stopped") &&
         std::filesystem::exists(PartialFolder(cell.run, cell.key), ignored);
}

void RunFollower::LookAt(WatchedCell* cell) const {
  cell->state = CellState::kRuns;
  if (IsRecorded(*cell)) return;
  cell->state = CellState::kLeft;
  std::error_code ignored;
  const std::filesystem::path folder = CellFolder(cell->run, cell->key);
  if (!std::filesystem::exists(folder / kCellFileName, ignored)) return;
  cell->state = CellState::kFailed;
  try {
    const CellFile file = ReadCellFile(folder);
    if (file.status == "failed") return;
    cell->state = CellState::kDone;
    cell->marked = !file.marks.empty();
  } catch (const InputError&) {
    // It can't be read: failed.
  }
}

// most_left: after so many cells that have not begun it stops; those that ended may be run anew,
// which only a whole look sees.
void RunFollower::Look(size_t most_left) {
  const bool whole = most_left >= cells_.size();
  size_t left = 0;
  for (size_t i = 0; i < cells_.size() && left < most_left; ++i) {
    WatchedCell& cell = cells_[i];
    if (Ended(cell)) {
      if (whole && IsRecorded(cell)) cell.state = CellState::kRuns;
      continue;
    }
    LookAt(&cell);
    left += cell.state == CellState::kLeft ? 1 : 0;
    if (!Ended(cell)) continue;
    latest_ended_ = i;
    ends_.push_back(TimeOf(CellFolder(cell.run, cell.key) / kCellFileName));
  }
  std::ranges::sort(ends_);
}

void RunFollower::Refresh(SteadyClock::time_point now) {
  const bool changed = TimeOf(path_ / kManifestName) != manifest_time_;
  if (changed) {
    ReadManifest();
    ReadCells();
  }
  if ((status_ == "running" || status_ == "stopped") && (changed || now >= next_lock_)) {
    status_ = IsHeld(path_) ? "running" : "stopped";
    next_lock_ = now + kBetweenLocks;
  }
  if (!changed && now < next_look_) return Look(kMostLeft);
  const SteadyClock::time_point begin = SteadyClock::now();
  Look(cells_.size());
  next_look_ = now + kTimesAsLong * (SteadyClock::now() - begin);
}

size_t RunFollower::Count(CellState state) const {
  return static_cast<size_t>(std::ranges::count(cells_, state, &WatchedCell::state));
}

size_t RunFollower::Marked() const {
  return static_cast<size_t>(std::ranges::count_if(cells_, [](const WatchedCell& cell) {
    return cell.state == CellState::kDone && cell.marked;
  }));
}

// The mean pace of the latest ends, whoever saw them; without the times in which a run rested.
std::optional<double> RunFollower::SecondsLeft() const {
  if (status_ != "running" || ends_.size() < 2) return std::nullopt;
  using Seconds = std::chrono::duration<double>;
  std::vector<double> gaps;
  const size_t first = ends_.size() - std::min(ends_.size(), kPaceOf);
  for (size_t i = first + 1; i < ends_.size(); ++i)
    gaps.push_back(Seconds(ends_[i] - ends_[i - 1]).count());
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::ranges::nth_element(gaps, middle);
  double sum = 0, counted = 0;
  for (const double gap : gaps) {
    if (gap > kRest * *middle) continue;
    sum += gap;
    ++counted;
  }
  const double pace = sum / counted;
  const double since =
      Seconds(std::filesystem::file_time_type::clock::now() - ends_.back()).count();
  const size_t left_over = cells_.size() - Count(CellState::kDone) - Count(CellState::kFailed);
  return std::max(0.0, pace * static_cast<double>(left_over) - std::min(since, pace));
}

}  // namespace cosched
