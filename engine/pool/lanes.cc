#include "engine/pool/lanes.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "engine/base/thread_start.h"

namespace cosched {

Lanes::Lanes(std::mutex* mutex, std::string name, size_t count)
    : mutex_(*mutex), name_(std::move(name)), wakes_(count) {}

Lanes::~Lanes() { Stop(); }

void Lanes::Start(const std::function<void(size_t lane)>& serve) {
  for (size_t lane = 0; lane < wakes_.size(); ++lane) {
    try {
      threads_.emplace_back([this, lane, serve] { Serve(lane, serve); });
    } catch (const std::system_error& failure) {
      Stop();
      throw ThreadError("only " + std::to_string(lane) + " of the " +
                            std::to_string(wakes_.size()) + " lanes can be started",
                        failure);
    }
  }
}

void Lanes::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    WakeAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Lanes::Serve(size_t lane, const std::function<void(size_t)>& serve) {
  pthread_setname_np(pthread_self(), (name_ + "/" + std::to_string(lane)).c_str());
  std::exception_ptr failure;
  try {
    serve(lane);
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  ++ended_;
  if (failure) Fail(failure);
  WakeAll();
  over_.notify_all();
}

void Lanes::Fail(const std::exception_ptr& error) {
  if (!error_) error_ = error;
  WakeAll();
  over_.notify_all();
}

void Lanes::WaitUntilOver() {
  std::unique_lock lock(mutex_);
  over_.wait(lock, [this] { return error_ || ended_ == wakes_.size(); });
  if (error_) std::rethrow_exception(error_);
}

void Lanes::Open(size_t count) {
  open_ = std::min(count, wakes_.size());
  WakeAll();
}

void Lanes::WakeOne() {
  for (size_t lane = 0; lane < open_; ++lane) {
    if (wakes_[lane].idle) {
      wakes_[lane].idle = false;  // Who wakes the next one finds another.
      return wakes_[lane].news.notify_one();
    }
  }
}

void Lanes::WakeAll() {
  for (Wake& wake : wakes_) wake.news.notify_one();
}

void Lanes::Sleep(size_t lane, std::unique_lock<std::mutex>* lock,
                  std::optional<std::chrono::steady_clock::time_point> until) {
  Wake& wake = wakes_[lane];
  wake.idle = true;
  if (until) {
    wake.news.wait_until(*lock, *until);
  } else {
    wake.news.wait(*lock);
  }
  wake.idle = false;
}

}  // namespace cosched
