#pragma once
// A heap whose entries can be found again, to be taken out or replaced: whoever owns an entry is
// told each place that it moves to. For the simulator's queues of what is due next. 4-ary: fewer
// levels and cache lines than a binary heap. Costs O(log n). One thread.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace cosched {

// Entry: copied, ordered by `<`; the least is at the front.
template <typename Entry>
class PositionedHeap {
 public:
  static constexpr int kNowhere = -1;

  bool Empty() const { return entries_.empty(); }
  const Entry& Front() const { return entries_.front(); }  // REQUIRES: not Empty().
  const Entry& operator[](int position) const { return entries_[static_cast<size_t>(position)]; }

  // moved(entry, position): where it is from now on; kNowhere = it was taken out.
  template <typename Moved>
  void Insert(const Entry& entry, Moved moved) {
    entries_.push_back(entry);
    SiftUp(entries_.size() - 1, moved);
  }

  // REQUIRES, here and below: an entry's position, as it was told last.
  template <typename Moved>
  void Erase(int position, Moved moved) {
    const auto place = static_cast<size_t>(position);
    moved(entries_[place], kNowhere);
    const Entry last = entries_.back();
    entries_.pop_back();
    if (place < entries_.size()) Settle(place, last, moved);
  }

  template <typename Moved>
  void Replace(int position, const Entry& entry, Moved moved) {
    Settle(static_cast<size_t>(position), entry, moved);
  }

 private:
  static constexpr size_t kArity = 4;

  template <typename Moved>
  void Put(size_t place, const Entry& entry, Moved& moved) {
    entries_[place] = entry;
    moved(entry, static_cast<int>(place));
  }

  template <typename Moved>
  void Settle(size_t place, const Entry& entry, Moved& moved) {
    entries_[place] = entry;
    if (place > 0 && entry < entries_[(place - 1) / kArity]) return SiftUp(place, moved);
    SiftDown(place, moved);
  }

  template <typename Moved>
  void SiftUp(size_t place, Moved& moved) {
    const Entry entry = entries_[place];
    while (place > 0) {
      const size_t parent = (place - 1) / kArity;
      if (!(entry < entries_[parent])) break;
      Put(place, entries_[parent], moved);
      place = parent;
    }
    Put(place, entry, moved);
  }

  template <typename Moved>
  void SiftDown(size_t place, Moved& moved) {
    const Entry entry = entries_[place];
    while (true) {
      const size_t first = kArity * place + 1;
      if (first >= entries_.size()) break;
      const size_t end = std::min(first + kArity, entries_.size());
      size_t least = first;
      for (size_t child = first + 1; child < end; ++child) {
        if (entries_[child] < entries_[least]) least = child;
      }
      if (!(entries_[least] < entry)) break;
      Put(place, entries_[least], moved);
      place = least;
    }
    Put(place, entry, moved);
  }

  std::vector<Entry> entries_;
};

}  // namespace cosched
