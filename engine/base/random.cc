#include "engine/base/random.h"

#include <bit>
#include <cmath>

#include "engine/base/check.h"

namespace cosched {
namespace {

uint64_t SplitMix(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Natural logarithm of a positive, normal number. libm's differs in the last bit between libraries;
// this one uses only what IEEE 754 fixes, so that seeded workloads are the same everywhere. The fma
// are explicit because some compilers contract a * b + c by themselves where the machine can.
double Log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // [0.5, 1)
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);  // |s| <= 0.1716; ln(m) = 2 atanh(s)
  const double square = s * s;
  double series = 0;
  for (int k = 23; k >= 1; k -= 2) series = std::fma(series, square, 1.0 / k);
  return std::fma(exponent, 0.69314718055994530942, 2 * s * series);
}

}  // namespace

Random::Random(uint64_t seed) : seed_(seed) {
  uint64_t mix = seed;
  for (uint64_t& word : state_) word = SplitMix(&mix);
}

Random Random::Derive(std::string_view tag) const {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char c : tag) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  uint64_t mix = seed_;
  return Random(SplitMix(&mix) ^ SplitMix(&hash));
}

uint64_t Random::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

double Random::Uniform(double low, double high) {
  const double value = std::fma(high - low, Uniform(), low);
  return value < high ? value : low;  // Rounding may reach `high`, which is not in the range.
}

uint64_t Random::Below(uint64_t bound) {
  CHECK(bound > 0) << "Random::Below needs a positive bound";
  const uint64_t rejected =
      -bound % bound;  // 2^64 mod bound: drawing again below it leaves whole multiples
  while (true) {
    const uint64_t value = Next();
    if (value >= rejected) return value % bound;
  }
}

double Random::Normal(double mean, double standard_deviation) {
  // Marsaglia's polar method; the second value is dropped, so that a stream's state is its position
  // alone.
  while (true) {
    const double x = Uniform(-1, 1);
    const double y = Uniform(-1, 1);
    const double square = std::fma(x, x, y * y);
    if (square > 0 && square < 1) {
      return std::fma(standard_deviation, x * std::sqrt(-2 * Log(square) / square), mean);
    }
  }
}

double Random::Exponential(double mean) { return -mean * Log(1 - Uniform()); }

}  // namespace cosched
