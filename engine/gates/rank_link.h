#pragma once
// The way between the ranks of a pipeline, each a process of its own: rank 0 (remote_lanes.h) and
// those that make calls for it (rank_worker.h). Two links there are: queues in one process, for
// tests (queue_link.h), and MPI (mpi_link.h). Thread-safe, but only one thread may receive.

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>

#include "engine/gates/rank_message.h"

namespace cosched {

// A rank is gone, or says what none would: there is nobody to go on with.
class LinkError : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

// The first of these: it has ended, or been killed.
class RankGone : public LinkError {
 public:
  using LinkError::LinkError;
};

class RankLink {
 public:
  // Of a message as bytes: MPI counts them in an int.
  static constexpr size_t kMostBytes = size_t{1} << 30;

  struct Received {
    int from = 0;
    RankMessage message = {};
  };

  virtual ~RankLink() = default;
  virtual int Rank() const = 0;
  virtual int Size() const = 0;
  // Encoded; returns at once. How many are on their way is bounded by what ranks want. Dropped if
  // somebody is gone, which Receive tells. REQUIRES: at most kMostBytes.
  virtual void Send(int to, std::string message) = 0;
  // Nothing after this time, or when woken. Messages of one rank come in their order. Throws
  // RankGone if a rank is, each time from then on, and LinkError for a message that is none.
  virtual std::optional<Received> Receive(std::chrono::microseconds wait) = 0;
  // Whoever receives returns at once, or the next time.
  virtual void Wake() = 0;
};

// "rank 2 is gone"
inline std::string GoneText(int rank) { return "rank " + std::to_string(rank) + " is gone"; }

}  // namespace cosched
