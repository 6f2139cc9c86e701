#include "experiments/tenant/answers.h"

#include <poll.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "experiments/wire/packet_socket.h"

namespace cosched {
namespace {

// False if the host is gone.
bool WaitForRoom(int socket) {
  pollfd descriptor{socket, POLLOUT, 0};
  while (poll(&descriptor, 1, -1) < 0) {
  }
  return (descriptor.revents & (POLLHUP | POLLERR)) == 0;
}

}  // namespace

// Several lanes may see the room that is enough for one: who comes too late waits again, because an
// answer is sent once.
void SendWhenThereIsRoom(int socket, const std::string& packet) {
  while (WaitForRoom(socket)) {
    if (SendPacket(socket, packet)) return;
  }
}

void SendAnswers(int socket, AnsweredBatch batch) {
  const std::vector<AnsweredBatch::Answer> all = std::exchange(batch.answers, {});
  for (size_t first = 0; first < all.size(); first += kMostAnswers) {
    const size_t count = std::min(kMostAnswers, all.size() - first);
    AnswerPacket packet;
    AnsweredBatch& part = packet.batches.emplace_back(batch);
    part.answers.assign(all.begin() + static_cast<std::ptrdiff_t>(first),
                        all.begin() + static_cast<std::ptrdiff_t>(first + count));
    SendWhenThereIsRoom(socket, Encode(packet));
  }
}

}  // namespace cosched
