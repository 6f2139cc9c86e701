#include "experiments/hosts/supervised_device.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "experiments/hosts/tenant_arguments.h"
#include "experiments/hosts/within.h"
#include "experiments/os/process_sampler.h"
#include "experiments/wire/device_start.h"

namespace cosched {
namespace {

// Between looks whether it lives, and while it does not take what is sent.
constexpr Duration kDevicePeriod = std::chrono::milliseconds(200);
constexpr Duration kDeviceSendPeriod = std::chrono::microseconds(500);
constexpr Duration kDeviceLeaveTimeout =
    std::chrono::seconds(1);  // From a closed socket to its end.
constexpr int kDevicePacketsPerTurn = 64;

std::vector<std::string> DeviceFolders(const DeviceSpec& spec) {
  std::vector<std::string> folders;
  for (const std::optional<TenantSpec>& service : spec.services) {
    if (service) std::ranges::move(FoldersOf(*service), std::back_inserter(folders));
  }
  std::ranges::sort(folders);
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  return folders;
}

// Whether the threads that hold its slots (experiments/tenant/device_service.h) run before
// tenants', as the kernel has it.
bool HoldersRunBeforeTenants(pid_t process) {
  for (const pid_t thread : ThreadsOf(process)) {
    std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) +
                       "/comm");
    std::string name;
    if (!std::getline(file, name) || !name.starts_with("holder/")) continue;
    if ((sched_getscheduler(thread) & ~SCHED_RESET_ON_FORK) != SCHED_FIFO) return false;
  }
  return true;
}

}  // namespace

SupervisedDevice::SupervisedDevice(const DeviceSpec& spec, const Settings& settings,
                                   TenantLauncher* launcher, TimePoint now, Duration epoch)
    : spec_(spec),
      settings_(settings),
      epoch_(epoch),
      counters_(SharedCounters::Create()),
      requests_(spec.id),
      next_check_(now),
      ready_deadline_(now + settings.timeouts.start),
      free_since_(static_cast<size_t>(spec.slots)) {
  const int cores = spec.cores.Count();
  launched_ = launcher->Launch(
      {.job = JobId{-1 - spec.id.value},
       .arguments = {"tenant", "--device=" + Encode(StartOf(spec, /*host_threads=*/cores))},
       .place = Place::Whole(spec.cores, DefaultSplit(cores)),
       .counters = counters_.fd(),
       .log = settings.log,
       .folders = DeviceFolders(spec),
       // A quota's group would refuse SCHED_FIFO to its holders.
       .has_group = false});
}

std::vector<int> SupervisedDevice::Descriptors() const {
  std::vector<int> descriptors = launched_->Descriptors();
  if (!leave_deadline_) descriptors.push_back(launched_->socket());
  return descriptors;
}

void SupervisedDevice::Kill() {
  launched_->Counters();  // The last look at what it used.
  survived_kill_ = !launched_->Kill();
}

void SupervisedDevice::Fail(std::string reason) {
  if (failure_.empty()) failure_ = std::move(reason);
}

void SupervisedDevice::ReadMessages(TimePoint now, int most) {
  std::string text;
  if (launched_->socket() < 0 || leave_deadline_) return;
  for (int i = 0; i < most && failure_.empty(); ++i) {
    switch (ReceivePacket(launched_->socket(), &text)) {
      case Receipt::kNothing: return;
      case Receipt::kTooLong: return Fail("sent an oversized message");
      case Receipt::kClosed: leave_deadline_ = now + kDeviceLeaveTimeout; return;
      case Receipt::kPacket: Take(text);
    }
  }
}

// What it tells may be younger than this turn.
void SupervisedDevice::Take(const std::string& packet) {
  const TimePoint now(MonotonicNow() - epoch_);
  if (!IsRequestPacket(packet)) {
    TakeMessage(packet);
  } else if (!ready_) {
    Fail("did not say hello first");
  } else if (IsHoldPacket(packet)) {
    TakeHeld(packet, now);
  } else {
    TakeAnswers(packet, now);
  }
}

void SupervisedDevice::TakeMessage(const std::string& text) {
  const Parsed<TenantMessage> parsed = ParseTenantMessage(text);
  if (!parsed.message) return Fail("sent a message that can't be read: " + parsed.error);
  if (const auto* error = std::get_if<ErrorMessage>(&*parsed.message)) return Fail(error->reason);
  const auto* hello = std::get_if<HelloMessage>(&*parsed.message);
  if (hello == nullptr || ready_ || hello->job.value != spec_.id.value)
    return Fail("sent a message that is not a device's");
  ready_ = true;
  holds_before_tenants_ = HoldersRunBeforeTenants(launched_->pid());
}

