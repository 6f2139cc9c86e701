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
  if (word >= words_.size()) words_.resize(word + 1);
  words_[word] |= Bit(cpu);
}

void CpuSet::Remove(int cpu) {
  if (!Contains(cpu)) return;
  words_[static_cast<size_t>(cpu / kWordBits)] &= ~Bit(cpu);
  Trim();
}

bool CpuSet::Contains(int cpu) const {
  if (cpu < 0) return false;
  const size_t word = static_cast<size_t>(cpu / kWordBits);
  return word < words_.size() && (words_[word] & Bit(cpu)) != 0;
}

bool CpuSet::Contains(const CpuSet& other) const { return (other - *this).Empty(); }

int CpuSet::Count() const {
  int count = 0;
  for (uint64_t word : words_) count += std::popcount(word);
  return count;
}

int CpuSet::First() const {
  for (size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] != 0) return static_cast<int>(i) * kWordBits + std::countr_zero(words_[i]);
  }
  return -1;
}

std::vector<int> CpuSet::ToVector() const {
  std::vector<int> cpus;
  for (size_t i = 0; i < words_.size(); ++i) {
    for (uint64_t rest = words_[i]; rest != 0; rest &= rest - 1) {
      cpus.push_back(static_cast<int>(i) * kWordBits + std::countr_zero(rest));
    }
  }
  return cpus;
}

std::string CpuSet::ToString() const {
  const std::vector<int> cpus = ToVector();
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (end - i > 1) text += '-' + std::to_string(cpus[end - 1]);
    i = end;
  }
  return text;
}

CpuSet operator|(const CpuSet& a, const CpuSet& b) {
  CpuSet result = a.words_.size() >= b.words_.size() ? a : b;
  const CpuSet& shorter = a.words_.size() >= b.words_.size() ? b : a;
  for (size_t i = 0; i < shorter.words_.size(); ++i) result.words_[i] |= shorter.words_[i];
  return result;
}

CpuSet operator&(const CpuSet& a, const CpuSet& b) {
  CpuSet result;
  result.words_.resize(std::min(a.words_.size(), b.words_.size()));
  for (size_t i = 0; i < result.words_.size(); ++i) result.words_[i] = a.words_[i] & b.words_[i];
  result.Trim();
  return result;
}

CpuSet operator-(const CpuSet& a, const CpuSet& b) {
  CpuSet result = a;
  const size_t common = std::min(a.words_.size(), b.words_.size());
  for (size_t i = 0; i < common; ++i) result.words_[i] &= ~b.words_[i];
  result.Trim();
  return result;
}

void CpuSet::Trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

}  // namespace cosched
