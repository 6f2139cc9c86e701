#pragma once
// Ops that move, join or reduce elements of tensors of any rank, as one loop over all indices.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/kernels/parameters.h"

namespace cosched::reference {

using Index = std::vector<int64_t>;

// Calls body(at) for the index of every element, in row-major order.
template <typename Body>
void ForEachIndex(const Shape& shape, Body body) {
  Index at(static_cast<size_t>(shape.Rank()), 0);
  for (int64_t i = 0; i < shape.Elements(); ++i) {
    body(at);
    for (size_t d = at.size(); d-- > 0 && ++at[d] == shape[static_cast<int>(d)];) at[d] = 0;
  }
}

// The offset of the element at an index; where the shape has size 1, the same for every index.
inline int64_t OffsetIn(const Shape& shape, const Index& at) {
  int64_t offset = 0;
  for (int d = 0; d < shape.Rank(); ++d)
    offset = offset * shape[d] + (shape[d] == 1 ? 0 : at[static_cast<size_t>(d)]);
  return offset;
}

inline Index Moved(Index at, const Index& by) {
  for (size_t d = 0; d < at.size(); ++d) at[d] += by[d];
  return at;
}

// A part at `begin` of the whole, copied out of it or into it.
template <typename Scalar>
void CopyFrom(const Shape& whole, const Shape& part, const Index& begin, const Scalar* from,
              Scalar* to) {
  int64_t i = 0;
  ForEachIndex(part, [&](const Index& at) { to[i++] = from[OffsetIn(whole, Moved(at, begin))]; });
}

template <typename Scalar>
void CopyInto(const Shape& whole, const Shape& part, const Index& begin, const Scalar* from,
              Scalar* to) {
  int64_t i = 0;
  ForEachIndex(part, [&](const Index& at) { to[OffsetIn(whole, Moved(at, begin))] = from[i++]; });
}

// Dimension d of the result is dimension perm[d] of x.
template <typename Scalar>
void Transpose(const Shape& input, const Shape& output, const Index& perm, const Scalar* x,
               Scalar* y) {
  int64_t i = 0;
  Index from(perm.size());
  ForEachIndex(output, [&](const Index& at) {
    for (size_t d = 0; d < at.size(); ++d) from[static_cast<size_t>(perm[d])] = at[d];
    y[i++] = x[OffsetIn(input, from)];
  });
}

// result = op(a, b), where dimensions of size 1 are repeated. REQUIRES: a, b and result of one
// rank.
template <typename Scalar, typename Op>
void Broadcast(const Shape& of_a, const Shape& of_b, const Shape& result, const Scalar* a,
               const Scalar* b, Op op, Scalar* y) {
  int64_t i = 0;
  ForEachIndex(result,
               [&](const Index& at) { y[i++] = op(a[OffsetIn(of_a, at)], b[OffsetIn(of_b, at)]); });
}

template <typename Scalar>
void Mean(const Reduction& p, const Scalar* x, Scalar* y) {
  std::fill_n(y, p.kept.Elements(), Scalar{0});
  int64_t i = 0;
  ForEachIndex(p.input, [&](const Index& at) { y[OffsetIn(p.kept, at)] += x[i++]; });
  for (i = 0; i < p.kept.Elements(); ++i) y[i] /= static_cast<Scalar>(p.Count());
}

template <typename Scalar>
void MeanGrad(const Reduction& p, const Scalar* dy, Scalar* dx) {
  int64_t i = 0;
  ForEachIndex(p.input, [&](const Index& at) {
    dx[i++] = dy[OffsetIn(p.kept, at)] / static_cast<Scalar>(p.Count());
  });
}

}  // namespace cosched::reference
