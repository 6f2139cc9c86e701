#pragma once
// CPU time per time, in thousandths of a core: what a cgroup's quota gives, and what a policy may
// grant in place of whole cores. Exact, so that sums compare. A value; used on every seam.

#include <compare>
#include <cstdint>

namespace cosched {

struct CpuShare {
  int64_t milli = 0;

  static constexpr CpuShare OfCores(int cores) { return {cores * int64_t{1000}}; }
  constexpr double Cores() const { return static_cast<double>(milli) / 1000; }
  // That can use it: rounded up.
  constexpr int Threads() const { return static_cast<int>((milli + 999) / 1000); }

  friend constexpr auto operator<=>(const CpuShare&, const CpuShare&) = default;
  friend constexpr CpuShare operator+(CpuShare a, CpuShare b) { return {a.milli + b.milli}; }
  friend constexpr CpuShare operator-(CpuShare a, CpuShare b) { return {a.milli - b.milli}; }
  constexpr CpuShare& operator+=(CpuShare other) { return *this = *this + other; }
  constexpr CpuShare& operator-=(CpuShare other) { return *this = *this - other; }
};

}  // namespace cosched
