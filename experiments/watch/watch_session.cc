#include "experiments/watch/watch_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/config/option_refusal.h"

namespace cosched {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(1000), kBetweenPictures(100);
// A cell is so many steps long, and played in so many seconds.
constexpr double kTimeSteps = 100, kPlaySeconds = 20;
constexpr double kBigStep = 10;
constexpr size_t kMostDecisions = 100, kMostWaiting = 200;

// 1, 2 or 5 times a power of ten, at least a tenth of a millisecond.
double RoundStep(double value) {
  const double power = std::pow(10, std::floor(std::log10(std::max(value, 1e-4))));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= value) return digit * power;
  return 10 * power;
}

}  // namespace

WatchSession::WatchSession(std::filesystem::path run) : run_(std::move(run)) {
  refreshed_ = SteadyClock::now();
  Refresh(refreshed_);
}

void WatchSession::Look(size_t index) {
  const WatchedCell& cell = run_.Cells()[index];
  cell_ = std::make_unique<CellFollower>(cell.run, cell.key, cell.state == CellState::kRuns);
  index_ = index;
  first_tenant_ = 0;
  time_.reset();
  speed_.reset();
}

void WatchSession::LookBack(size_t index) {
  Look(index);
  time_ = End() / 2;
}

// What runs has rows only once it has a while to go: of simulated cells those are shown that ended.
void WatchSession::Follow() {
  if (CellRuns()) return;
  const std::vector<WatchedCell>& cells = run_.Cells();
  if (Running()) {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].state != CellState::kRuns) continue;
      const CellFollower candidate(cells[i].run, cells[i].key, true);
      if (!candidate.Story().Empty()) return Look(i);
    }
    if (const auto latest = run_.LatestEnded(); latest && (!cell_ || *latest != index_))
      LookBack(*latest);
    return;
  }
  if (cell_) return;
  if (const auto cut = std::ranges::find(cells, CellState::kRuns, &WatchedCell::state);
      cut != cells.end())
    return Look(static_cast<size_t>(cut - cells.begin()));
  ToCell(0, 1);
}

void WatchSession::Refresh(SteadyClock::time_point now) {
  const size_t cells = run_.Cells().size();
  run_.Refresh(now);
  if (cell_ && run_.Cells().size() != cells) FindCellAgain();
  if (cell_) cell_->Refresh();
  if (follows_ || !cell_) Follow();
  Play(now);
  refreshed_ = now;
}

// Fewer cells are left once a run has trials enough.
void WatchSession::FindCellAgain() {
  const auto found = std::ranges::find_if(run_.Cells(), [this](const WatchedCell& cell) {
    return cell.key == cell_->key() && cell.run == cell_->run();
  });
  if (found == run_.Cells().end()) return cell_.reset();
  index_ = static_cast<size_t>(found - run_.Cells().begin());
}

void WatchSession::Play(SteadyClock::time_point now) {
  if (!speed_) return;
  const std::chrono::duration<double> since = now - refreshed_;
  MoveTime(since.count() * *speed_);
}

std::chrono::milliseconds WatchSession::Pause() const {
  return speed_ ? kBetweenPictures : kBetweenLooks;
}

// Who looks at an instant is not taken to another cell.
void WatchSession::MoveTime(double by_s) {
  if (!cell_) return;
  follows_ = false;
  time_ = std::max(0.0, Time() + by_s);
  if (*time_ < End()) return;
  speed_.reset();
  time_.reset();
  follows_ = CellRuns();
}

void WatchSession::ChangeCell(int by) {
  const std::optional<double> time = time_;
  if (!ToCell(static_cast<std::ptrdiff_t>(index_) + (cell_ ? by : 0), by)) return;
  follows_ = false;
  if (time && time_) time_ = std::min(*time, End());  // The same instant, to compare.
}

// The next one, from `from` on, that has begun. False: there is none.
bool WatchSession::ToCell(std::ptrdiff_t from, int by) {
  const std::vector<WatchedCell>& cells = run_.Cells();
  for (std::ptrdiff_t i = from; i >= 0 && i < std::ssize(cells); i += by) {
    const CellState state = cells[static_cast<size_t>(i)].state;
    if (state == CellState::kLeft) continue;
    state == CellState::kRuns ? Look(static_cast<size_t>(i)) : LookBack(static_cast<size_t>(i));
    return true;
  }
  return false;
}

