#include "engine/base/cpu_set.h"

#include <algorithm>
#include <bit>
#include <charconv>

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

void CpuSet::Add(int cpu) {
  CHECK(cpu >= 0 && cpu <= kMaxCpu) << "CPU " << cpu << " is outside 0-" << kMaxCpu;
  const size_t word = static_cast<size_t>(cpu / kWordBits);
  if (word >= Words()) rest_.resize(word);
  Word(word) |= Bit(cpu);
}

void CpuSet::Remove(int cpu) {
  if (!Contains(cpu)) return;
  Word(static_cast<size_t>(cpu / kWordBits)) &= ~Bit(cpu);
  Trim();
}

bool CpuSet::ContainsRest(const CpuSet& other) const {
  if (other.rest_.size() > rest_.size()) return false;  // Its last word is not empty.
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
  for (const uint64_t word : rest_) count += std::popcount(word);
  return count;
}

int CpuSet::First() const { return Empty() ? -1 : *begin(); }

CpuSet CpuSet::Lowest(int count) const {
  CpuSet lowest;
  for (size_t i = 0; i < Words() && count > 0; ++i) {
    uint64_t left_out = Word(i);
    for (; left_out != 0 && count > 0; --count) left_out &= left_out - 1;
    if (Word(i) != left_out) {
      if (i > 0) lowest.rest_.resize(i);
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
  if (rest_.size() < other.rest_.size()) rest_.resize(other.rest_.size());
  for (size_t i = 0; i < other.rest_.size(); ++i) rest_[i] |= other.rest_[i];
}

void CpuSet::AndRest(const CpuSet& other) {
  if (rest_.size() > other.rest_.size()) rest_.resize(other.rest_.size());
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
  while (!rest_.empty() && rest_.back() == 0) rest_.pop_back();
}

}  // namespace cosched
