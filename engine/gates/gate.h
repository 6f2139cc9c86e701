#pragma once
// Items of several requests between two stages; batches never mix requests (Whitlock et al.,
// Pipelined TensorFlow, section 3). A request arrives with its first item or with its count, is
// opened when a batch of it is to be taken and the next gate of its level has a credit left, and is
// closed when all of its items were taken. Requests are opened in the order of their arrival; of the
// open ones the first that has a batch is next, so a later one overtakes one that has none yet.
// Called by PipelineState, which holds the credits. Pure; not thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/gates/item.h"

namespace cosched {

class Gate {
 public:
  // kPartition: as kMany, and the batch is a request of its own until partitions are joined. kWhole:
  // a request's items all at once, exactly one batch a request, be it empty.
  enum class Hands { kOne, kMany, kPartition, kWhole };
  struct Options {
    std::string name = {};
    Hands hands = Hands::kOne;
    int batch = 1;  // Of kMany and kPartition. Fewer only at the end of a request.
    int open = 0;  // Requests that may be inside or on their way, where less than its level's open.
    // That may be inside; 0: no bound. Each request that may be inside has an equal share of them,
    // and always room for a batch: what waits for a credit never takes the room of what has one.
    int64_t items = 0, bytes = 0;
    // Items are taken by ordinal, so batches depend on no timing; the room is then a window of
    // ordinals from the next one on. REQUIRES: ordinals are 0, 1, 2, ….
    bool in_order = false;
  };
  // `shares`: among how many requests the room is divided.
  Gate(const Options& options, int shares);

  // Whether an item of `bytes` may be put, beside `promised` others of the request that will be.
  bool HasRoom(RequestId request, const Ordinal& ordinal, int64_t bytes, int64_t promised) const;
  void Put(RequestId request, Item item);  // REQUIRES: HasRoom, and the count is not reached yet.
  // The request has so many items in all. Whether that closes it: all were taken before. REQUIRES:
  // once a request, no more were put.
  bool Tell(RequestId request, int64_t count);

  // Whether a batch of this request that begins with this item may be taken.
  using MayTake = std::function<bool(RequestId, const Ordinal& first)>;
  // Whose batch is next, if up to `credits` requests may be opened for it.
  std::optional<RequestId> Ready(int credits, const MayTake& may_take) const;
  struct Taken {
    ItemBatch batch;
    std::vector<RequestId> opened;  // For it, in this order: the request's predecessors, too.
    bool closed = false;            // That was the request's last batch.
  };
  Taken Take(RequestId request);  // REQUIRES: Ready gave it.

  // A request that has no items at all and needs no call: one that was opened for a later one's
  // batch, or else the oldest unopened one.
  std::optional<RequestId> Empty(bool may_open) const;
  void Pass(RequestId request);  // It is closed, opened if it was not. REQUIRES: Empty gave it.

  // Items dropped, of a request that failed or was cancelled; 0 if it is not here.
  int64_t Drop(RequestId request);

  int Requests() const { return static_cast<int>(entries_.size()); }
  int Open() const;
  bool IsOpen(RequestId request) const;
  bool Holds(RequestId request) const { return Find(request) != nullptr; }
  int64_t Items() const;
  int64_t Bytes() const;
  int64_t Batches() const;  // That requests have, full ones and those at a request's end.
  int64_t Dropped() const { return dropped_; }
  int64_t ItemsOf(RequestId request) const;
  std::vector<RequestId> InOrderOfArrival() const;

  void CheckInvariants() const;
  // Adds what its further behaviour depends on; `rank` stands for a request's id.
  void AddTo(std::vector<int64_t>* words, const std::function<int64_t(RequestId)>& rank) const;

 private:
  struct Entry {
    RequestId request;
    bool open = false;
    int64_t put = 0, taken = 0;
    int64_t count = -1;  // Not told yet.
    int64_t bytes = 0;
    size_t front = 0;  // Of `items`: those before it were taken.
    std::vector<Item> items;

    bool Complete() const { return put == count; }
    int64_t Inside() const { return put - taken; }
  };
  const Entry* Find(RequestId request) const;
  Entry& Get(RequestId request);  // Which arrives by that, if it is not here.
  int64_t BatchSize() const;
  int64_t InTurn(const Entry& entry, int64_t most) const;
  bool HasBatch(const Entry& entry) const;
  void Erase(RequestId request);

  std::shared_ptr<const Options> options_;  // Shared by copies.
  int shares_;
  std::vector<Entry> entries_;  // In order of arrival: the open ones come first.
  int64_t put_ = 0, taken_ = 0, dropped_ = 0;
};

}  // namespace cosched
