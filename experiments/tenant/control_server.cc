#include "experiments/tenant/control_server.h"

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "experiments/wire/control_socket.h"

namespace cosched {

using std::chrono::steady_clock;

ControlServer::ControlServer(int listener) : listener_(listener) {}

void ControlServer::BeginPeriodIfDue() {
  const steady_clock::time_point now = steady_clock::now();
  if (now - period_ < kPeriod) return;
  period_ = now;
  accepted_ = 0;
  for (auto& [client, connection] : connections_) connection.messages = 0;
}

void ControlServer::AddTo(std::vector<pollfd>* descriptors) {
  BeginPeriodIfDue();
  if (accepted_ < kConnectionsPerPeriod) descriptors->push_back({listener_, POLLIN, 0});
  for (const auto& [client, connection] : connections_) {
    if (connection.messages >= kMessagesPerPeriod) continue;
    descriptors->push_back({connection.socket.get(), POLLIN, 0});
  }
}

void ControlServer::Accept() {
  for (; accepted_ < kConnectionsPerPeriod; ++accepted_) {
    UniqueFd socket(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    const char* const refusal = !PeerIsTrusted(socket.get()) ? "this tenant is another user's"
                                : connections_.size() >= kMostClients
                                    ? "too many others speak with this tenant; try again"
                                    : nullptr;
    if (refusal != nullptr) {
      SendPacket(socket.get(), Encode(ControlReply(ErrorReply{0, refusal})));
    } else {
      connections_[next_client_++].socket = std::move(socket);
    }
  }
}

bool ControlServer::Read(Client client, Connection* connection, const Handler& handle) {
  const auto refuse = [connection](int64_t id, std::string reason) {
    const std::string text = Encode(ControlReply(ErrorReply{id, std::move(reason)}));
    return SendPacket(connection->socket.get(), text);
  };
  std::string text;
  for (; connection->messages < kMessagesPerPeriod; ++connection->messages) {
    switch (ReceivePacket(connection->socket.get(), &text)) {
      case Receipt::kNothing: return true;
      case Receipt::kClosed: return false;
      case Receipt::kTooLong:
        if (!refuse(0, "longer than a message may be")) return false;
        continue;
      case Receipt::kPacket: break;
    }
    const Parsed<ControlRequest> request = ParseControlRequest(text);
    if (!request.message) {
      if (!refuse(0, request.error)) return false;
    } else if (request.message->id <= connection->last_id) {
      if (!refuse(request.message->id, "replayed: the id is not above that of the last request")) {
        return false;
      }
    } else {
      connection->last_id = request.message->id;
      handle(client, *request.message);
    }
  }
  return true;
}

void ControlServer::Serve(const Handler& handle) {
  BeginPeriodIfDue();
  Accept();
  // By number: a handler's reply may end a connection.
  std::vector<Client> clients;
  for (const auto& [client, connection] : connections_) clients.push_back(client);
  for (const Client client : clients) {
    const auto found = connections_.find(client);
    if (found != connections_.end() && !Read(client, &found->second, handle)) {
      connections_.erase(client);
    }
  }
}

// A client that does not read its replies is let go: nothing may wait for it.
void ControlServer::Reply(Client client, const ControlReply& reply) {
  const auto found = connections_.find(client);
  if (found == connections_.end()) return;
  if (!SendPacket(found->second.socket.get(), Encode(reply))) {
    shutdown(found->second.socket.get(), SHUT_RDWR);
  }
}

}  // namespace cosched