void WatchSession::Press(WatchKey key) {
  const double step = RoundStep(End() / kTimeSteps);
  if (key != WatchKey::kNone && key != WatchKey::kHelp) help_ = false;
  switch (key) {
    case WatchKey::kNone: return;
    case WatchKey::kQuit: quit_ = true; return;
    case WatchKey::kEarlier: return MoveTime(-step);
    case WatchKey::kLater: return MoveTime(step);
    case WatchKey::kMuchEarlier: return MoveTime(-kBigStep * step);
    case WatchKey::kMuchLater: return MoveTime(kBigStep * step);
    case WatchKey::kBegin: return MoveTime(-Time());
    case WatchKey::kBack: return;
    case WatchKey::kEnd:
      follows_ = CellRuns() || !time_;  // Of a cell that is over, first its end.
      time_.reset();
      speed_.reset();
      return;
    case WatchKey::kUp: first_tenant_ -= first_tenant_ > 0 ? 1 : 0; return;
    case WatchKey::kDown: ++first_tenant_; return;
    case WatchKey::kNextCell: return ChangeCell(1);
    case WatchKey::kPreviousCell: return ChangeCell(-1);
    case WatchKey::kFirstCell:
    case WatchKey::kLastCell: {
      const bool first = key == WatchKey::kFirstCell;
      if (ToCell(first ? 0 : std::ssize(run_.Cells()) - 1, first ? 1 : -1)) follows_ = false;
      return;
    }
    case WatchKey::kPlay:
      if (speed_) return speed_.reset();
      if (!time_ && CellRuns()) {  // The picture of now stays.
        follows_ = false;
        time_ = End();
        return;
      }
      if (!time_) time_ = 0;  // From its end there is nothing to play.
      speed_ = RoundStep(End() / kPlaySeconds);
      return;
    case WatchKey::kHelp: help_ = !help_; return;
  }
}

void WatchSession::ChooseCell(size_t number) {
  const std::vector<WatchedCell>& cells = run_.Cells();
  if (number < 1 || number > cells.size())
    RefuseOption("--cell", fmt::format("there is no cell {}", number),
                 fmt::format("1 to {}", cells.size()));
  if (cells[number - 1].state == CellState::kLeft)
    RefuseOption("--cell", fmt::format("cell {} has not begun", number), "one that has");
  follows_ = false;
  if (cells[number - 1].state == CellState::kRuns) return Look(number - 1);
  LookBack(number - 1);
}

void WatchSession::ChooseTime(double seconds) {
  if (!cell_) RefuseOption("--at", "no cell has records yet", "seconds of a cell");
  if (!(seconds >= 0 && seconds <= End()))
    RefuseOption("--at", fmt::format("the cell has no second {:g}", seconds),
                 fmt::format("0 to {:.6f}", End()));
  follows_ = false;
  time_ = seconds;
}

std::string WatchSession::CellStateText() const {
  if (!cell_->File()) return Running() ? "runs" : "was not finished";
  const CellFile& file = *cell_->File();
  return file.status == "failed" ? "failed: " + file.reason : file.status;
}

std::string WatchSession::Note() const {
  const std::string of_cell = NoteOfCell();
  if (run_.Status() != "stopped") return of_cell;
  const std::string of_run = "nobody runs it any more; cosched run --resume goes on with it";
  return of_cell.empty() ? of_run : of_cell + "; " + of_run;
}

std::string WatchSession::NoteOfCell() const {
  if (!cell_) return "";
  if (!cell_->Problem().empty()) return cell_->Problem();
  if (!cell_->File()) return "";
  const std::vector<std::string>& marks = cell_->File()->marks;
  if (marks.empty()) return "";
  return marks.size() == 1 ? "marked: " + marks.front()
                           : fmt::format("{} marks, first: {}", marks.size(), marks.front());
}

Frame WatchSession::Draw(int columns, int rows) const {
  if (help_) return DrawHelp(columns, rows);
  FrameSubject subject{.experiment = run_.Experiment(),
                       .run = run_.path().filename().string(),
                       .status = run_.Status(),
                       .cells = run_.Cells().size(),
                       .done = run_.Count(CellState::kDone),
                       .failed = run_.Count(CellState::kFailed),
                       .running = run_.Count(CellState::kRuns),
                       .marked = run_.Marked(),
                       .at_most = run_.MayStopEarlier(),
                       .seconds_left = run_.SecondsLeft(),
                       .note = Note()};
  if (cell_) {
    const WatchedCell& cell = run_.Cells()[index_];
    subject.cell = index_ + 1;
    subject.cell_name = fmt::format("{}, {}, trial {}", cell.key.policy,
                                    ToString(cell.key.elasticity), cell.key.trial);
    subject.point = cell.point;
    subject.cell_state = CellStateText();
    subject.live = !time_ && CellRuns();
    subject.at_end = !time_ && !subject.live;
    subject.playing = speed_;
    subject.end_s = End();
    subject.first_tenant = first_tenant_;
    const size_t most = rows > 0 ? static_cast<size_t>(rows) : kMostDecisions;
    subject.moment = cell_->Story().At(Time(), most, kMostWaiting + first_tenant_);
  }
  return DrawFrame(subject, columns, rows);
}

}  // namespace cosched
