#pragma once
// Texts over a TCP connection, each in a frame: its length in bytes, a big-endian number of 4
// bytes, and then itself. What harness and node agents speak through
// (experiments/hosts/host_protocol.h). FrameReader is pure; a FrameSocket is for one thread.

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/base/unique_fd.h"

namespace cosched {

// The reports of a busy node are a few hundred kilobytes.
inline constexpr size_t kMaxFrame = size_t{64} << 20;

// REQUIRES: text.size() <= kMaxFrame.
std::string Framed(std::string_view text);

// Takes a stream of bytes apart, however it was cut.
class FrameReader {
 public:
  enum class Next {
    kFrame,    // `text` holds it
    kNothing,  // the next one has not arrived whole
    kTooLong,  // it is longer than `most`: the stream is of no more use
  };

  explicit FrameReader(size_t most = kMaxFrame) : most_(most) {}
  void SetMost(size_t most) { most_ = most; }
  void Add(std::string_view bytes) { bytes_ += bytes; }
  Next Take(std::string* text);

 private:
  size_t most_;
  std::string bytes_;
  size_t begin_ = 0;  // Of what was not taken.
};

// One end of a connection; never blocks.
class FrameSocket {
 public:
  // most: the longest frame that is taken.
  explicit FrameSocket(UniqueFd fd, size_t most = kMaxFrame);

  int fd() const { return fd_.get(); }
  // The peer is gone, or what it sent was no frame; why.
  bool closed() const { return !problem_.empty(); }
  const std::string& problem() const { return problem_; }
  void SetMost(size_t most) { reader_.SetMost(most); }

  // Kept until it can be sent: by this call, or by a Flush once the socket takes more.
  void Send(std::string_view text);
  void Flush();
  bool HasUnsent() const { return sent_ < unsent_.size(); }

  // Reads what has arrived.
  void Receive();
  // False if there is no whole frame.
  bool Take(std::string* text);

 private:
  void Close(std::string problem);

  UniqueFd fd_;
  FrameReader reader_;
  std::string unsent_;
  size_t sent_ = 0;  // Of it.
  std::string problem_;
};

// A socket that listens on some free port, on all of this machine's addresses or, if `local`, on
// 127.0.0.1 alone. Throws std::system_error.
struct TcpListener {
  UniqueFd fd;
  int port = 0;
};
TcpListener ListenOnTcp(bool local);
// The next who has connected; without one if there is none.
UniqueFd AcceptTcp(int listener);
// address: "HOST:PORT". Throws InputError (key --connect) if it is none or nobody listens there.
UniqueFd ConnectTcp(const std::string& address);

}  // namespace cosched
