#pragma once
// Standard random variates with the same bits on every platform (portable_math.h). Used by the
// generators. Stateless but for the Random that is given; thread-safe.

#include "engine/base/random.h"

namespace cosched {

// Mean 1. Marsaglia and Tsang, "The Ziggurat Method for Generating Random Variables", J.
// Statistical Software 5(8), 2000: 98.9 % of the draws take one random number, a comparison and a
// product.
double StandardExponential(Random& random);

// Shape k, scale 1, so its mean is k. Marsaglia and Tsang, "A Simple Method for Generating Gamma
// Variables", ACM TOMS 26(3), 2000. REQUIRES: shape > 0.
double StandardGamma(double shape, Random& random);

}  // namespace cosched
