#include "traces/input/external_sort.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cosched {
namespace {

struct RecordHead {
  int64_t key;
  uint64_t size;
};

constexpr size_t kSmallestBuffer = 4 << 10;
constexpr size_t kLargestBuffer = 1 << 20;

}  // namespace

void ExternalSort::Add(int64_t key, std::string_view record) {
  const size_t used = bytes_.size() + entries_.size() * sizeof(Entry);
  if (!entries_.empty() && used + record.size() + sizeof(Entry) > memory_) Spill();
  in_order_ &= entries_.empty() || entries_.back().key <= key;
  entries_.push_back({key, bytes_.size(), record.size()});
  bytes_.insert(bytes_.end(), record.begin(), record.end());
}

void ExternalSort::Finish() {
  if (!file_) {
    SortEntries();
    return;
  }
  Spill();
  entries_ = {};
  bytes_ = {};
  const size_t buffer = std::clamp(memory_ / runs_.size(), kSmallestBuffer, kLargestBuffer);
  for (size_t i = 0; i < runs_.size(); ++i) {
    runs_[i].buffer.reserve(buffer);
    if (Advance(&runs_[i])) heap_.push_back(i);
  }
}

bool ExternalSort::Next(int64_t* key, std::string_view* record) {
  if (!file_) {
    if (next_entry_ == entries_.size()) return false;
    const Entry& entry = entries_[next_entry_++];
    *key = entry.key;
    *record = {bytes_.data() + entry.offset, entry.size};
    return true;
  }
  // With equal keys the earlier run is first: its records went in before.
  const auto later = [this](size_t a, size_t b) {
    return runs_[a].key != runs_[b].key ? runs_[a].key > runs_[b].key : a > b;
  };
  if (!started_) {
    std::make_heap(heap_.begin(), heap_.end(), later);
    started_ = true;
  } else if (!heap_.empty()) {
    // The run that gave the last record goes on only now: its view was valid until here.
    std::pop_heap(heap_.begin(), heap_.end(), later);
    if (Advance(&runs_[heap_.back()])) {
      std::push_heap(heap_.begin(), heap_.end(), later);
    } else {
      heap_.pop_back();
    }
  }
  if (heap_.empty()) return false;
  const Run& run = runs_[heap_.front()];
  *key = run.key;
  *record = run.record;
  return true;
}

void ExternalSort::SortEntries() {
  if (std::exchange(in_order_, true)) return;  // As most of a trace is.
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.offset < b.offset;
  });
}

void ExternalSort::Spill() {
  if (!file_) file_ = std::make_unique<TemporaryFile>();
  SortEntries();
  const int64_t begin = file_->Size();
  std::string out;
  for (const Entry& entry : entries_) {
    const RecordHead head = {entry.key, entry.size};
    out.append(reinterpret_cast<const char*>(&head), sizeof head);
    out.append(bytes_.data() + entry.offset, entry.size);
    if (out.size() > kLargestBuffer) {
      file_->Append(out);
      out.clear();
    }
  }
  file_->Append(out);
  runs_.push_back({.at = begin, .end = file_->Size(), .buffer = {}, .record = {}});
  entries_.clear();
  bytes_.clear();
}

bool ExternalSort::Advance(Run* run) const {
  if (run->begin == run->buffer.size() && run->at == run->end) return false;
  RecordHead head = {};
  Need(run, sizeof head);
  std::memcpy(&head, run->buffer.data() + run->begin, sizeof head);
  run->begin += sizeof head;
  Need(run, head.size);
  run->key = head.key;
  run->record = {run->buffer.data() + run->begin, head.size};
  run->begin += head.size;
  return true;
}

void ExternalSort::Need(Run* run, size_t bytes) const {
  const size_t there = run->buffer.size() - run->begin;
  if (there >= bytes) return;
  run->buffer.erase(run->buffer.begin(), run->buffer.begin() + static_cast<ptrdiff_t>(run->begin));
  run->begin = 0;
  const size_t wanted = std::max(bytes, run->buffer.capacity());
  const auto more = static_cast<size_t>(
      std::min<int64_t>(static_cast<int64_t>(wanted - there), run->end - run->at));
  run->buffer.resize(there + more);
  file_->ReadAt(run->at, run->buffer.data() + there, more);
  run->at += static_cast<int64_t>(more);
}

}  // namespace cosched
