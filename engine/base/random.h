#pragma once
// Seeded random numbers with the same sequence on every platform and standard library (std
// distributions are not portable). Not thread-safe; not for cryptography. Derive(tag) gives an
// independent stream, so that adding a draw in one place does not shift all others.

#include <cstdint>
#include <string_view>

namespace cosched {

class Random {
 public:
  explicit Random(uint64_t seed);
  Random Derive(
      std::string_view tag) const;  // Depends on this stream's seed only, not on its draws.

  uint64_t Next();                          // 64 uniform bits (xoshiro256**).
  double Uniform();                         // [0, 1)
  double Uniform(double low, double high);  // [low, high)
  uint64_t Below(uint64_t bound);           // [0, bound), unbiased. REQUIRES: bound > 0.
  double Normal(double mean, double standard_deviation);
  double Exponential(double mean);

 private:
  uint64_t seed_;
  uint64_t state_[4];
};

}  // namespace cosched
