#include "experiments/wire/frame_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr size_t kLengthBytes = 4;
// A machine that has lost its power or its network says no word: after so long without an answer
// to what was sent, or to the kernel's own questions, the connection counts as lost.
constexpr int kIdleSeconds = 5;
constexpr int kProbeSeconds = 2;
constexpr int kProbes = 5;
constexpr int kUnansweredMilliseconds = 15'000;

std::string ErrorText(int error) { return std::generic_category().message(error); }

[[noreturn]] void ThrowSocketError(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void SetOption(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);
}

void NoticeLoss(int socket) {
  SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  SetOption(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnansweredMilliseconds);
}

[[noreturn]] void RefuseAddress(const std::string& address, const std::string& problem) {
  throw InputError({.file = "command line",
                    .key = "--connect",
                    .problem = "\"" + address + "\": " + problem,
                    .allowed = "HOST:PORT where a harness listens"});
}

}  // namespace

std::string Framed(std::string_view text) {
  CHECK(text.size() <= kMaxFrame) << "a frame of " << text.size() << " bytes";
  std::string frame;
  frame.reserve(kLengthBytes + text.size());
  for (size_t i = kLengthBytes; i-- > 0;)
    frame.push_back(static_cast<char>(text.size() >> (8 * i) & 0xFF));
  return frame.append(text);
}

FrameReader::Next FrameReader::Take(std::string* text) {
  const std::string_view left = std::string_view(bytes_).substr(begin_);
  if (left.size() < kLengthBytes) return Next::kNothing;
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i)
    length = length << 8 | static_cast<unsigned char>(left[i]);
  if (length > most_) return Next::kTooLong;
  if (left.size() - kLengthBytes < length) {
    bytes_.erase(0, std::exchange(begin_, 0));
    return Next::kNothing;
  }
  text->assign(left.substr(kLengthBytes, length));
  begin_ += kLengthBytes + length;
  if (begin_ == bytes_.size()) bytes_.erase(0, std::exchange(begin_, 0));
  return Next::kFrame;
}

FrameSocket::FrameSocket(UniqueFd fd, size_t most) : fd_(std::move(fd)), reader_(most) {
  fcntl(fd_.get(), F_SETFL, fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
}

void FrameSocket::Close(std::string problem) {
  if (!closed()) problem_ = std::move(problem);
  unsent_.clear();
  sent_ = 0;
}

void FrameSocket::Send(std::string_view text) {
  if (closed()) return;
  unsent_ += Framed(text);
  Flush();
}

void FrameSocket::Flush() {
  while (!closed() && HasUnsent()) {
    const ssize_t count =
        send(fd_.get(), unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    // What the peer said before it went can still be received.
    if (count < 0) return Close("it takes no more: " + ErrorText(errno));
    sent_ += static_cast<size_t>(count);
  }
  if (!HasUnsent()) {
    unsent_.clear();
    sent_ = 0;
  }
}

void FrameSocket::Receive() {
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (count < 0) return Close(ErrorText(errno));
    if (count == 0) return Close("it closed the connection");
    reader_.Add({buffer.data(), static_cast<size_t>(count)});
  }
}

bool FrameSocket::Take(std::string* text) {
  const FrameReader::Next next = reader_.Take(text);
  if (next == FrameReader::Next::kTooLong) Close("it sent what is longer than a message may be");
  return next == FrameReader::Next::kFrame;
}

TcpListener ListenOnTcp(bool local) {
  TcpListener listener{
      .fd = UniqueFd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), .port = 0};
  sockaddr_storage address{};
  socklen_t size = sizeof(sockaddr_in6);
  auto* const six = reinterpret_cast<sockaddr_in6*>(&address);
  auto* const four = reinterpret_cast<sockaddr_in*>(&address);
  if (listener.fd && !local) {
    SetOption(listener.fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);  // All IPv4 addresses, too.
    six->sin6_family = AF_INET6;
    six->sin6_addr = in6addr_any;
  } else {
    listener.fd = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    size = sizeof(sockaddr_in);
    four->sin_family = AF_INET;
    four->sin_addr.s_addr = htonl(local ? INADDR_LOOPBACK : INADDR_ANY);
  }
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (!listener.fd || bind(listener.fd.get(), any, size) != 0 ||
      listen(listener.fd.get(), SOMAXCONN) != 0 || getsockname(listener.fd.get(), any, &size) != 0)
    ThrowSocketError("listening for the nodes' agents");
  listener.port = ntohs(address.ss_family == AF_INET6 ? six->sin6_port : four->sin_port);
  return listener;
}

UniqueFd AcceptTcp(int listener) {
  UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd) NoticeLoss(fd.get());
  return fd;
}

UniqueFd ConnectTcp(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) RefuseAddress(address, "names no port");
  const std::string host = address.substr(0, colon), port = address.substr(colon + 1);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    RefuseAddress(address, gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  int error = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    UniqueFd fd(socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
    if (fd && connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) {
      NoticeLoss(fd.get());
      return fd;
    }
    error = errno;
  }
  RefuseAddress(address, ErrorText(error));
}

}  // namespace cosched
