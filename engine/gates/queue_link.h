#pragma once
// Ranks that are threads of one process: what tests and benchmarks of several ranks use. Messages
// are bytes on the way, as between processes. Thread-safe.

#include <memory>
#include <vector>

#include "engine/gates/mailbox.h"
#include "engine/gates/rank_link.h"

namespace cosched {

class QueueLinks {
 public:
  explicit QueueLinks(int size);
  ~QueueLinks();
  // Lives as long as this object.
  RankLink& Of(int rank);
  // As if its process had died: every other rank learns it, and it hears nothing more itself.
  void Kill(int rank);

 private:
  class Link;
  std::vector<std::unique_ptr<Link>> links_;  // By rank.
};

}  // namespace cosched
