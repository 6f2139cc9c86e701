#include "experiments/wire/packet_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace cosched {

bool SendPacket(int socket, std::string_view text, int descriptor) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  if (descriptor >= 0) {
    packet.msg_control = control;
    packet.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&packet);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(text.size());
}

Receipt ReceivePacket(int socket, std::string* text, UniqueFd* descriptor) {
  char bytes[kMaxPacket];  // Not the text, which would be filled with zeros first.
  iovec part{bytes, sizeof bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  if (descriptor != nullptr) {
    packet.msg_control = control;
    packet.msg_controllen = sizeof control;
  }
  ssize_t length;
  do {
    length = recvmsg(socket, &packet, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    // A peer that has closed with something unread: told once, before what it had sent itself.
  } while (length < 0 && (errno == EINTR || errno == ECONNRESET));
  const cmsghdr* const header = length >= 0 ? CMSG_FIRSTHDR(&packet) : nullptr;
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int received;
    std::memcpy(&received, CMSG_DATA(header), sizeof received);
    *descriptor = UniqueFd(received);
  }
  if (length > static_cast<ssize_t>(kMaxPacket)) return Receipt::kTooLong;
  text->assign(bytes, length > 0 ? static_cast<size_t>(length) : 0);
  if (length > 0) return Receipt::kPacket;
  return length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? Receipt::kNothing
                                                                 : Receipt::kClosed;
}

}  // namespace cosched
