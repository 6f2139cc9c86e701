#pragma once
// Who answers a cell's requests: instances on cores, each of one service, and devices, which serve
// several. Keeps what each has in flight and finds, of those that have room, the one that is to be
// given the next request. A look costs O(log n) in the servers of a service. Used by the
// dispatcher, one thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "policies/dispatch/server_class.h"
#include "policies/service.h"

namespace cosched {

// A request that a server has.
struct InFlight {
  TimePoint taken, dispatched;
};

class ServerTable {
 public:
  struct Server {
    ServerId id;
    ServerClass kind = ServerClass::kCpu;
    std::string device = {};            // Its name; "" = an instance.
    std::vector<size_t> services = {};  // Ascending.
    std::vector<size_t> places = {};    // By index in `services`: its number among their servers.
    std::optional<int> room = {};       // Requests that it may have at once; none = any number.
    bool reachable = false;             // It was started; stays so until it has ended.
    bool ended = false;
    bool draining = false;                      // It gets no more.
    std::map<int64_t, InFlight> requests = {};  // By id.
    int64_t last_turn = 0;                      // When it was given one, in turns.
    // Of devices: response that is expected of it, when it is idle, for a unit of work; by index in
    // `services`.
    std::vector<Duration> unit_response = {};

    size_t IndexOf(size_t service) const;  // In `services`. REQUIRES: it is one of them.
  };

  explicit ServerTable(size_t services) : free_(services) {}

  size_t Add(Server server);  // Its index; not reachable yet.
  const Server& operator[](size_t index) const { return servers_[index]; }
  size_t Size() const { return servers_.size(); }
  // REQUIRES: it is there.
  size_t IndexOf(const ServerId& id) const;
  std::optional<size_t> Find(const ServerId& id) const;

  void SetReachable(size_t index);
  void Drain(size_t index);
  // What it had, which nobody will answer.
  std::map<int64_t, InFlight> End(size_t index);

  // Of those of the service (and class) with room: the one that has the fewest, then a device, then
  // the one that waited longest for its turn.
  std::optional<size_t> Next(size_t service) const;
  std::optional<size_t> Next(size_t service, ServerClass kind) const;
  void Give(size_t index, int64_t id, const InFlight& request);  // REQUIRES: it has room.
  InFlight TakeBack(size_t index, int64_t id);                   // REQUIRES: it has that one.

 private:
  using Key = std::tuple<size_t, int64_t, size_t>;  // Requests in flight, last turn, index.
  static bool HasRoom(const Server& server);
  static Key KeyOf(const Server& server, size_t index) {
    return {server.requests.size(), server.last_turn, index};
  }
  // Takes it out of the free ones, changes it, and puts it back if it has room.
  template <typename Change>
  void Update(size_t index, Change change);

  std::vector<Server> servers_;
  std::map<ServerId, size_t> index_;
  std::vector<std::array<std::set<Key>, kServerClasses>> free_;  // By service and class.
  int64_t turns_ = 0;
};

}  // namespace cosched
