#pragma once
// The clients of a tenant's control socket: accepts those of the tenant's user and root, reads
// their requests and carries replies back. One that floods, hangs, never reads or talks nonsense
// costs a bounded share of one thread and nothing else. Used by the control thread; not
// thread-safe.

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "engine/base/unique_fd.h"
#include "experiments/wire/tenant_protocol.h"

namespace cosched {

class ControlServer {
 public:
  using Client = int64_t;
  // A readable request; the answer may be given then or later.
  using Handler = std::function<void(Client client, const ControlRequest& request)>;

  static constexpr size_t kMostClients = 8;
  // Messages read of one client, and connections accepted, in a period; more wait for the next.
  static constexpr int kMessagesPerPeriod = 20, kConnectionsPerPeriod = 8;
  static constexpr std::chrono::milliseconds kPeriod{100};

  explicit ControlServer(int listener);  // The descriptor outlives it.

  // What to wait for now: clients and a listener that have used up their share are left out until
  // the next period, which then comes within kPeriod.
  void AddTo(std::vector<pollfd>* descriptors);
  // Accepts and reads all that is there, within the shares.
  void Serve(const Handler& handle);
  void Reply(Client client, const ControlReply& reply);  // Nothing if it is gone by now.

 private:
  struct Connection {
    UniqueFd socket;
    int64_t last_id = 0;
    int messages = 0;  // In this period.
  };

  void BeginPeriodIfDue();
  void Accept();
  // False if the client is gone, or must go.
  bool Read(Client client, Connection* connection, const Handler& handle);

  const int listener_;
  std::map<Client, Connection> connections_;
  Client next_client_ = 1;
  std::chrono::steady_clock::time_point period_;
  int accepted_ = 0;  // In this period.
};

}  // namespace cosched
