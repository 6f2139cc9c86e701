#include "experiments/launch/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "experiments/os/terminal_columns.h"

namespace cosched {
namespace {

constexpr size_t kBarWidth = 24;
constexpr auto kBetweenDraws = std::chrono::milliseconds(100);

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

const char* JobsWord(int jobs) { return jobs == 1 ? "job" : "jobs"; }

}  // namespace

ProgressLine::Cell::~Cell() { line_.Drop(this); }

void ProgressLine::Cell::OnCellStarted(const CellKey& key, int jobs) {
  name_ = point_.empty() ? ToString(key) : point_ + "/" + ToString(key);
  started_ = SteadyClock::now();
  jobs_ = jobs;
  jobs_done_ = 0;
  line_.Begin(this);
}

void ProgressLine::Cell::OnJobsDone(int jobs) {
  jobs_done_.store(jobs, std::memory_order_relaxed);
  line_.DrawSometimes();
}

void ProgressLine::Cell::OnCellEnded(const CellKey&, const std::string& problem) {
  line_.End(this, problem);
}

ProgressLine::ProgressLine(size_t done, size_t total)
    : terminal_(isatty(STDERR_FILENO) == 1), done_before_(done), total_(total), done_(done) {}

ProgressLine::~ProgressLine() { Clear(); }

void ProgressLine::Begin(const Cell* cell) {
  const std::lock_guard lock(mutex_);
  running_.push_back(cell);
  Draw();
}

void ProgressLine::Drop(const Cell* cell) {
  const std::lock_guard lock(mutex_);
  std::erase(running_, cell);
}

void ProgressLine::End(const Cell* cell, const std::string& problem) {
  const std::lock_guard lock(mutex_);
  std::erase(running_, cell);
  ++done_;
  last_end_ = SteadyClock::now();
  Clear();
  if (!problem.empty()) {
    fmt::print(stderr, "[{}/{}] {}: {}\n", done_, total_, cell->name_, problem);
  } else if (TellsEnd()) {
    fmt::print(stderr, "[{}/{}] {}: {} {} in {:.1f} s{}\n", done_, total_, cell->name_, cell->jobs_,
               JobsWord(cell->jobs_), Seconds(last_end_ - cell->started_), TimeLeft());
  }
  Draw();
}

bool ProgressLine::TellsEnd() {
  if (terminal_ || (last_end_ - told_ < kBetweenLines && done_ < total_)) return false;
  told_ = last_end_;
  return true;
}

void ProgressLine::OnCellsDone(size_t done) {
  const std::lock_guard lock(mutex_);
  if (done == done_) return Draw();
  done_ = done;
  last_end_ = SteadyClock::now();
  if (!terminal_) fmt::print(stderr, "[{}/{}] cells{}\n", done_, total_, TimeLeft());
  Draw();
}

void ProgressLine::DrawSometimes() {
  if (!terminal_) return;
  const auto now = SteadyClock::now().time_since_epoch();
  if (now - SteadyClock::duration(drawn_.load(std::memory_order_relaxed)) < kBetweenDraws) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) Draw();
}

void ProgressLine::Draw() {
  if (!terminal_) return;
  drawn_ = SteadyClock::now().time_since_epoch().count();
  const size_t filled = kBarWidth * done_ / total_;
  // A line that is too long would not be drawn over, but go on below.
  const std::string bar = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
  const std::string count = fmt::format("{}/{} cells{}", done_, total_, TimeLeft());
  const std::string line = fmt::format("{}  {}", count, Running());
  const int wide = TerminalColumns(STDERR_FILENO);
  const size_t columns =
      wide > 1 ? static_cast<size_t>(wide) - 1 : 79;  // A cursor may wrap in its last one.
  const bool has_bar = line.size() + bar.size() + 4 <= columns;
  fmt::print(stderr, "\r\x1b[K{}", (has_bar ? "[" + bar + "] " + line : line).substr(0, columns));
  std::fflush(stderr);
}

void ProgressLine::Clear() const {
  if (terminal_) fmt::print(stderr, "\r\x1b[K");
}

std::string ProgressLine::Running() const {
  if (running_.empty()) return "";
  int jobs = 0, done = 0;
  for (const Cell* cell : running_) {
    jobs += cell->jobs_;
    done += cell->jobs_done_.load(std::memory_order_relaxed);
  }
  const std::string what =
      running_.size() == 1 ? running_.front()->name_ : fmt::format("{} at a time", running_.size());
  return fmt::format("{}  {}/{} {}", what, done, jobs, JobsWord(jobs));
}

std::string ProgressLine::TimeLeft() const {
  const size_t done = done_ - done_before_;
  if (done == 0 || done_ == total_) return "";
  const double mean = Seconds(last_end_ - started_) / static_cast<double>(done);
  const double since = Seconds(SteadyClock::now() - last_end_);
  const auto left = std::lround(std::max(0.0, mean * static_cast<double>(total_ - done_) - since));
  return fmt::format("  about {}:{:02} left", left / 60, left % 60);
}

}  // namespace cosched
