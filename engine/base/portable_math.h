#pragma once
// Elementary functions with the same bits on every platform: built from what IEEE 754 fixes
// (+ - * / and the exact frexp, ldexp, fmod, floor) and compiled without contraction of a * b + c
// (CMakeLists.txt), because libm's log, exp, pow and sin differ in the last bit between libraries,
// their versions and the CPUs for which they choose at run time. Within 2 units in the last place,
// not correctly rounded. Used wherever equal seeds promise equal results: by generators, policies
// and the simulator. Pure; thread-safe.

namespace cosched {

double PortableLog(double x);   // REQUIRES: x > 0 and finite.
double PortableLog2(double x);  // REQUIRES: as above. Exact for powers of 2.
double PortableExp(double x);   // 0 far below 0, infinite far above.
// x^y; off by as many units more as y ln x is large. REQUIRES: x > 0 and finite.
double PortablePow(double x, double y);
double PortableSineOfTurns(double turns);  // sin(2 pi turns). REQUIRES: turns is finite.
double PortableLogGamma(double x);         // ln of the gamma function. REQUIRES: x > 0.

}  // namespace cosched
