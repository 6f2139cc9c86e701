#pragma once
// A set of logical CPUs by their OS index, as a value. Every seam that speaks of cores uses it; a
// "core" in policies and records is one logical CPU of this set. Text form: an interval set such as
// "0-3,5" ("" is the empty set). A set of CPUs below 64 allocates nothing: a million simulated jobs
// make some hundred million of them, so what such a set needs is inline and takes 16 bytes.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cosched {

class CpuSet {
 public:
  static constexpr int kMaxCpu = 4095;

  CpuSet() = default;
  CpuSet(std::initializer_list<int> cpus);
  static CpuSet Range(int first, int last);  // Both included; empty if last < first.
  static std::optional<CpuSet> Parse(
      std::string_view text);  // nullopt if malformed or beyond kMaxCpu.

  void Add(int cpu) {
    if (cpu < 0 || cpu >= 64) return AddToRest(cpu);
    first_ |= uint64_t{1} << cpu;
  }
  void Remove(int cpu) {
    if (cpu < 0 || cpu >= 64) return RemoveFromRest(cpu);
    first_ &= ~(uint64_t{1} << cpu);
  }
  bool Contains(int cpu) const {
    if (cpu < 0) return false;
    const size_t word = static_cast<size_t>(cpu) / 64;
    return word < Words() && (Word(word) >> (cpu % 64) & 1) != 0;
  }
  bool Contains(const CpuSet& other) const {  // Superset or equal.
    if ((other.first_ & ~first_) != 0) return false;
    return other.rest_.empty() || ContainsRest(other);
  }
  bool Intersects(const CpuSet& other) const {
    if ((first_ & other.first_) != 0) return true;
    return !rest_.empty() && !other.rest_.empty() && IntersectsRest(other);
  }
  bool Empty() const { return first_ == 0 && rest_.empty(); }
  int Count() const {
    const int count = std::popcount(first_);
    return rest_.empty() ? count : count + CountRest();
  }
  int CountCommon(const CpuSet& other) const {  // CPUs of the intersection.
    const int count = std::popcount(first_ & other.first_);
    return rest_.empty() || other.rest_.empty() ? count : count + (*this & other).CountRest();
  }
  int First() const;                  // Lowest CPU, or -1.
  CpuSet Lowest(int count) const;     // The `count` lowest CPUs; all if there are no more.
  std::vector<int> ToVector() const;  // Ascending.
  std::string ToString() const;

  // for (int cpu : set): ascending. Valid until the set changes.
  class Iterator;
  Iterator begin() const;
  Iterator end() const;

  CpuSet& operator|=(const CpuSet& other) {
    first_ |= other.first_;
    if (!other.rest_.empty()) OrRest(other);
    return *this;
  }
  CpuSet& operator&=(const CpuSet& other) {
    first_ &= other.first_;
    if (!rest_.empty()) AndRest(other);
    return *this;
  }
  CpuSet& operator-=(const CpuSet& other) {
    first_ &= ~other.first_;
    if (!rest_.empty() && !other.rest_.empty()) SubtractRest(other);
    return *this;
  }
  friend CpuSet operator|(CpuSet a, const CpuSet& b) { return a |= b; }
  friend CpuSet operator&(CpuSet a, const CpuSet& b) { return a &= b; }
  friend CpuSet operator-(CpuSet a, const CpuSet& b) { return a -= b; }
  friend bool operator==(const CpuSet&, const CpuSet&) = default;

 private:
  // Some words on the heap, the first of the block their number; no block if there are none.
  class HeapWords {
   public:
    HeapWords() = default;
    HeapWords(const HeapWords& other) {
      if (!other.empty()) CopyFrom(other);
    }
    HeapWords& operator=(const HeapWords& other) {
      if (!empty() || !other.empty()) CopyFrom(other);
      return *this;
    }
    HeapWords(HeapWords&&) = default;
    HeapWords& operator=(HeapWords&&) = default;
    ~HeapWords() = default;

    bool empty() const { return block_ == nullptr; }
    size_t size() const { return empty() ? 0 : block_[0]; }
    uint64_t operator[](size_t i) const { return block_[1 + i]; }
    uint64_t& operator[](size_t i) { return block_[1 + i]; }
    void Resize(size_t count);  // New words are 0.
    friend bool operator==(const HeapWords& a, const HeapWords& b) {
      return a.empty() || b.empty() ? a.empty() == b.empty() : a.IsEqual(b);
    }

   private:
    void CopyFrom(const HeapWords& other);
    bool IsEqual(const HeapWords& other) const;  // REQUIRES: neither is empty.

    std::unique_ptr<uint64_t[]> block_;
  };

  size_t Words() const { return 1 + rest_.size(); }
  uint64_t Word(size_t i) const { return i == 0 ? first_ : rest_[i - 1]; }
  uint64_t& Word(size_t i) { return i == 0 ? first_ : rest_[i - 1]; }
  void Trim();
  void AddToRest(int cpu);
  void RemoveFromRest(int cpu);
  // What the operations do beyond the first word.
  bool ContainsRest(const CpuSet& other) const;
  bool IntersectsRest(const CpuSet& other) const;
  int CountRest() const;
  void OrRest(const CpuSet& other);
  void AndRest(const CpuSet& other);
  void SubtractRest(const CpuSet& other);

  uint64_t first_ = 0;  // CPUs 0-63.
  HeapWords rest_;      // No trailing zero word, so that equality is memberwise.
};

class CpuSet::Iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = int;
  using difference_type = std::ptrdiff_t;
  using pointer = const int*;
  using reference = int;

  Iterator() = default;
  int operator*() const { return static_cast<int>(word_ * 64) + std::countr_zero(left_); }
  Iterator& operator++() {
    left_ &= left_ - 1;
    SkipEmptyWords();
    return *this;
  }
  Iterator operator++(int) {
    const Iterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Iterator& a, const Iterator& b) {
    return a.word_ == b.word_ && a.left_ == b.left_;
  }

 private:
  friend class CpuSet;
  Iterator(const CpuSet* set, size_t word) : set_(set), word_(word) {
    if (word_ < set_->Words()) left_ = set_->Word(word_);
    SkipEmptyWords();
  }
  void SkipEmptyWords() {
    if (left_ != 0) return;
    const size_t words = set_->Words();
    while (left_ == 0 && word_ < words) {
      if (++word_ < words) left_ = set_->Word(word_);
    }
  }

  const CpuSet* set_ = nullptr;
  size_t word_ = 0;
  uint64_t left_ = 0;  // What is left of that word: the CPU it stands on, and those behind.
};

inline CpuSet::Iterator CpuSet::begin() const { return Iterator(this, 0); }
inline CpuSet::Iterator CpuSet::end() const { return Iterator(this, Words()); }

}  // namespace cosched
