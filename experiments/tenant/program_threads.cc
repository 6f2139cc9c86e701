#include "experiments/tenant/program_threads.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "experiments/wire/tenant_protocol.h"

namespace cosched {

ProgramThreads::ProgramThreads(const SteeredProgram* program, ClientPage* page,
                               const Topology* topology, int threads, Mover mover)
    : program_(*program),
      page_(page),
      topology_(*topology),
      started_with_(threads),
      mover_(mover) {}

// What follows from what is wanted: one client has all threads, and no more of them than cores.
Split ProgramThreads::Effective() const {
  if (wanted_.paused || wanted_.cores.Empty() || wanted_.split.intra == 0) return {0, 0};
  if (page_ == nullptr) return {1, started_with_};
  return {1, std::clamp(wanted_.split.intra, 1, wanted_.cores.Count())};
}

int64_t ProgramThreads::Resize(const ResizeRequest& request) {
  const auto start = Clock::now();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (pending_) Report(start, /*overtaken=*/true);
  if (request.cores) wanted_.cores = *request.cores;
  if (request.inter) wanted_.split.inter = *request.inter;
  if (request.intra) wanted_.split.intra = *request.intra;
  if (request.paused) wanted_.paused = *request.paused;
  const Split wanted = Effective();
  // As long as nobody follows, it has the threads that it has started with.
  const bool follows = page_ != nullptr && page_->Read().follows;
  const Split after = follows || wanted == Split{0, 0} ? wanted : Split{1, started_with_};
  pending_ = ResizeReport{.sequence = ++sequence_,
                          .start = start,
                          .before = current_,
                          .after = after,
                          .change = ThreadsOf(after) - ThreadsOf(current_),
                          .cores = wanted_.cores,
                          .op = {},
                          .cause = request.cause};
  Move(request.cause);
  const bool told = page_ != nullptr && wanted != Split{0, 0} &&
                    (wanted.intra != granted_ || wanted_.cores != cores_);
  if (told) {
    granted_ = wanted.intra;
    grant_ = page_->Grant(granted_, wanted_.cores);
  }
  if (!told || !follows) Report(Clock::now(), /*overtaken=*/false);
  return sequence_;
}

// Moved before it goes on, stopped where it is.
void ProgramThreads::Move(std::string_view cause) {
  if (mover_ == Mover::kHost && cause == ToString(ResizeCause::kGrant)) return;
  const bool stops = Effective() == Split{0, 0};
  if (!wanted_.cores.Empty()) program_.ConfineTo(wanted_.cores, topology_);
  if (stops) program_.Signal(SIGSTOP);
  if (!stops && stopped_) program_.Signal(SIGCONT);
  stopped_ = stops;
}

// REQUIRES: one is pending, and the lock is held.
void ProgramThreads::Report(Clock::time_point end, bool overtaken) {
  ResizeReport report = *std::exchange(pending_, std::nullopt);
  report.taken =
      std::max<std::chrono::nanoseconds>(end - report.start, std::chrono::nanoseconds(0));
  report.overtaken = overtaken;
  if (!overtaken) {
    current_ = report.after;
    cores_ = report.cores;
  }
  if (!overtaken && report.change > 0) {
    ++times_.grows;
    times_.last_grow = report.taken;
    times_.grow.Add(report.taken);
  } else if (!overtaken && report.change < 0) {
    ++times_.shrinks;
    times_.last_shrink = report.taken;
    times_.shrink.Add(report.taken);
  }
  if (on_resized_) on_resized_(report);
}

ClientPage::Said ProgramThreads::Look() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (page_ == nullptr) return {};
  const ClientPage::Said said = page_->Read();
  if (pending_ && said.rigid) {  // It never will.
    pending_->after = {1, std::max(said.threads, 1)};
    pending_->change = ThreadsOf(pending_->after) - ThreadsOf(current_);
    Report(Clock::now(), /*overtaken=*/false);
  } else if (pending_ && said.followed >= grant_) {
    // When it says that it did, which can't be later than now.
    const Clock::time_point at(std::chrono::duration_cast<Clock::duration>(said.at));
    Report(std::min(at, Clock::now()), /*overtaken=*/false);
  } else if (!pending_ && said.threads > 0 && current_ != Split{0, 0}) {
    current_ = {1, said.threads};  // It has connected since, and taken what was granted last.
  }
  return said;
}

WantedThreads ProgramThreads::Wanted() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return wanted_;
}

bool ProgramThreads::Settled() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !pending_;
}

void ProgramThreads::OnResized(std::function<void(const ResizeReport&)> report) {
  const std::lock_guard<std::mutex> lock(mutex_);
  on_resized_ = std::move(report);
}

ThreadPools::ResizeTimes ProgramThreads::Times() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return times_;
}

CpuSet ProgramThreads::Cores() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return cores_;
}

Split ProgramThreads::Current() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return current_;
}

}  // namespace cosched
