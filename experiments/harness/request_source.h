#pragma once
// The requests of a cell as they become due: those of its trace, whatever became of the ones before
// (an open loop), and those of clients who wait for an answer and think before they ask again (a
// closed loop). Called by the dispatcher, one thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "traces/arrivals/client_script.h"

namespace cosched {

class RequestSource {
 public:
  // Both outlive it.
  RequestSource(const RequestTrace& trace, const std::vector<ClientScript>& clients);

  // When the next one is due, as far as is known; nullopt: not before another one is over.
  std::optional<TimePoint> NextDue() const;
  // Its id: its index in the trace; of clients the numbers behind these, in the order of taking.
  int64_t Take();  // REQUIRES: NextDue().
  // No more will ever be due.
  bool AllTaken() const { return next_ == trace_.size() && asking_clients_ == 0; }
  // Some client asks again only when it is answered.
  bool WaitsForAnswers() const { return asking_clients_ > thinking_.size(); }
  // That was taken; RequestArrival::time is when it was due.
  const RequestArrival& At(int64_t id) const;
  // Answered or dropped then: its client may think of the next one.
  void Over(int64_t id, TimePoint time);

 private:
  using Due = std::pair<TimePoint, size_t>;  // Client.
  struct Asked {
    size_t client = 0;
    RequestArrival request;
  };

  const RequestTrace& trace_;
  const std::vector<ClientScript>& clients_;
  size_t next_ = 0;               // Of the trace.
  std::vector<size_t> progress_;  // By client: how many it has asked.
  size_t asking_clients_ = 0;     // That have more to ask.
  std::vector<Asked> asked_;      // By clients, by id behind the trace.
  std::priority_queue<Due, std::vector<Due>, std::greater<>> thinking_;
};

}  // namespace cosched
