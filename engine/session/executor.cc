#include "engine/session/executor.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/base/check.h"
#include "engine/pool/yield_request.h"

namespace cosched {

namespace {

// Until `over` or some tens of microseconds have passed. Yields: with one core granted, the worker
// runs where the caller is.
void LookFor(const std::atomic<bool>& over) {
  constexpr std::chrono::microseconds kLook{100};
  const auto end = std::chrono::steady_clock::now() + kLook;
  while (!over.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < end)
    sched_yield();
}

}  // namespace

void Executor::Run(ReadyQueue* queue, FunctionRef<bool(TaskAtPiece)> run_piece, double brief,
                   Kind kind) {
  std::unique_lock lock(mutex_);
  CHECK(queue_ == nullptr) << "two runs at a time";
  queue->Start(brief);
  if (queue->Done()) return;
  queue_ = queue;
  run_piece_ = &run_piece;
  kind_ = kind;
  over_.store(false, std::memory_order_relaxed);
  const int loops = ClaimLoops();
  lock.unlock();
  ScheduleLoops(loops);
  lock.lock();
  done_.wait(lock, [&] { return queue->NearlyDone() || queue->Done(); });
  if (!queue->Done()) {
    lock.unlock();
    LookFor(over_);
    lock.lock();
  }
  done_.wait(lock, [queue] { return queue->Done(); });
  queue_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Executor::Nudge() {
  std::unique_lock lock(mutex_);
  const int loops = ClaimLoops();
  lock.unlock();
  ScheduleLoops(loops);
}

int Executor::ClaimLoops() {
  if (queue_ == nullptr || !queue_->HasReady()) return 0;
  // Cheap tasks alone are worth a worker only if there is none who would take them.
  const int wanted = std::max(queue_->Offered(), loops_ == 0 ? 1 : 0);
  const int count = std::clamp(std::max(1, pool_.Target()) - loops_, 0, wanted);
  loops_ += count;
  return count;
}

void Executor::ScheduleLoops(int count) {
  for (int i = 0; i < count; ++i) pool_.Schedule([this] { Loop(); });
}

void Executor::Loop() {
  std::unique_lock lock(mutex_);
  while (queue_ != nullptr) {
    if (pool_.OnSurplusWorker()) {
      if (!queue_->HasReady()) break;
      lock.unlock();
      ScheduleLoops(1);
      return;
    }
    const bool was_nearly_done = queue_->NearlyDone();
    TaskAtPiece next = queue_->Take();
    if (next.task == -1) break;
    const int more = ClaimLoops();
    const std::vector<std::function<void()>> due = next.piece == 0 && kind_ == Kind::kCounted
                                                       ? CountTask()
                                                       : std::vector<std::function<void()>>();
    const bool wakes = queue_->NearlyDone() && !was_nearly_done;
    lock.unlock();
    if (wakes) WakeCaller();
    ScheduleLoops(more);
    std::exception_ptr error;
    try {
      for (const std::function<void()>& then : due) then();
    } catch (...) {
      error = std::current_exception();  // A resize to threads that can't be had.
    }
    const bool finished = RunPieces(&next, &error);
    lock.lock();
    if (error) {
      if (!error_) error_ = error;
      queue_->Abort();
    }
    if (finished) {
      queue_->Finish(next.task);
    } else {
      queue_->GiveBack(next);
    }
    if (queue_->Done()) {
      over_.store(true, std::memory_order_relaxed);
      WakeCaller();
    }
  }
  --loops_;
}

// All cores may have a worker that looks for work: with LeNet-5, batch 8 on 2 cores, the caller got
// one too late for 78,000 images/s instead of 97,000.
void Executor::WakeCaller() {
  done_.notify_one();
  RequestYield();
}

// At least one piece, so that the run moves on however often it is resized. False if this worker
// should leave before the next one.
bool Executor::RunPieces(TaskAtPiece* next, std::exception_ptr* error) {
  const FunctionRef<bool(TaskAtPiece)>& run_piece = *run_piece_;
  try {
    bool more = true;
    while (more) {
      more = run_piece(*next);
      ++next->piece;
      pieces_run_.fetch_add(1, std::memory_order_relaxed);
      if (more && pool_.OnSurplusWorker()) return false;
    }
  } catch (...) {
    *error = std::current_exception();
  }
  return true;
}

void Executor::AtTask(int64_t count, std::function<void()> then) {
  const std::lock_guard lock(mutex_);
  const auto after = std::find_if(triggers_.begin(), triggers_.end(),
                                  [count](const Trigger& other) { return other.count <= count; });
  triggers_.insert(after, {count, std::move(then)});
}

int64_t Executor::TasksStarted() const {
  const std::lock_guard lock(mutex_);
  return tasks_started_;
}

std::vector<std::function<void()>> Executor::CountTask() {
  ++tasks_started_;
  std::vector<std::function<void()>> due;
  while (!triggers_.empty() && triggers_.back().count <= tasks_started_) {
    due.push_back(std::move(triggers_.back().then));
    triggers_.pop_back();
  }
  return due;
}

}  // namespace cosched
