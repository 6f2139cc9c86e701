#pragma once
// A set of logical CPUs by their OS index, as a value. Every seam that speaks of cores uses it; a
// "core" in policies and records is one logical CPU of this set. Text form: an interval set such as
// "0-3,5" ("" is the empty set).

#include <cstdint>
#include <initializer_list>
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

  void Add(int cpu);
  void Remove(int cpu);
  bool Contains(int cpu) const;
  bool Contains(const CpuSet& other) const;  // Superset or equal.
  bool Empty() const { return words_.empty(); }
  int Count() const;
  int First() const;                  // Lowest CPU, or -1.
  std::vector<int> ToVector() const;  // Ascending.
  std::string ToString() const;

  friend CpuSet operator|(const CpuSet& a, const CpuSet& b);
  friend CpuSet operator&(const CpuSet& a, const CpuSet& b);
  friend CpuSet operator-(const CpuSet& a, const CpuSet& b);
  friend bool operator==(const CpuSet&, const CpuSet&) = default;

 private:
  void Trim();
  std::vector<uint64_t> words_;  // No trailing zero word, so that equality is memberwise.
};

}  // namespace cosched
