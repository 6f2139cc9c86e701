#include "experiments/hosts/simulation/memory_place.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

// Cores 0 and 1 are of node 0, 2 and 3 of node 1.
const NumaMap& Map() {
  static const NumaMap map = NumaMap::Of(Topology::Synthetic("pack:2 [numa] core:2 pu:1"));
  return map;
}

TEST(MemoryPlaceTest, IsWhereItWasTouched) {
  const MemoryPlace one(&Map(), {1});
  EXPECT_EQ(one.Nodes(), NumaNodes{{0}});
  EXPECT_EQ(one.ShareOutside({{0}}), 0);
  EXPECT_EQ(one.ShareOutside({{1}}), 1);
  const MemoryPlace both(&Map(), {1, 2});
  EXPECT_EQ(both.Nodes(), (NumaNodes{{0, 1}}));
  EXPECT_EQ(both.ShareOutside({{1}}), 0.5);
}

TEST(MemoryPlaceTest, FarIsWhatWasNotSoFromTheStart) {
  EXPECT_EQ(MemoryPlace(&Map(), {0}).Far({1}), 0);
  EXPECT_EQ(MemoryPlace(&Map(), {0}).Far({2, 3}), 1);
  EXPECT_EQ(MemoryPlace(&Map(), {0, 2}).Far({0, 2}), 0);
  EXPECT_EQ(MemoryPlace(&Map(), {0, 2}).Far({2}), 0.5);
  EXPECT_EQ(MemoryPlace(&Map(), {0}).Far({0, 2}), 0);
  EXPECT_NEAR(MemoryPlace(&Map(), {0}).Far({1, 2, 3}), 5.0 / 9 - 3.0 / 9, 1e-12);
}

TEST(MemoryPlaceTest, WhatLiesElsewhereGoesToTheCores) {
  MemoryPlace memory(&Map(), {0, 1, 2, 3});
  memory.BringTo({3});
  EXPECT_EQ(memory.Nodes(), NumaNodes{{1}});
  EXPECT_EQ(memory.Far({2, 3}), 0);
  memory.BringTo({0, 1, 2});  // Node 1 is among these.
  EXPECT_EQ(memory.Nodes(), NumaNodes{{1}});
}

}  // namespace
}  // namespace cosched
