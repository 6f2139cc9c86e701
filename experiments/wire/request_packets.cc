#include "experiments/wire/request_packets.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/base/check.h"

namespace cosched {
namespace {

static_assert(std::endian::native == std::endian::little, "packets are written as they lie");

constexpr uint8_t kMark = 0xC5;

enum class Kind : uint8_t { kRequests = 'Q', kAnswers = 'A', kHolds = 'H' };

struct Head {
  uint8_t mark = kMark;
  uint8_t kind = 0;
  uint16_t version = kRequestPacketVersion;
  uint16_t count = 0;
  uint16_t service = 0;
};
struct BatchHead {
  int64_t started = 0, finished = 0;
  uint32_t size = 0, here = 0;
  uint32_t outcome = 0, zero = 0;
};
struct AnswerEntry {
  uint64_t number = 0;
  int64_t received = 0;
};
struct HoldEntry {
  int64_t begin = 0, planned_end = 0, end = 0;
  uint32_t slot = 0;
  uint16_t service = 0, batch = 0;
};
static_assert(sizeof(Head) == 8 && sizeof(BatchHead) == 32 && sizeof(AnswerEntry) == 16 &&
                  sizeof(HoldEntry) == 32,
              "the format has no gaps");
// No packet holds more of anything than its head can count.
static_assert(kMaxPacket / sizeof(double) <= std::numeric_limits<uint16_t>::max());

template <typename Plain>
void Put(std::string* packet, const Plain& value) {
  packet->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes values off the front; says no when there is not enough left.
class Reader {
 public:
  explicit Reader(std::string_view left) : left_(left) {}
  template <typename Plain>
  bool Take(Plain* value) {
    if (left_.size() < sizeof *value) return false;
    std::memcpy(value, left_.data(), sizeof *value);
    left_.remove_prefix(sizeof *value);
    return true;
  }
  size_t Left() const { return left_.size(); }

 private:
  std::string_view left_;
};

std::string NewPacket(Kind kind, size_t count, size_t size, uint16_t service = 0) {
  std::string packet;
  packet.reserve(size);
  Put(&packet, Head{.kind = static_cast<uint8_t>(kind),
                    .count = static_cast<uint16_t>(count),
                    .service = service});
  return packet;
}

// Why the packet can't be one of that kind, or "".
std::string TakeHead(Kind kind, std::string_view packet, Reader* reader, Head* head) {
  if (packet.size() > kMaxPacket) return "longer than a packet may be";
  if (!reader->Take(head) || head->mark != kMark) return "not a packet of requests";
  if (head->version != kRequestPacketVersion) {
    return "request packets of version " + std::to_string(head->version) + ", this side speaks " +
           std::to_string(kRequestPacketVersion);
  }
  if (head->kind != static_cast<uint8_t>(kind)) return "requests, answers and holds are mixed up";
  if (kind != Kind::kRequests && head->service != 0) return "of a service, which it can't be";
  return head->count == 0 ? "an empty packet of requests" : "";
}

// Why the batch can't be, or "".
std::string TakeBatch(Reader* reader, AnsweredBatch* batch) {
  BatchHead head;
  if (!reader->Take(&head)) return "cut off";
  if (head.started < 0 || head.finished < head.started) return "a batch that ends before it begins";
  if (head.here == 0 || head.here > head.size) return "a batch of another size than it says";
  if (head.outcome > 1 || head.zero != 0) return "an outcome that can't be";
  if (head.here > reader->Left() / sizeof(AnswerEntry)) return "cut off";
  batch->started = std::chrono::nanoseconds(head.started);
  batch->finished = std::chrono::nanoseconds(head.finished);
  batch->size = head.size;
  batch->failed = head.outcome == 1;
  batch->answers.reserve(head.here);
  for (uint32_t i = 0; i < head.here; ++i) {
    AnswerEntry entry;
    reader->Take(&entry);
    if (entry.received < 0) return "a time before all time";
    batch->answers.push_back({entry.number, std::chrono::nanoseconds(entry.received)});
  }
  return "";
}

}  // namespace

bool IsRequestPacket(std::string_view packet) {
  return !packet.empty() && static_cast<uint8_t>(packet.front()) == kMark;
}
bool IsHoldPacket(std::string_view packet) {
  return IsRequestPacket(packet) && packet.size() > 1 &&
         static_cast<uint8_t>(packet[1]) == static_cast<uint8_t>(Kind::kHolds);
}

std::string Encode(const RequestPacket& requests) {
  CHECK(!requests.work.empty() && requests.work.size() <= kMostRequests)
      << requests.work.size() << " requests in a packet";
  std::string packet = NewPacket(Kind::kRequests, requests.work.size(),
                                 16 + 8 * requests.work.size(), requests.service);
  Put(&packet, requests.first);
  for (const double work : requests.work) Put(&packet, work);
  return packet;
}

std::string Encode(const AnswerPacket& answers) {
  size_t size = sizeof(Head);
  for (const AnsweredBatch& batch : answers.batches)
    size += sizeof(BatchHead) + batch.answers.size() * sizeof(AnswerEntry);
  CHECK(!answers.batches.empty() && size <= kMaxPacket) << "a packet of " << size << " bytes";
  std::string packet = NewPacket(Kind::kAnswers, answers.batches.size(), size);
  for (const AnsweredBatch& batch : answers.batches) {
    Put(&packet, BatchHead{.started = batch.started.count(),
                           .finished = batch.finished.count(),
                           .size = static_cast<uint32_t>(batch.size),
                           .here = static_cast<uint32_t>(batch.answers.size()),
                           .outcome = batch.failed ? 1u : 0u});
    for (const AnsweredBatch::Answer& answer : batch.answers)
      Put(&packet, AnswerEntry{answer.number, answer.received.count()});
  }
  return packet;
}

std::string Encode(const HoldPacket& holds) {
  const size_t size = sizeof(Head) + holds.holds.size() * sizeof(HoldEntry);
  CHECK(!holds.holds.empty() && size <= kMaxPacket) << "a packet of " << size << " bytes";
  std::string packet = NewPacket(Kind::kHolds, holds.holds.size(), size);
  for (const HoldPacket::Hold& hold : holds.holds) {
    Put(&packet, HoldEntry{.begin = hold.begin.count(),
                           .planned_end = hold.planned_end.count(),
                           .end = hold.end.count(),
                           .slot = hold.slot,
                           .service = hold.service,
                           .batch = hold.batch});
  }
  return packet;
}

Parsed<RequestPacket> ParseRequestPacket(std::string_view packet) {
  Reader reader(packet);
  Head head;
  if (std::string why = TakeHead(Kind::kRequests, packet, &reader, &head); !why.empty())
    return {std::nullopt, why};
  RequestPacket requests{.first = 0, .work = {}, .service = head.service};
  const bool whole = reader.Take(&requests.first) && reader.Left() == head.count * sizeof(double);
  if (!whole) return {std::nullopt, "of another length than it says"};
  if (requests.first > std::numeric_limits<uint64_t>::max() - head.count)
    return {std::nullopt, "numbers beyond all numbers"};
  requests.work.resize(head.count);
  for (double& work : requests.work) {
    reader.Take(&work);
    if (!std::isfinite(work) || work < 0) return {std::nullopt, "work that can't be done"};
  }
  return {std::move(requests), ""};
}

Parsed<AnswerPacket> ParseAnswerPacket(std::string_view packet) {
  Reader reader(packet);
  Head head;
  if (std::string why = TakeHead(Kind::kAnswers, packet, &reader, &head); !why.empty())
    return {std::nullopt, why};
  AnswerPacket answers;
  for (uint32_t i = 0; i < head.count; ++i) {
    std::string why = TakeBatch(&reader, &answers.batches.emplace_back());
    if (!why.empty()) return {std::nullopt, why};
  }
  if (reader.Left() > 0) return {std::nullopt, "of another length than it says"};
  return {std::move(answers), ""};
}

Parsed<HoldPacket> ParseHoldPacket(std::string_view packet) {
  Reader reader(packet);
  Head head;
  if (std::string why = TakeHead(Kind::kHolds, packet, &reader, &head); !why.empty())
    return {std::nullopt, why};
  if (reader.Left() != head.count * sizeof(HoldEntry))
    return {std::nullopt, "of another length than it says"};
  HoldPacket holds;
  for (uint32_t i = 0; i < head.count; ++i) {
    HoldEntry entry;
    reader.Take(&entry);
    if (entry.begin < 0 || entry.planned_end < entry.begin || entry.end < entry.planned_end)
      return {std::nullopt, "a hold that ends before it should"};
    if (entry.batch == 0) return {std::nullopt, "a hold for nobody"};
    holds.holds.push_back({.begin = std::chrono::nanoseconds(entry.begin),
                           .planned_end = std::chrono::nanoseconds(entry.planned_end),
                           .end = std::chrono::nanoseconds(entry.end),
                           .slot = entry.slot,
                           .service = entry.service,
                           .batch = entry.batch});
  }
  return {std::move(holds), ""};
}

}  // namespace cosched
