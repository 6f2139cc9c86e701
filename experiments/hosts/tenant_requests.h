#pragma once
// The host's side of the requests that one server has, an instance of a service or a device:
// numbers them, sends them in packets, and matches the answers, which it believes only as far as
// they can be true. Used by SupervisedTenant and SupervisedDevice. Not thread-safe.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "experiments/wire/request_packets.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/service.h"

namespace cosched {

class TenantRequests {
 public:
  explicit TenantRequests(ServerId server) : server_(server) {}

  void Send(const Request& request, TimePoint now);
  void Drain() { draining_ = true; }  // No more will be sent.

  // Sends what waits, as long as the tenant reads; three quarters of the socket's buffer stay free
  // for grants. The drain goes last.
  void Flush(int socket);
  bool Flushed() const { return unsent_ == pending_.size() && drained_ == draining_; }

  // Why the answers can't be true, or "". epoch: MonotonicNow() at TimePoint zero.
  std::string Take(const AnswerPacket& packet, Duration epoch, TimePoint now);

  bool AllAnswered() const { return pending_.empty(); }
  bool Drained() const { return drained_; }  // The server has been told so.
  bool HasAnswers() const { return !answered_.empty(); }
  void TakeAnswered(std::vector<RequestSample>* answered);  // Appended, in order of the answers.

 private:
  struct Pending {
    int64_t id = 0;
    TimePoint scheduled, sent;
    double work = 1;
    uint16_t service = 0;  // As in a RequestPacket.
    bool answered = false;
  };
  RequestPacket NextPacket() const;
  std::string TakeBatch(const AnsweredBatch& batch, Duration epoch, TimePoint now);

  const ServerId server_;
  bool draining_ = false, drained_ = false;
  uint64_t first_ = 0;           // Number of pending_'s front.
  std::deque<Pending> pending_;  // From the first that is not answered.
  size_t unsent_ = 0;            // Requests from here on are not with the tenant yet.
  std::vector<RequestSample> answered_;
};

}  // namespace cosched
