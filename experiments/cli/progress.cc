#include "experiments/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace cosched {
namespace {

constexpr size_t kBarWidth = 24;

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

ProgressLine::ProgressLine(size_t done, size_t total)
    : terminal_(isatty(STDERR_FILENO) == 1), done_before_(done), total_(total), done_(done) {}

ProgressLine::~ProgressLine() { Clear(); }

void ProgressLine::OnPoint(const std::string& name) { point_ = name; }

std::string ProgressLine::Name(const CellKey& key) const {
  return point_.empty() ? ToString(key) : point_ + "/" + ToString(key);
}

const char* ProgressLine::Jobs() const { return jobs_ == 1 ? "job" : "jobs"; }

void ProgressLine::OnCellStarted(const CellKey& key, int jobs) {
  cell_ = Name(key);
  cell_started_ = SteadyClock::now();
  jobs_ = jobs;
  jobs_done_ = 0;
  Draw();
}

void ProgressLine::OnJobsDone(int jobs) {
  jobs_done_ = jobs;
  Draw();
}

void ProgressLine::OnCellEnded(const CellKey& key, const std::string& problem) {
  ++done_;
  last_end_ = SteadyClock::now();
  Clear();
  if (!problem.empty()) {
    fmt::print(stderr, "[{}/{}] {}: {}\n", done_, total_, Name(key), problem);
  } else if (!terminal_) {
    fmt::print(stderr, "[{}/{}] {}: {} {} in {:.1f} s{}\n", done_, total_, Name(key), jobs_, Jobs(),
               Seconds(last_end_ - cell_started_), TimeLeft());
  }
  Draw();
}

void ProgressLine::Draw() const {
  if (!terminal_) return;
  const size_t filled = kBarWidth * done_ / total_;
  fmt::print(stderr, "\r\x1b[K[{}{}] {}/{} cells  {}  {}/{} {}{}", std::string(filled, '#'),
             std::string(kBarWidth - filled, '.'), done_, total_, cell_, jobs_done_, jobs_, Jobs(),
             TimeLeft());
  std::fflush(stderr);
}

void ProgressLine::Clear() const {
  if (terminal_) fmt::print(stderr, "\r\x1b[K");
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
