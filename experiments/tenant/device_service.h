#pragma once
// A modelled device at work on real cores: what workloads/device_queue.h decides, with the work of
// requests on the host done and the holds of slots waited for. Called by RunHostedDevice.
//
// A request goes through: the host's work (device_host_work.h) on one of the host threads, in the
// order of arrival; the wait that holds nothing, until a time; the device's queue; a slot, which a
// holder thread takes as soon as both are there, and holds until an absolute time of
// CLOCK_MONOTONIC. A hold begins when the slot was free and its request there, not when a holder
// woke up: no delay adds up, a late holder only answers late. There are as many holders as slots. Holders alone ask
// for SCHED_FIFO: on cores that tenants keep busy they would wake up milliseconds late, and a
// device would not. Who is told of the holds is called on one more thread, so that no slot waits
// for a host that reads slowly.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/clock.h"
#include "experiments/wire/device_start.h"

namespace cosched {

// All TimePoints here are of CLOCK_MONOTONIC as it is.
struct DeviceRequest {
  int service = 0;
  uint64_t number = 0;  // No two have the same.
  double work = 1;
  TimePoint received;
};

// A slot was held for these.
struct DeviceHold {
  int slot = 0;
  int service = 0;
  TimePoint begin, planned_end, end;
  std::vector<DeviceRequest> requests;
};

class DeviceService {
 public:
  // Loads the data sets and starts the threads: when it returns, all holders wait. `held` is told
  // of every hold once it is over, one at a time. Throws InputError for a model or data set that
  // can't be had, and std::system_error if there are no threads to be had.
  DeviceService(const DeviceStart& start, std::function<void(const DeviceHold&)> held);
  ~DeviceService();  // Drops what waits; ends when the holds of the moment are over.
  DeviceService(const DeviceService&) = delete;
  DeviceService& operator=(const DeviceService&) = delete;

  bool Serves(int service) const;
  // REQUIRES: their services are served. Any thread.
  void Submit(std::span<const DeviceRequest> requests);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
