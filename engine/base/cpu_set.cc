#include "engine/base/cpu_set.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "engine/base/check.h"

namespace cosched {
namespace {

constexpr int kWordBits = 64;

constexpr uint64_t Bit(int cpu) { return uint64_t{1} << (cpu % kWordBits); }

// Reads one decimal CPU index at the front of `text` and removes it; -1 if there is none or it is
// beyond kMaxCpu.
int TakeCpu(std::string_view* text) {
  if (text->empty() || text->front() < '0' || text->front() > '9')
    return -1;  // from_chars takes a minus sign
  int cpu = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), cpu);
  if (error != std::errc() || cpu > CpuSet::kMaxCpu) return -1;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return cpu;
}

}  // namespace

CpuSet::CpuSet(std::initializer_list<int> cpus) {
  for (int cpu : cpus) Add(cpu);
}

CpuSet CpuSet::Range(int first, int last) {
  CpuSet set;
  for (int cpu = first; cpu <= last; ++cpu) set.Add(cpu);
  return set;
}

std::optional<CpuSet> CpuSet::Parse(std::string_view text) {
  CpuSet set;
  if (text.empty()) return set;
  while (true) {
    const int first = TakeCpu(&text);
    if (first < 0) return std::nullopt;
    int last = first;
    if (!text.empty() && text.front() == '-') {
      text.remove_prefix(1);
      last = TakeCpu(&text);
      if (last < first) return std::nullopt;
    }
    for (int cpu = first; cpu <= last; ++cpu) set.Add(cpu);
    if (text.empty()) return set;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
}

void CpuSet::HeapWords::Resize(size_t count) {
  if (count == size()) return;
  if (count == 0) return block_.reset();
  if (count > size()) {
    auto larger = std::make_unique<uint64_t[]>(1 + count);
    if (!empty()) std::copy_n(block_.get() + 1, size(), larger.get() + 1);
    block_ = std::move(larger);
  }
  block_[0] = count;
}

void CpuSet::HeapWords::CopyFrom(const HeapWords& other) {
  if (this == &other) return;
  if (other.empty()) return block_.reset();
  const size_t words = 1 + other.size();
  if (size() < other.size()) block_ = std::make_unique_for_overwrite<uint64_t[]>(words);
  std::copy_n(other.block_.get(), words, block_.get());
}

bool CpuSet::HeapWords::IsEqual(const HeapWords& other) const {
  return std::equal(block_.get(), block_.get() + 1 + size(), other.block_.get());
}

void CpuSet::AddToRest(int cpu) {
  CHECK(cpu >= 0 && cpu <= kMaxCpu) << "CPU " << cpu << " is outside 0-" << kMaxCpu;
  const size_t word = static_cast<size_t>(cpu / kWordBits);
  if (word >= Words()) rest_.Resize(word);
  Word(word) |= Bit(cpu);
}

void CpuSet::RemoveFromRest(int cpu) {
  if (!Contains(cpu)) return;
  Word(static_cast<size_t>(cpu / kWordBits)) &= ~Bit(cpu);
  Trim();
}

bool CpuSet::ContainsRest(const CpuSet& other) const {
  if (other.rest_.size() > rest_.size()) return false;  // The other's last word is not empty.
  for (size_t i = 0; i < other.rest_.size(); ++i) {
    if ((other.rest_[i] & ~rest_[i]) != 0) return false;
  }
  return true;
}

bool CpuSet::IntersectsRest(const CpuSet& other) const {
  for (size_t i = 0; i < std::min(rest_.size(), other.rest_.size()); ++i) {
    if ((rest_[i] & other.rest_[i]) != 0) return true;
  }
  return false;
}

int CpuSet::CountRest() const {
  int count = 0;
  for (size_t i = 0; i < rest_.size(); ++i) count += std::popcount(rest_[i]);
  return count;
}

int CpuSet::First() const {
  if (first_ != 0) return std::countr_zero(first_);
  for (size_t i = 0; i < rest_.size(); ++i) {
    if (rest_[i] != 0) return static_cast<int>(i + 1) * kWordBits + std::countr_zero(rest_[i]);
  }
  return -1;
}

CpuSet CpuSet::Lowest(int count) const {
  CpuSet lowest;
  for (size_t i = 0; i < Words() && count > 0; ++i) {
    uint64_t left_out = Word(i);
    for (; left_out != 0 && count > 0; --count) left_out &= left_out - 1;
    if (Word(i) != left_out) {
      if (i > 0) lowest.rest_.Resize(i);
      lowest.Word(i) = Word(i) & ~left_out;
    }
  }
  return lowest;
}

std::vector<int> CpuSet::ToVector() const { return {begin(), end()}; }

std::string CpuSet::ToString() const {
  std::string text;
  for (auto cpu = begin(); cpu != end();) {
    const int first = *cpu;
    int last = first;
    while (++cpu != end() && *cpu == last + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
  }
  return text;
}

void CpuSet::OrRest(const CpuSet& other) {
  if (rest_.size() < other.rest_.size()) rest_.Resize(other.rest_.size());
  for (size_t i = 0; i < other.rest_.size(); ++i) rest_[i] |= other.rest_[i];
}

void CpuSet::AndRest(const CpuSet& other) {
  if (rest_.size() > other.rest_.size()) rest_.Resize(other.rest_.size());
  for (size_t i = 0; i < rest_.size(); ++i) rest_[i] &= other.rest_[i];
  Trim();
}

void CpuSet::SubtractRest(const CpuSet& other) {
  for (size_t i = 0; i < std::min(rest_.size(), other.rest_.size()); ++i) {
    rest_[i] &= ~other.rest_[i];
  }
  Trim();
}

void CpuSet::Trim() {
  size_t count = rest_.size();
  while (count > 0 && rest_[count - 1] == 0) --count;
  rest_.Resize(count);
}

}  // namespace cosched
