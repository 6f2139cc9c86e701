#pragma once
// Shape of a tensor: sizes by dimension, all known when the graph is built. Value type.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace cosched {

// Most elements of a node's output: sums and products of a few such numbers don't overflow.
inline constexpr int64_t kMaxElements = int64_t{1} << 40;

class Shape {
 public:
  Shape() = default;  // A scalar.
  Shape(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  explicit Shape(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}

  int Rank() const { return static_cast<int>(sizes_.size()); }
  int64_t operator[](int dimension) const { return sizes_[static_cast<size_t>(dimension)]; }
  const std::vector<int64_t>& Sizes() const { return sizes_; }
  // Product of the sizes; 1 for a scalar. What no int64_t holds is the largest of them: more than
  // Graph::Add() accepts.
  int64_t Elements() const;
  std::string ToString() const;  // "[32,28,28,1]"
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<int64_t> sizes_;
};

}  // namespace cosched
