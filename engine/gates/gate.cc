#include "engine/gates/gate.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/base/check.h"

namespace cosched {

Gate::Gate(const Options& options, int shares)
    : options_(std::make_shared<const Options>(options)), shares_(shares) {
  CHECK(shares >= 1) << options.name << ": room for " << shares << " requests";
}

const Gate::Entry* Gate::Find(RequestId request) const {
  const auto found = std::ranges::find(entries_, request, &Entry::request);
  return found == entries_.end() ? nullptr : &*found;
}

Gate::Entry& Gate::Get(RequestId request) {
  const auto found = std::ranges::find(entries_, request, &Entry::request);
  if (found != entries_.end()) return *found;
  entries_.emplace_back().request = request;
  return entries_.back();
}

void Gate::Erase(RequestId request) {
  std::erase_if(entries_, [request](const Entry& entry) { return entry.request == request; });
}

int64_t Gate::BatchSize() const {
  const bool many = options_->hands == Hands::kMany || options_->hands == Hands::kPartition;
  return many ? options_->batch : 1;
}

bool Gate::HasRoom(RequestId request, const Ordinal& ordinal, int64_t bytes,
                   int64_t promised) const {
  if (options_->items == 0 && options_->bytes == 0) return true;
  const Entry* entry = Find(request);
  const int64_t next = entry == nullptr ? 0 : entry->taken;
  const int64_t inside = entry == nullptr ? 0 : entry->Inside();
  const int64_t bytes_inside = entry == nullptr ? 0 : entry->bytes;
  // How many come before it: of those that are or will be inside, and of those that are. Promises
  // are of places and not of bytes, or two calls could keep each other out of an empty gate.
  int64_t promised_before = inside + promised, before = inside;
  if (options_->in_order) promised_before = before = ordinal.Index() - next;
  const int64_t places = std::max(BatchSize(), options_->items / shares_);
  if (options_->items > 0 && promised_before >= places) return false;
  return options_->bytes == 0 || before < BatchSize() ||
         bytes_inside + bytes <= options_->bytes / shares_;
}

void Gate::Put(RequestId request, Item item) {
  Entry& entry = Get(request);
  CHECK(entry.count < 0 || entry.put < entry.count)
      << options_->name << ": request " << request.value << " has more than " << entry.count
      << " items";
  ++entry.put;
  ++put_;
  entry.bytes += item.payload.Bytes();
  const auto place = std::upper_bound(
      entry.items.begin() + static_cast<std::ptrdiff_t>(entry.front), entry.items.end(),
      item.ordinal,
      [](const Ordinal& ordinal, const Item& other) { return ordinal < other.ordinal; });
  entry.items.insert(place, std::move(item));
}

bool Gate::Tell(RequestId request, int64_t count) {
  Entry& entry = Get(request);
  CHECK(entry.count < 0) << options_->name << ": request " << request.value
                         << " was counted before";
  CHECK(count >= entry.put) << options_->name << ": request " << request.value << " has "
                            << entry.put << " of " << count << " items";
  entry.count = count;
  const bool closed =
      entry.open && entry.taken == count && !(options_->hands == Hands::kWhole && count == 0);
  if (closed) Erase(request);
  return closed;
}

// Items that may be taken one after the other from the next one on, `most` at most.
int64_t Gate::InTurn(const Entry& entry, int64_t most) const {
  most = std::min(most, entry.Inside());
  if (!options_->in_order) return most;
  int64_t count = 0;
  while (count < most && entry.items[entry.front + static_cast<size_t>(count)].ordinal.Index() ==
                             entry.taken + count) {
    ++count;
  }
  return count;
}

bool Gate::HasBatch(const Entry& entry) const {
  if (options_->hands == Hands::kWhole) return entry.Complete();
  const int64_t in_turn = InTurn(entry, BatchSize());
  return in_turn == BatchSize() || (entry.Complete() && in_turn > 0);
}

std::optional<RequestId> Gate::Ready(int credits, const MayTake& may_take) const {
  for (const Entry& entry : entries_) {
    if (!entry.open && credits-- <= 0) break;
    if (!HasBatch(entry)) continue;
    const Ordinal first = entry.Inside() > 0 ? entry.items[entry.front].ordinal : Ordinal();
    if (may_take(entry.request, first)) return entry.request;
  }
  return std::nullopt;
}

Gate::Taken Gate::Take(RequestId request) {
  Taken taken;
  const auto entry = std::ranges::find(entries_, request, &Entry::request);
  CHECK(entry != entries_.end() && HasBatch(*entry))
      << options_->name << ": request " << request.value << " has no batch";
  for (auto before = entries_.begin(); before <= entry; ++before) {
    if (!before->open) taken.opened.push_back(before->request);
    before->open = true;
  }
  const bool whole = options_->hands == Hands::kWhole;
  const int64_t count = whole ? entry->Inside() : InTurn(*entry, BatchSize());
  taken.batch.request = request;
  for (int64_t i = 0; i < count; ++i) {
    Item& item = entry->items[entry->front++];
    entry->bytes -= item.payload.Bytes();
    taken.batch.items.push_back(std::move(item));
  }
  entry->taken += count;
  taken_ += count;
  // Half of the places at least are in use, and each item moves once at most for that.
  if (entry->front * 2 >= entry->items.size()) {
    entry->items.erase(entry->items.begin(),
                       entry->items.begin() + static_cast<std::ptrdiff_t>(entry->front));
    entry->front = 0;
  }
  taken.closed = entry->taken == entry->count;
  if (taken.closed) entries_.erase(entry);
  return taken;
}

std::optional<RequestId> Gate::Empty(bool may_open) const {
  if (options_->hands == Hands::kWhole) return std::nullopt;
  for (const Entry& entry : entries_) {
    if (!entry.open && !may_open) break;
    if (entry.count == 0) return entry.request;
    if (!entry.open) break;
  }
  return std::nullopt;
}

void Gate::Pass(RequestId request) {
  CHECK(Empty(true) == request) << options_->name << ": request " << request.value
                                << " is not empty, or not the next to be opened";
  Erase(request);
}

int64_t Gate::Drop(RequestId request) {
  const Entry* entry = Find(request);
  if (entry == nullptr) return 0;
  const int64_t items = entry->Inside();
  dropped_ += items;
  Erase(request);
  return items;
}

int Gate::Open() const {
  return static_cast<int>(std::ranges::count(entries_, true, &Entry::open));
}

bool Gate::IsOpen(RequestId request) const {
  const Entry* entry = Find(request);
  return entry != nullptr && entry->open;
}

int64_t Gate::Items() const {
  int64_t items = 0;
  for (const Entry& entry : entries_) items += entry.Inside();
  return items;
}

int64_t Gate::Bytes() const {
  int64_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.bytes;
  return bytes;
}

int64_t Gate::Batches() const {
  int64_t batches = 0;
  for (const Entry& entry : entries_) {
    if (options_->hands == Hands::kWhole) {
      batches += entry.Complete() ? 1 : 0;
      continue;
    }
    const int64_t items = InTurn(entry, entry.Inside());
    batches += items / BatchSize();
    if (entry.Complete() && items == entry.Inside() && items % BatchSize() != 0) ++batches;
  }
  return batches;
}

int64_t Gate::ItemsOf(RequestId request) const {
  const Entry* entry = Find(request);
  return entry == nullptr ? 0 : entry->Inside();
}

std::vector<RequestId> Gate::InOrderOfArrival() const {
  std::vector<RequestId> requests;
  for (const Entry& entry : entries_) requests.push_back(entry.request);
  return requests;
}

void Gate::CheckInvariants() const {
  CHECK(std::ranges::is_sorted(entries_, std::greater<>(), &Entry::open))
      << options_->name << ": a request was opened before an older one";
  CHECK(put_ == taken_ + dropped_ + Items())
      << options_->name << ": " << put_ << " items came, " << taken_ << " were taken, " << dropped_
      << " dropped, " << Items() << " are inside";
  for (const Entry& entry : entries_) {
    CHECK(entry.items.size() - entry.front == static_cast<size_t>(entry.Inside()))
        << options_->name << ": items of request " << entry.request.value << " are lost";
    CHECK(entry.count < 0 || entry.put <= entry.count)
        << options_->name << ": too many items of request " << entry.request.value;
  }
}

void Gate::AddTo(std::vector<int64_t>* words, const std::function<int64_t(RequestId)>& rank) const {
  words->push_back(Requests());
  for (const Entry& entry : entries_) {
    words->insert(words->end(), {rank(entry.request), entry.open, entry.put, entry.taken,
                                 entry.count, entry.bytes});
    for (size_t i = entry.front; i < entry.items.size(); ++i) {
      for (const int32_t part : entry.items[i].ordinal.Parts()) words->push_back(part);
      words->push_back(entry.items[i].payload.Bytes());
    }
  }
}

}  // namespace cosched
