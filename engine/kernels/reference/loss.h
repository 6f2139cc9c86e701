#pragma once
// Softmax and the cross entropy of its result with integer labels, row by row.

#include <algorithm>
#include <cmath>

#include "engine/kernels/parameters.h"

namespace cosched::reference {

template <typename Scalar>
void Softmax(const Matrix& p, const Scalar* logits, Scalar* probabilities) {
  for (int64_t row = 0; row < p.rows; ++row) {
    const Scalar* x = logits + row * p.channels;
    Scalar* y = probabilities + row * p.channels;
    const Scalar maximum = *std::max_element(x, x + p.channels);  // So that exp never overflows.
    Scalar sum{0};
    for (int64_t c = 0; c < p.channels; ++c) sum += y[c] = std::exp(x[c] - maximum);
    for (int64_t c = 0; c < p.channels; ++c) y[c] /= sum;
  }
}

// loss[row] = -log softmax(logits)[label]; backprop = softmax - onehot(label) = d loss / d logits.
template <typename Scalar>
void SparseSoftmaxCrossEntropy(const Matrix& p, const Scalar* logits, const int32_t* labels,
                               Scalar* loss, Scalar* backprop) {
  Softmax(p, logits, backprop);
  for (int64_t row = 0; row < p.rows; ++row) {
    const Scalar* x = logits + row * p.channels;
    const Scalar maximum = *std::max_element(x, x + p.channels);
    Scalar sum{0};
    for (int64_t c = 0; c < p.channels; ++c) sum += std::exp(x[c] - maximum);
    loss[row] =
        std::log(sum) + maximum - x[labels[row]];  // Finite where log(softmax) would be log(0).
    backprop[row * p.channels + labels[row]] -= Scalar{1};
  }
}

}  // namespace cosched::reference