void SupervisedDevice::TakeAnswers(const std::string& packet, TimePoint now) {
  const Parsed<AnswerPacket> parsed = ParseAnswerPacket(packet);
  Fail(parsed.message ? requests_.Take(*parsed.message, epoch_, now)
                      : "sent answers that can't be read: " + parsed.error);
}

void SupervisedDevice::TakeHeld(const std::string& packet, TimePoint now) {
  const Parsed<HoldPacket> parsed = ParseHoldPacket(packet);
  if (!parsed.message) return Fail("told of holds that can't be read: " + parsed.error);
  for (const HoldPacket::Hold& hold : parsed.message->holds) Fail(TakeHold(hold, now));
}

// Why it can't be true, or "".
std::string SupervisedDevice::TakeHold(const HoldPacket::Hold& hold, TimePoint now) {
  const bool known = hold.slot < free_since_.size() && hold.service < spec_.services.size() &&
                     spec_.services[hold.service];
  HoldSample sample;
  sample.begin = TimePoint(hold.begin - epoch_);
  sample.planned_end = TimePoint(hold.planned_end - epoch_);
  sample.end = TimePoint(hold.end - epoch_);
  if (!known || sample.begin < free_since_[hold.slot] || sample.end > now)
    return "told of a hold that can't be";
  sample.device = spec_.id;
  sample.slot = static_cast<int>(hold.slot);
  sample.service = ServiceId{hold.service};
  sample.batch = hold.batch;
  free_since_[hold.slot] = sample.planned_end;
  overshoot_.Add(sample);
  holds_.push_back(sample);
  return "";
}

void SupervisedDevice::CheckLife(TimePoint now) {
  if (leave_deadline_ && now >= *leave_deadline_) return Fail("closed its control socket");
  if (!ready_) {
    if (now >= ready_deadline_) Fail("was not ready" + Within(settings_.timeouts.start));
    last_beat_ = now;
    return;
  }
  const int64_t heartbeats = counters_.Read().heartbeats;
  if (std::exchange(heartbeats_, heartbeats) != heartbeats) last_beat_ = now;
  if (now - last_beat_ >= settings_.timeouts.heartbeat)
    Fail("gave no heartbeat" + Within(settings_.timeouts.heartbeat));
}

// This host was not scheduled, as on a machine that was suspended; the device may not have been
// either.
void SupervisedDevice::AllowForDelay(Duration delay) {
  ready_deadline_ += delay;
  last_beat_ += delay;
  if (leave_deadline_) *leave_deadline_ += delay;
}

std::optional<HostLostDevice> SupervisedDevice::Advance(TimePoint now) {
  const Duration period =
      std::min({kDevicePeriod, settings_.timeouts.heartbeat / 4, settings_.timeouts.start / 4});
  const TimePoint due = std::exchange(next_check_, now + period);
  if (now - due > period) AllowForDelay(next_check_ - due);  // Until the next look at least.
  try {
    launched_->Advance();
  } catch (const std::runtime_error& error) {
    Fail(error.what());
  }
  ReadMessages(now, kDevicePacketsPerTurn);
  if (const std::optional<TenantProcess::End> end = launched_->Ended()) {
    ReadMessages(now, std::numeric_limits<int>::max());  // Its last words, said since.
    survived_kill_ = !end->all_gone;
    Fail(end->how + (ready_ ? "" : " before it was ready"));
    return HostLostDevice{spec_.id, failure_};
  }
  CheckLife(now);
  if (!failure_.empty()) {
    Kill();
    return HostLostDevice{spec_.id, failure_};
  }
  if (ready_ && !leave_deadline_) requests_.Flush(launched_->socket());
  if (ready_ && !requests_.Flushed()) next_check_ = now + kDeviceSendPeriod;
  return std::nullopt;
}

void SupervisedDevice::TakeHolds(std::vector<HoldSample>* holds) {
  std::ranges::sort(holds_, {}, &HoldSample::end);
  std::ranges::move(holds_, std::back_inserter(*holds));
  holds_.clear();
}

std::vector<std::string> SupervisedDevice::Marks() const {
  std::vector<std::string> marks;
  if (!holds_before_tenants_) {
    marks.push_back("the modelled device " + spec_.name +
                    " could not hold its slots SCHED_FIFO: tenants may have delayed it");
  }
  if (std::optional<std::string> late = overshoot_.Mark(spec_.name))
    marks.push_back(std::move(*late));
  if (survived_kill_) {
    marks.push_back("the modelled device " + spec_.name +
                    " was killed, but has not died in time: cores may be in use by it");
  }
  return marks;
}

}  // namespace cosched
