#include "engine/session/run_buffers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/graph/tensor_memory.h"

namespace cosched {
namespace {

std::byte* Begin(const Tensor& tensor) {
  return static_cast<std::byte*>(const_cast<void*>(tensor.Data()));
}

// Each is large enough, begins on a cache line, and shares no byte with another.
void ExpectApart(std::vector<Tensor> buffers, const std::vector<size_t>& bytes) {
  ASSERT_EQ(buffers.size(), bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_GE(buffers[i].Bytes(), bytes[i]);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(Begin(buffers[i])) % kTensorAlignment, 0U);
  }
  std::sort(buffers.begin(), buffers.end(),
            [](const Tensor& a, const Tensor& b) { return Begin(a) < Begin(b); });
  for (size_t i = 1; i < buffers.size(); ++i) {
    EXPECT_LE(Begin(buffers[i - 1]) + buffers[i - 1].Bytes(), Begin(buffers[i]));
  }
}

TEST(RunBuffersTest, LargeOnesLieSideBySide) {
  const std::vector<size_t> bytes = {4, size_t{3} << 20, 65, 64, size_t{2} << 20, 1, 100};
  std::vector<Tensor> buffers;
  AddRunBuffers(&buffers, bytes);
  ExpectApart(buffers, bytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(Begin(buffers.front())) % kHugePage, 0U)
      << "not on huge pages";
  size_t all = 0;
  for (const Tensor& buffer : buffers) all += buffer.Bytes();
  EXPECT_EQ(Begin(buffers.back()) + buffers.back().Bytes() - Begin(buffers.front()),
            static_cast<std::ptrdiff_t>(all));
}

TEST(RunBuffersTest, SmallOnesAreApart) {
  const std::vector<size_t> bytes = {4, 1000, 65, 64};
  std::vector<Tensor> buffers;
  AddRunBuffers(&buffers, bytes);
  ExpectApart(buffers, bytes);
  std::sort(buffers.begin(), buffers.end(),
            [](const Tensor& a, const Tensor& b) { return Begin(a) < Begin(b); });
  for (size_t i = 1; i < buffers.size(); ++i)
    EXPECT_LT(Begin(buffers[i - 1]) + buffers[i - 1].Bytes(), Begin(buffers[i]));
}

TEST(RunBuffersTest, WhatIsThereStays) {
  std::vector<size_t> bytes = {size_t{3} << 20, size_t{3} << 20};
  std::vector<Tensor> buffers;
  AddRunBuffers(&buffers, bytes);
  const std::vector<std::byte*> there = {Begin(buffers[0]), Begin(buffers[1])};
  bytes.insert(bytes.end(), {size_t{5} << 20, 10});
  AddRunBuffers(&buffers, bytes);
  ExpectApart(buffers, bytes);
  EXPECT_EQ(Begin(buffers[0]), there[0]);
  EXPECT_EQ(Begin(buffers[1]), there[1]);
  AddRunBuffers(&buffers, bytes);
  EXPECT_EQ(buffers.size(), 4U);
  Tensor last = buffers.back();
  buffers.clear();
  std::fill_n(last.Floats(), last.Elements(), 1.0F);  // One of them keeps the memory of all.
  EXPECT_EQ(std::accumulate(last.Floats(), last.Floats() + last.Elements(), 0.0F),
            static_cast<float>(last.Elements()));
}

}  // namespace
}  // namespace cosched
