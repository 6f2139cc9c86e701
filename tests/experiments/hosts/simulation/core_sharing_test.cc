// Shares of cores by hand, before and after every kind of change.

#include "experiments/hosts/simulation/core_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cosched {
namespace {

using ::testing::UnorderedElementsAre;

TEST(CoreSharing, ThreadsOfOneCoreDivideItByWeight) {
  CoreSharing sharing;
  sharing.Place(0, {0}, 1);
  EXPECT_DOUBLE_EQ(sharing.Of(0).cores, 1);
  EXPECT_FALSE(sharing.Of(0).shared);
  sharing.Place(1, {0}, 1, 3);
  EXPECT_DOUBLE_EQ(sharing.Of(0).cores, 0.25);
  EXPECT_DOUBLE_EQ(sharing.Of(1).cores, 0.75);
  EXPECT_DOUBLE_EQ(sharing.Of(1).threads_per_core, 2);
  EXPECT_DOUBLE_EQ(sharing.Of(1).others, 1);
}

TEST(CoreSharing, SharesFollowThreadsPlacesAndWhoLeaves) {
  CoreSharing sharing;
  sharing.Place(0, {0, 1}, 2);
  sharing.Place(1, {1, 2}, 2);
  EXPECT_DOUBLE_EQ(sharing.Of(0).cores, 1.5);
  sharing.Place(1, {1, 2}, 6);  // Three threads a core beside one.
  EXPECT_DOUBLE_EQ(sharing.Of(0).cores, 1.25);
  EXPECT_DOUBLE_EQ(sharing.Of(0).rate, 0.25);
  sharing.Place(2, {0}, 1);
  EXPECT_DOUBLE_EQ(sharing.Of(0).cores, 0.75);
  sharing.Place(1, {2, 3}, 2);
  EXPECT_DOUBLE_EQ(sharing.Of(0).cores, 1.5);
  EXPECT_DOUBLE_EQ(sharing.Of(1).cores, 2);
  sharing.Place(2, {}, 0);
  EXPECT_DOUBLE_EQ(sharing.Of(0).cores, 2);
}

TEST(CoreSharing, OthersOnThePhysicalCoreAreBesideAndOnesOwnThreadsAreNot) {
  CoreSharing sharing(Topology::Synthetic("core:2 pu:2"));
  sharing.Place(0, {0, 1}, 2);
  EXPECT_DOUBLE_EQ(sharing.Of(0).beside, 0);
  sharing.Place(1, {2}, 1);
  sharing.TakeChanged();
  sharing.Place(2, {3}, 1);
  EXPECT_THAT(sharing.TakeChanged(), UnorderedElementsAre(1, 2));
  EXPECT_DOUBLE_EQ(sharing.Of(1).beside, 1);
  EXPECT_FALSE(sharing.Of(1).shared);
  sharing.Place(0, {0, 1, 3}, 3);
  EXPECT_DOUBLE_EQ(sharing.Of(0).beside, 1. / 3);
  EXPECT_DOUBLE_EQ(sharing.Of(1).beside, 1) << "two threads there are no more than a busy one";
  sharing.Place(0, {0, 1}, 2);
  sharing.Place(2, {}, 0);
  EXPECT_DOUBLE_EQ(sharing.Of(1).beside, 0);
}

TEST(CoreSharing, TellsOfAllWhoseShareMayHaveChanged) {
  CoreSharing sharing;
  sharing.Place(0, {0}, 1);
  sharing.Place(1, {1}, 1);
  sharing.Place(2, {2}, 1);
  sharing.TakeChanged();
  sharing.Place(3, {0, 1}, 2);
  EXPECT_THAT(sharing.TakeChanged(), UnorderedElementsAre(0, 1, 3));
  EXPECT_TRUE(sharing.TakeChanged().empty());
}

}  // namespace
}  // namespace cosched
