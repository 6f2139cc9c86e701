#include "engine/base/portable_math.h"

#include <array>
#include <cmath>
#include <limits>

namespace cosched {
namespace {

// ln 2 in two parts: the first has so few bits that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2OfE = 1.44269504088896340736;
constexpr double kPi = 3.14159265358979323846;

// sin and cos of x in [0, pi/4], by their series.
double SineSeries(double x) {
  const double square = x * x;
  double series = 0;
  for (int k = 17; k >= 1; k -= 2) series = 1 - series * (square / ((k + 1) * (k + 2)));
  return x * series;
}
double CosineSeries(double x) {
  const double square = x * x;
  double series = 0;
  for (int k = 18; k >= 0; k -= 2) series = 1 - series * (square / ((k + 1) * (k + 2)));
  return series;
}

// sin(2 pi turns) for turns in [0, 1/4].
double SineOfQuarter(double turns) {
  return turns <= 0.125 ? SineSeries(2 * kPi * turns) : CosineSeries(2 * kPi * (0.25 - turns));
}

// x = 2^exponent m with m in [sqrt(1/2), sqrt(2)); ln m = 2 s (1 + series).
struct Logarithm {
  int exponent = 0;
  double s = 0, series = 0;
};

Logarithm LogarithmOf(double x) {
  Logarithm log;
  double mantissa = std::frexp(x, &log.exponent);  // [0.5, 1)
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2;
    --log.exponent;
  }
  log.s = (mantissa - 1) / (mantissa + 1);  // |s| <= 0.1716; ln(m) = 2 atanh(s)
  const double square = log.s * log.s;
  for (int k = 23; k >= 3; k -= 2) log.series = (log.series + 1.0 / k) * square;
  return log;
}

}  // namespace

double PortableLog(double x) {
  const auto [exponent, s, series] = LogarithmOf(x);
  return exponent * kLn2High + (2 * s + (2 * s * series + exponent * kLn2Low));
}

double PortableLog2(double x) {
  const auto [exponent, s, series] = LogarithmOf(x);
  return exponent + (2 * s + 2 * s * series) * kLog2OfE;
}

double PortablePow(double x, double y) { return PortableExp(y * PortableLog(x)); }

double PortableExp(double x) {
  if (x > 710) return std::numeric_limits<double>::infinity();
  if (x < -746) return 0;
  const double exponent = std::floor(x * kLog2OfE + 0.5);
  const double r = (x - exponent * kLn2High) - exponent * kLn2Low;  // |r| <= 0.3466
  double series = 0;
  for (int k = 14; k >= 2; --k) series = (series + 1) * r / k;
  return std::ldexp(1 + (r + r * series), static_cast<int>(exponent));
}

double PortableSineOfTurns(double turns) {
  double fraction = std::fmod(turns, 1.0);
  if (fraction < 0) fraction += 1;
  if (fraction <= 0.25) return SineOfQuarter(fraction);
  if (fraction <= 0.5) return SineOfQuarter(0.5 - fraction);
  if (fraction <= 0.75) return -SineOfQuarter(fraction - 0.5);
  return -SineOfQuarter(1 - fraction);
}

double PortableLogGamma(double x) {
  // Stirling's series from 10 on, whose first left-out term is below 2e-14 there; below, by
  // Gamma(x) = Gamma(x + 1) / x.
  double product = 1;
  while (x < 10) product *= x++;
  constexpr std::array kTerms = {1.0 / 12,    -1.0 / 360, 1.0 / 1260,
                                 -1.0 / 1680, 1.0 / 1188, -691.0 / 360360};
  const double square = 1 / (x * x);
  double series = 0;
  for (size_t i = kTerms.size(); i-- > 0;) series = series * square + kTerms[i];
  return (x - 0.5) * PortableLog(x) - x + 0.5 * PortableLog(2 * kPi) + series / x -
         PortableLog(product);
}

}  // namespace cosched
