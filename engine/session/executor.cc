#include "engine/session/executor.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace cosched {

void Executor::Run(ReadyQueue* queue, FunctionRef<void(int)> run_task) {
  std::unique_lock lock(mutex_);
  CHECK(queue_ == nullptr) << "two runs at a time";
  queue->Start();
  if (queue->Done()) return;
  queue_ = queue;
  run_task_ = &run_task;
  const int loops = ClaimLoops();
  lock.unlock();
  ScheduleLoops(loops);
  lock.lock();
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
    const int task = queue_->Take();
    if (task == -1) break;
    const int more = ClaimLoops();
    const FunctionRef<void(int)>& run_task = *run_task_;
    lock.unlock();
    ScheduleLoops(more);
    std::exception_ptr error;
    try {
      run_task(task);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) {
      if (!error_) error_ = error;
      queue_->Abort();
    }
    queue_->Finish(task);
    if (queue_->Done()) done_.notify_one();
  }
  --loops_;
}

}  // namespace cosched
