#pragma once
// A modelled device as its host sees it: one process without a job, which runs on whatever cores
// the experiment has (experiments/tenant/hosted_device.h is the other end). It gets requests and
// tells of the holds of its slots, which the host believes only as far as they can be true.
// Whatever goes wrong, the device is lost, with the requests that it had. Called by ProcessHost.
// Not thread-safe.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/hosts/hold_overshoot.h"
#include "experiments/hosts/tenant_launcher.h"
#include "experiments/hosts/tenant_requests.h"
#include "experiments/hosts/tenant_timeouts.h"
#include "experiments/wire/device_spec.h"
#include "experiments/wire/shared_counters.h"
#include "experiments/wire/tenant_protocol.h"
#include "policies/host.h"

namespace cosched {

class SupervisedDevice {
 public:
  struct Settings {
    std::filesystem::path log;  // Empty = this process's stderr.
    TenantTimeouts timeouts;
  };

  // Starts it. Throws std::runtime_error if that is refused. The launcher outlives it. `epoch` is
  // the MonotonicNow() of TimePoint zero.
  SupervisedDevice(const DeviceSpec& spec, const Settings& settings, TenantLauncher* launcher,
                   TimePoint now, Duration epoch);

  void Kill();
  // They travel at the next Advance; before it is up, they wait here.
  void Send(const Request& request, TimePoint now) { requests_.Send(request, now); }

  // Reads what has arrived and checks what is due. HostLostDevice means that the process is gone.
  std::optional<HostLostDevice> Advance(TimePoint now);
  // Advance wants to be called when one of the descriptors is readable, and at this time.
  TimePoint NextCheck() const { return next_check_; }
  std::vector<int> Descriptors() const;

  bool HasAnswers() const { return requests_.HasAnswers(); }
  void TakeAnswered(std::vector<RequestSample>* answered) { requests_.TakeAnswered(answered); }
  void TakeHolds(std::vector<HoldSample>* holds);  // Appended, in order of their ends.
  // What a reader of the records must know of it so far.
  std::vector<std::string> Marks() const;
  Duration UsedByOthersChildren() const { return launched_->UsedByOthersChildren(); }

 private:
  void Fail(std::string reason);  // The first reason stays; "" is none.
  void ReadMessages(TimePoint now, int most);
  void Take(const std::string& packet);
  void TakeAnswers(const std::string& packet, TimePoint now);
  void TakeHeld(const std::string& packet, TimePoint now);
  std::string TakeHold(const HoldPacket::Hold& hold, TimePoint now);
  void TakeMessage(const std::string& text);
  void CheckLife(TimePoint now);
  void AllowForDelay(Duration delay);

  const DeviceSpec spec_;
  const Settings settings_;
  const Duration epoch_;
  SharedCounters counters_;
  TenantRequests requests_;
  std::unique_ptr<LaunchedTenant> launched_;

  bool ready_ = false;                // It has said hello, with its data sets loaded.
  bool holds_before_tenants_ = true;  // Its holders run SCHED_FIFO; seen once it is ready.
  bool survived_kill_ = false;        // It was killed, but the kernel has not let it die.
  std::string failure_;               // Why it must go; "" = it may stay.
  TimePoint next_check_, ready_deadline_;
  std::optional<TimePoint> leave_deadline_;  // Its end of the socket is closed.
  int64_t heartbeats_ = 0;
  TimePoint last_beat_;
  std::vector<TimePoint> free_since_;  // By slot: the last hold's planned end.
  std::vector<HoldSample> holds_;
  HoldOvershoot overshoot_;
};

}  // namespace cosched
