#include "experiments/harness/server_table.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace cosched {

size_t ServerTable::Server::IndexOf(size_t service) const {
  const auto place = std::lower_bound(services.begin(), services.end(), service);
  return static_cast<size_t>(place - services.begin());
}

bool ServerTable::HasRoom(const Server& server) {
  if (!server.reachable || server.ended || server.draining) return false;
  return !server.room || server.requests.size() < static_cast<size_t>(*server.room);
}

template <typename Change>
void ServerTable::Update(size_t index, Change change) {
  Server& server = servers_[index];
  const auto kind = static_cast<size_t>(server.kind);
  const bool had_room = HasRoom(server);
  const Key before = KeyOf(server, index);
  change(server);
  const bool has_room = HasRoom(server);
  const Key after = KeyOf(server, index);
  for (const size_t service : server.services) {
    std::set<Key>& free = free_[service][kind];
    auto node = had_room ? free.extract(before) : std::set<Key>::node_type();
    if (!has_room) continue;
    if (node.empty()) {
      free.insert(after);
    } else {
      node.value() = after;
      free.insert(std::move(node));
    }
  }
}

size_t ServerTable::Add(Server server) {
  const size_t index = servers_.size();
  CHECK(index_.emplace(server.id, index).second) << "a server is added again";
  servers_.push_back(std::move(server));
  return index;
}

std::optional<size_t> ServerTable::Find(const ServerId& id) const {
  const auto found = index_.find(id);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

size_t ServerTable::IndexOf(const ServerId& id) const {
  const std::optional<size_t> index = Find(id);
  CHECK(index) << "somebody answers who serves nobody";
  return *index;
}

void ServerTable::SetReachable(size_t index) {
  Update(index, [](Server& server) { server.reachable = true; });
}

void ServerTable::Drain(size_t index) {
  Update(index, [](Server& server) { server.draining = true; });
}

std::map<int64_t, InFlight> ServerTable::End(size_t index) {
  std::map<int64_t, InFlight> lost;
  Update(index, [&lost](Server& server) {
    server.ended = true;
    lost = std::exchange(server.requests, {});
  });
  return lost;
}

std::optional<size_t> ServerTable::Next(size_t service, ServerClass kind) const {
  const std::set<Key>& free = free_[service][static_cast<size_t>(kind)];
  if (free.empty()) return std::nullopt;
  return std::get<2>(*free.begin());
}

std::optional<size_t> ServerTable::Next(size_t service) const {
  const std::optional<size_t> instance = Next(service, ServerClass::kCpu);
  const std::optional<size_t> device = Next(service, ServerClass::kDevice);
  if (!instance || !device) return instance ? instance : device;
  return servers_[*instance].requests.size() < servers_[*device].requests.size() ? instance
                                                                                 : device;
}

void ServerTable::Give(size_t index, int64_t id, const InFlight& request) {
  Update(index, [&](Server& server) {
    server.requests.emplace_hint(server.requests.end(), id, request);
    server.last_turn = ++turns_;
  });
}

InFlight ServerTable::TakeBack(size_t index, int64_t id) {
  InFlight request;
  Update(index, [&](Server& server) {
    const auto found = server.requests.find(id);
    CHECK(found != server.requests.end())
        << "request " << id << " is answered again, or was never sent";
    request = found->second;
    server.requests.erase(found);
  });
  return request;
}

}  // namespace cosched
