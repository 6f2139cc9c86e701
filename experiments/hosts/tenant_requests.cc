#include "experiments/hosts/tenant_requests.h"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "engine/base/check.h"

namespace cosched {
namespace {

// The kernel says so while less than a quarter of the buffer is unread.
bool HasRoom(int socket) {
  pollfd descriptor{socket, POLLOUT, 0};
  return poll(&descriptor, 1, 0) > 0 && (descriptor.revents & POLLOUT) != 0;
}

}  // namespace

void TenantRequests::Send(const Request& request, TimePoint now) {
  Pending& pending = pending_.emplace_back();
  pending.id = request.id;
  pending.scheduled = request.scheduled;
  pending.sent = now;
  pending.work = request.work;
  if (std::holds_alternative<DeviceId>(server_)) {
    CHECK(std::in_range<uint16_t>(request.service.value))
        << "service " << request.service.value << " of a device";
    pending.service = static_cast<uint16_t>(request.service.value);
  }
}

// The first that are not sent yet, as many of one service as follow each other and fit.
// REQUIRES: there are some.
RequestPacket TenantRequests::NextPacket() const {
  RequestPacket packet{.first = first_ + unsent_, .work = {}, .service = pending_[unsent_].service};
  const size_t most = std::min(kMostRequests, pending_.size() - unsent_);
  packet.work.reserve(most);
  for (size_t i = 0; i < most && pending_[unsent_ + i].service == packet.service; ++i)
    packet.work.push_back(pending_[unsent_ + i].work);
  return packet;
}

void TenantRequests::Flush(int socket) {
  while (!Flushed() && HasRoom(socket)) {
    if (unsent_ == pending_.size()) {
      drained_ = SendPacket(socket, Encode(HostMessage(DrainMessage{})));
      return;
    }
    const RequestPacket packet = NextPacket();
    if (!SendPacket(socket, Encode(packet))) return;
    unsent_ += packet.work.size();
  }
}

std::string TenantRequests::Take(const AnswerPacket& packet, Duration epoch, TimePoint now) {
  for (const AnsweredBatch& batch : packet.batches) {
    std::string problem = TakeBatch(batch, epoch, now);
    if (!problem.empty()) return problem;
  }
  while (!pending_.empty() && pending_.front().answered) {
    pending_.pop_front();
    ++first_;
    --unsent_;
  }
  return "";
}

// A tenant's clock is this host's too, so an honest tenant's times are in order already.
std::string TenantRequests::TakeBatch(const AnsweredBatch& batch, Duration epoch, TimePoint now) {
  const auto at = [&](std::chrono::nanoseconds time, TimePoint earliest) {
    return std::clamp(TimePoint(std::max<Duration>(time, epoch) - epoch), earliest, now);
  };
  if (batch.size > std::numeric_limits<int>::max()) return "answered a batch that can't be";
  for (const AnsweredBatch::Answer& answer : batch.answers) {
    if (answer.number < first_ || answer.number - first_ >= unsent_ ||
        std::exchange(pending_[answer.number - first_].answered, true)) {
      return "answered a request that is not its to answer";
    }
    const Pending& request = pending_[answer.number - first_];
    RequestSample& sample = answered_.emplace_back();
    sample.server = server_;
    sample.id = request.id;
    sample.scheduled = request.scheduled;
    sample.received = at(answer.received, request.sent);
    sample.started = at(batch.started, sample.received);
    sample.finished = at(batch.finished, sample.started);
    sample.batch = static_cast<int>(batch.size);
    sample.failed = batch.failed;
  }
  return "";
}

void TenantRequests::TakeAnswered(std::vector<RequestSample>* answered) {
  std::ranges::move(answered_, std::back_inserter(*answered));
  answered_.clear();
}

}  // namespace cosched
