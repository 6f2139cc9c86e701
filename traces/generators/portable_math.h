#pragma once
// Elementary functions with the same bits on every platform: built from what IEEE 754 fixes
// (+ - * / and the exact frexp, ldexp, fmod, floor) and compiled without contraction of a * b + c
// (traces/CMakeLists.txt), because libm's log, exp, pow and sin differ in the last bit between
// libraries and versions. Within 2 units in the last place, not correctly rounded. Used by the
// generators. Pure; thread-safe.

namespace cosched {

double PortableLog(double x);              // REQUIRES: x > 0 and finite.
double PortableExp(double x);              // 0 far below 0, infinite far above.
double PortableSineOfTurns(double turns);  // sin(2 pi turns). REQUIRES: turns is finite.
double PortableLogGamma(double x);         // ln of the gamma function. REQUIRES: x > 0.

}  // namespace cosched
