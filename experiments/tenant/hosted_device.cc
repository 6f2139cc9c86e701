#include "experiments/tenant/hosted_device.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "experiments/tenant/answers.h"
#include "experiments/tenant/device_service.h"
#include "experiments/wire/shared_counters.h"
#include "experiments/wire/tenant_protocol.h"

namespace cosched {
namespace {

constexpr int kDeviceBeatMilliseconds = 200;

class HostedDevice {
 public:
  HostedDevice(const HostedDeviceOptions& options, int socket, SharedCounters* counters)
      : socket_(socket),
        counters_(counters),
        service_(options, [this](const DeviceHold& hold) { Tell(hold); }) {}

  // Until the host is gone.
  void Run() {
    while (true) {
      counters_->Beat();
      pollfd readable{socket_, POLLIN, 0};
      if (poll(&readable, 1, kDeviceBeatMilliseconds) > 0 && !Read()) return;
    }
  }

 private:
  // False if the host is gone.
  bool Read() {
    std::string packet;
    while (true) {
      switch (ReceivePacket(socket_, &packet)) {
        case Receipt::kNothing: return true;
        case Receipt::kClosed: return false;
        case Receipt::kTooLong: throw std::runtime_error("got an oversized packet");
        case Receipt::kPacket: break;
      }
      // Nobody grants it cores, and what it has when it is drained it answers anyway.
      if (IsRequestPacket(packet)) Take(packet);
      counters_->Beat();
    }
  }

  void Take(const std::string& packet) {
    const Parsed<RequestPacket> parsed = ParseRequestPacket(packet);
    if (!parsed.message)
      throw std::runtime_error("got requests that can't be read: " + parsed.error);
    const RequestPacket& message = *parsed.message;
    if (!service_.Serves(message.service)) {
      throw std::runtime_error("got requests of service " + std::to_string(message.service) +
                               ", which it does not serve");
    }
    const TimePoint now(MonotonicNow());
    std::vector<DeviceRequest> requests;
    requests.reserve(message.work.size());
    for (const double work : message.work)
      requests.push_back({message.service, message.first + requests.size(), work, now});
    service_.Submit(requests);
  }

  // On the answering thread.
  void Tell(const DeviceHold& hold) {
    constexpr size_t kMost = std::numeric_limits<uint16_t>::max();
    const size_t batch = hold.requests.size();
    const HoldPacket packet{{{.begin = hold.begin.time_since_epoch(),
                              .planned_end = hold.planned_end.time_since_epoch(),
                              .end = hold.end.time_since_epoch(),
                              .slot = static_cast<uint32_t>(hold.slot),
                              .service = static_cast<uint16_t>(hold.service),
                              .batch = static_cast<uint16_t>(std::min(batch, kMost))}}};
    SendWhenThereIsRoom(socket_, Encode(packet));
    AnsweredBatch answers{.started = hold.begin.time_since_epoch(),
                          .finished = hold.end.time_since_epoch(),
                          .size = static_cast<int64_t>(batch),
                          .answers = {}};
    for (const DeviceRequest& request : hold.requests)
      answers.answers.push_back({request.number, request.received.time_since_epoch()});
    SendAnswers(socket_, std::move(answers));
    counters_->AddAnswers(static_cast<int64_t>(batch));
  }

  const int socket_;
  SharedCounters* const counters_;
  DeviceService service_;  // After what its threads use.
};

}  // namespace

int RunHostedDevice(const HostedDeviceOptions& options) {
  if (options.host_socket.empty()) DieWithHost(options.host_pid);
  HostLink host = LinkToHost(options);
  const int socket = host.socket.get();
  SharedCounters counters = SharedCounters::Map(std::move(host.counters));
  try {
    // Its threads never end: a slot may be held for long. They go with the process.
    auto* const device = new HostedDevice(options, socket, &counters);
    SendPacket(socket, Encode(TenantMessage(HelloMessage{JobId{options.device.value}})));
    device->Run();
    _exit(0);
  } catch (const std::exception& error) {
    SendPacket(socket, Encode(TenantMessage(ErrorMessage{error.what()})));
    std::fprintf(stderr, "%s\n", error.what());
    _exit(dynamic_cast<const InputError*>(&error) != nullptr ? 2 : 1);
  }
}

}  // namespace cosched
