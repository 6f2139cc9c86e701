#include "experiments/tenant/device_service.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <latch>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "engine/base/thread_start.h"
#include "experiments/os/realtime.h"
#include "experiments/tenant/device_host_work.h"
#include "experiments/wire/shared_counters.h"
#include "workloads/device_queue.h"

namespace cosched {
namespace {

TimePoint MonotonicTime() { return TimePoint(MonotonicNow()); }

void SleepUntil(TimePoint time) {
  const Duration since_boot = time.time_since_epoch();
  const auto whole = std::chrono::floor<std::chrono::seconds>(since_boot);
  const timespec until{static_cast<time_t>(whole.count()),
                       static_cast<long>((since_boot - whole).count())};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

void NameThread(const std::string& name) { pthread_setname_np(pthread_self(), name.c_str()); }

DeviceQueue QueueOf(const DeviceStart& start) {
  std::vector<std::optional<DeviceQueue::Service>> services;
  for (const std::optional<ProgramSpec>& program : start.services) {
    services.emplace_back();
    if (program) services.back() = {program->model, program->batch};
  }
  return {start.profile, start.slots, services, start.seed};
}

}  // namespace

struct DeviceService::Impl {
  struct Service {
    std::unique_ptr<const DeviceHostWork> work;  // Null: the device does not serve it.
    Duration wait{0};
  };
  // Of those that wait for their time.
  using Waiting = std::multimap<TimePoint, DeviceRequest>;

  Impl(const DeviceStart& start, std::function<void(const DeviceHold&)> when_held);
  void StartThreads(const DeviceStart& start);
  void Stop();

  void WorkOnHost();
  void HoldSlots();
  void TellOfHolds();

  void SubmitThoseDue(TimePoint now);
  DeviceHold Begin(const DeviceQueue::Hold& hold);

  const std::function<void(const DeviceHold&)> held;
  std::vector<Service> services;

  std::mutex mutex;  // Guards all below, up to the threads.
  std::condition_variable arrival, due, over;
  std::deque<DeviceRequest> arrived;
  Waiting waiting;
  DeviceQueue queue;
  std::unordered_map<uint64_t, DeviceRequest> queued;  // By number.
  std::deque<DeviceHold> ended;                        // Not told of yet.
  bool stopping = false;

  std::latch holders_ready;
  std::vector<std::thread> threads;
};

DeviceService::Impl::Impl(const DeviceStart& start,
                          std::function<void(const DeviceHold&)> when_held)
    : held(std::move(when_held)), queue(QueueOf(start)), holders_ready(start.slots) {
  for (const std::optional<ProgramSpec>& program : start.services) {
    Service& service = services.emplace_back();
    if (!program) continue;
    const DeviceProfile::Model& model = *start.profile.Find(program->model);
    service.work = std::make_unique<DeviceHostWork>(*program, FromSeconds(model.host_cpu_s));
    service.wait = FromSeconds(model.host_wait_s);
  }
}

void DeviceService::Impl::StartThreads(const DeviceStart& start) {
  try {
    threads.push_back(StartThread("the device's answering thread", [this] { TellOfHolds(); }));
    for (int i = 0; i < start.host_threads; ++i) {
      threads.push_back(StartThread("a host thread of the device", [this, i] {
        NameThread("host/" + std::to_string(i));
        WorkOnHost();
      }));
    }
    for (int i = 0; i < start.slots; ++i) {
      threads.push_back(StartThread("a holder of the device's slots", [this, i] {
        NameThread("holder/" + std::to_string(i));
        HoldSlots();
      }));
    }
  } catch (...) {
    Stop();
    throw;
  }
  holders_ready.wait();
}

void DeviceService::Impl::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  for (std::condition_variable* news : {&arrival, &due, &over}) news->notify_all();
  for (std::thread& thread : threads) thread.join();
}

void DeviceService::Impl::WorkOnHost() {
  std::vector<float> pixels;
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    arrival.wait(lock, [this] { return stopping || !arrived.empty(); });
    if (stopping) return;
    const DeviceRequest request = arrived.front();
    arrived.pop_front();
    const Service& service = services[static_cast<size_t>(request.service)];
    lock.unlock();
    service.work->Do(request.number, &pixels);
    lock.lock();
    waiting.emplace(MonotonicTime() + service.wait, request);
    due.notify_one();
  }
}

// REQUIRES: the lock is held.
void DeviceService::Impl::SubmitThoseDue(TimePoint now) {
  const auto end = waiting.upper_bound(now);
  for (auto request = waiting.begin(); request != end; ++request) {
    const auto& [time, is_due] = *request;
    queue.Submit(is_due.service, static_cast<int64_t>(is_due.number), is_due.work, time);
    queued.emplace(is_due.number, is_due);
  }
  waiting.erase(waiting.begin(), end);
}

// REQUIRES: the lock is held.
DeviceHold DeviceService::Impl::Begin(const DeviceQueue::Hold& hold) {
  DeviceHold begun{hold.slot, hold.service, hold.begin, hold.planned_end, {}, {}};
  for (const int64_t id : hold.ids) {
    const auto request = queued.find(static_cast<uint64_t>(id));
    begun.requests.push_back(request->second);
    queued.erase(request);
  }
  return begun;
}

void DeviceService::Impl::HoldSlots() {
  const RealtimeScope before_tenants;
  // Where that is refused, the kernel would group timers by up to 50 us.
  prctl(PR_SET_TIMERSLACK, 1UL);
  holders_ready.count_down();
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopping) {
    const TimePoint now = MonotonicTime();
    SubmitThoseDue(now);
    const std::optional<DeviceQueue::Hold> hold = queue.Begin();
    if (hold) {
      DeviceHold begun = Begin(*hold);
      // Another slot may be free for what is left, now or when its time has come.
      if (queue.Waiting() > 0 || !waiting.empty()) due.notify_one();
      lock.unlock();
      SleepUntil(begun.planned_end);
      begun.end = MonotonicTime();
      lock.lock();
      queue.End(begun.slot);
      ended.push_back(std::move(begun));
      over.notify_one();
    } else if (waiting.empty()) {
      due.wait(lock);
    } else {
      const Duration left = waiting.begin()->first - now;
      due.wait_until(lock, std::chrono::steady_clock::time_point(now.time_since_epoch()) + left);
    }
  }
}

void DeviceService::Impl::TellOfHolds() {
  NameThread("answers");
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    over.wait(lock, [this] { return stopping || !ended.empty(); });
    if (stopping) return;
    const DeviceHold hold = std::move(ended.front());
    ended.pop_front();
    lock.unlock();
    held(hold);
    lock.lock();
  }
}

DeviceService::DeviceService(const DeviceStart& start, std::function<void(const DeviceHold&)> held)
    : impl_(std::make_unique<Impl>(start, std::move(held))) {
  impl_->StartThreads(start);
}

DeviceService::~DeviceService() { impl_->Stop(); }

bool DeviceService::Serves(int service) const {
  const auto index = static_cast<size_t>(service);
  return service >= 0 && index < impl_->services.size() && impl_->services[index].work;
}

void DeviceService::Submit(std::span<const DeviceRequest> requests) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->arrived.insert(impl_->arrived.end(), requests.begin(), requests.end());
  impl_->arrival.notify_all();
}

}  // namespace cosched
