#pragma once
// Polling as ROMA's published dispatcher does it (Baresi, Quattrocchi, Rasi, ICSOC 2021, its code):
// in place of servers that take what waits, one poller a class of servers asks the class's Dispatch
// for a queue, of all that the class serves, also empty ones. From one that is not empty it hands a
// request to a server of the class, waiting until one has room, and polls on at once; a pick of an
// empty queue costs it a pause of a millisecond, and what a sleeper wakes late (drawn, up to a
// tenth). So a class whose Dispatch picks empty queues, as round-robin does, gets fewer requests
// than it has room for.
//
// Costs nothing while all queues are empty: polls of that time are made up for afterwards. Used by
// the dispatcher, one thread.

#include <functional>
#include <optional>
#include <vector>

#include "engine/base/random.h"
#include "policies/dispatch/dispatch.h"
#include "policies/dispatch/server_class.h"

namespace cosched {

class Pollers {
 public:
  explicit Pollers(const Random& random) : random_(random) {}
  // server: one of the class, for its Dispatch, which outlives the poller. REQUIRES: services is
  // not empty.
  void Add(ServerClass kind, Dispatch* dispatch, const ServerId& server,
           std::vector<size_t> services);

  // How a poller finds a service's queue, for a server of its class.
  using Look = std::function<QueueView(size_t service, ServerClass kind)>;
  // Hands the request at the front of that queue to a server of the class; false if none has room.
  using Hand = std::function<bool(size_t service, ServerClass kind)>;
  // Polls as often as was due until now.
  void Run(TimePoint now, const Look& look, const Hand& hand);
  // Whether a request of the service waits that a server of the class can be handed.
  using Waits = std::function<bool(size_t service, ServerClass kind)>;
  // When one polls next that may find something.
  std::optional<TimePoint> Next(const Waits& waits) const;

 private:
  struct Poller {
    ServerClass kind;
    Dispatch* dispatch;
    ServerId server;
    std::vector<size_t> services;
    TimePoint next;
    std::optional<size_t> picked = {};  // A service for whose request no server has room.
  };
  void Poll(Poller* poller, TimePoint now, const Look& look, const Hand& hand);

  Random random_;
  std::vector<Poller> pollers_;
  std::vector<QueueView> views_;
};

}  // namespace cosched
