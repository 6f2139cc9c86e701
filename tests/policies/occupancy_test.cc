#include "policies/occupancy.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

const CpuSet kFirstNode = CpuSet::Range(0, 3), kFarNode = CpuSet::Range(70, 73);

Place ShareOfNode(const CpuSet& node, int64_t milli) { return {node, {milli}, {1, 1}}; }

TEST(Occupancy, ANodeIsKnownByItsCores) {
  const Occupancy occupancy({kFarNode, kFirstNode});
  EXPECT_EQ(occupancy.NodeOf(kFirstNode), 1);
  EXPECT_EQ(occupancy.NodeOf(kFarNode), 0);
  EXPECT_EQ(NodeOf(occupancy.Nodes(), kFirstNode), 1);
  EXPECT_EQ(NodeOf(occupancy.Nodes(), kFarNode), 0);
}

TEST(OccupancyDeathTest, PartsOfANodeAndCoresOfNoneAreNoNode) {
  const Occupancy occupancy({kFarNode, kFirstNode});
  for (const CpuSet& cores : {CpuSet{0, 1}, CpuSet::Range(0, 4), CpuSet{80}, CpuSet{5}, CpuSet()}) {
    EXPECT_DEATH(occupancy.NodeOf(cores), "are shared and no node") << cores.ToString();
    EXPECT_DEATH(NodeOf(occupancy.Nodes(), cores), "are shared and no node") << cores.ToString();
  }
}

TEST(Occupancy, ANodeIsSharedUntilItsLastSharerHasLeft) {
  Occupancy occupancy({kFirstNode, kFarNode});
  const Hold one = occupancy.At(ShareOfNode(kFarNode, 500));
  const Hold two = occupancy.At(ShareOfNode(kFarNode, 3000));
  const Hold less = occupancy.At(ShareOfNode(kFarNode, 1000));
  const auto may_own = [&](const CpuSet& cores) {
    return occupancy.HasRoom(Place::Whole(cores, {1, 1}), Hold());
  };
  EXPECT_TRUE(may_own(kFarNode));
  occupancy.Replace(Hold(), one);
  occupancy.Replace(Hold(), two);
  EXPECT_FALSE(may_own({71}));
  EXPECT_TRUE(may_own(kFirstNode));
  EXPECT_FALSE(occupancy.HasRoom(ShareOfNode(kFarNode, 501), Hold()));
  EXPECT_TRUE(occupancy.HasRoom(ShareOfNode(kFarNode, 500), Hold()));
  occupancy.Replace(one, Hold());
  EXPECT_FALSE(may_own({71}));
  occupancy.Replace(two, less);
  EXPECT_FALSE(may_own({71})) << "it shrank, and stays";
  EXPECT_TRUE(occupancy.HasRoom(ShareOfNode(kFarNode, 3000), Hold()));
  occupancy.Replace(less, Hold());
  EXPECT_TRUE(may_own(kFarNode));
}

}  // namespace
}  // namespace cosched
