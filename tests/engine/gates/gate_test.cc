#include "engine/gates/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cosched {
namespace {

using ::testing::ElementsAre;
constexpr RequestId kA{0}, kB{1}, kC{2};
constexpr int kPlenty = 100;

bool Any(RequestId /*request*/, const Ordinal& /*first*/) { return true; }

Item Numbered(int64_t ordinal, int64_t bytes = 0) {
  Item item{.ordinal = Ordinal(ordinal), .payload = {}};
  item.payload = Payload::OfBytes(bytes);
  return item;
}

void PutAll(Gate* gate, RequestId request, std::initializer_list<int64_t> ordinals) {
  for (const int64_t ordinal : ordinals) gate->Put(request, Numbered(ordinal));
}

std::vector<int64_t> Ordinals(const ItemBatch& batch) {
  std::vector<int64_t> ordinals;
  for (const Item& item : batch.items) ordinals.push_back(item.ordinal.Index());
  return ordinals;
}

TEST(OrdinalTest, OrdersByTheFirstPartThatDiffers) {
  EXPECT_LT(Ordinal(1), Ordinal(1).Then(0));
  EXPECT_LT(Ordinal(1).Then(7), Ordinal(2).Then(0));
  EXPECT_EQ(Ordinal(7).Under(1), Ordinal(1).Then(7));
  EXPECT_EQ(Ordinal(7).Under(1).ToString(), "1.7");
  EXPECT_DEATH((void)Ordinal(1).Then(2).Index(), "1.2 is more than an index");
}

TEST(OrdinalTest, RefusesMorePartsThanItHolds) {
  Ordinal ordinal(0);
  for (size_t i = 1; i < Ordinal::kMostParts; ++i) ordinal = ordinal.Then(0);
  EXPECT_DEATH((void)ordinal.Then(0), "no room for one more part");
  EXPECT_DEATH((void)ordinal.Under(0), "no room for one more part");
}

TEST(GateTest, GivesFullBatchesAndFewerOnlyAtTheEndOfARequest) {
  Gate gate({.hands = Gate::Hands::kMany, .batch = 2}, 1);
  PutAll(&gate, kA, {0});
  EXPECT_EQ(gate.Ready(kPlenty, Any), std::nullopt);
  PutAll(&gate, kA, {1, 2});
  ASSERT_EQ(gate.Ready(kPlenty, Any), kA);
  Gate::Taken taken = gate.Take(kA);
  EXPECT_THAT(Ordinals(taken.batch), ElementsAre(0, 1));
  EXPECT_THAT(taken.opened, ElementsAre(kA));
  EXPECT_FALSE(taken.closed);
  EXPECT_EQ(gate.Ready(kPlenty, Any), std::nullopt) << "the third item is not known to be the last";
  EXPECT_FALSE(gate.Tell(kA, 3));
  ASSERT_EQ(gate.Ready(0, Any), kA) << "it is open: no credit is needed";
  taken = gate.Take(kA);
  EXPECT_THAT(Ordinals(taken.batch), ElementsAre(2));
  EXPECT_THAT(taken.opened, ElementsAre());
  EXPECT_TRUE(taken.closed);
  EXPECT_EQ(gate.Requests(), 0);
}

TEST(GateTest, ARequestIsClosedWhenItsCountComesLast) {
  Gate gate({}, 1);
  PutAll(&gate, kA, {0});
  EXPECT_FALSE(gate.Take(kA).closed);
  EXPECT_EQ(gate.Requests(), 1);
  EXPECT_TRUE(gate.Tell(kA, 1));
  EXPECT_EQ(gate.Requests(), 0);
}

TEST(GateTest, BatchesNeverMixRequests) {
  Gate gate({.hands = Gate::Hands::kMany, .batch = 3}, 2);
  PutAll(&gate, kA, {0, 1});
  PutAll(&gate, kB, {0, 1});
  EXPECT_EQ(gate.Ready(kPlenty, Any), std::nullopt);
  gate.Tell(kA, 2);
  gate.Tell(kB, 2);
  const Gate::Taken taken = gate.Take(kA);
  EXPECT_EQ(taken.batch.request, kA);
  EXPECT_EQ(taken.batch.items.size(), 2u);
  EXPECT_EQ(gate.ItemsOf(kB), 2);
}

TEST(GateTest, ALaterRequestOvertakesOneWithoutABatchAndBothAreOpened) {
  Gate gate({.hands = Gate::Hands::kMany, .batch = 2}, 2);
  PutAll(&gate, kA, {0});
  PutAll(&gate, kB, {0, 1});
  EXPECT_EQ(gate.Ready(1, Any), std::nullopt) << "the one credit is the older one's";
  ASSERT_EQ(gate.Ready(2, Any), kB);
  EXPECT_THAT(gate.Take(kB).opened, ElementsAre(kA, kB));
  EXPECT_TRUE(gate.IsOpen(kA));
  PutAll(&gate, kB, {2, 3});
  PutAll(&gate, kA, {1});
  EXPECT_EQ(gate.Ready(0, Any), kA) << "of those with a batch, the one opened first";
}

TEST(GateTest, AnOpenRequestGoesBeforeAnUnopenedOne) {
  Gate gate({}, 2);
  PutAll(&gate, kA, {0});
  PutAll(&gate, kB, {0});
  gate.Take(kA);
  EXPECT_EQ(gate.Ready(0, Any), std::nullopt);
  EXPECT_EQ(gate.Ready(1, Any), kB);
  PutAll(&gate, kA, {1});
  EXPECT_EQ(gate.Ready(1, Any), kA);
  EXPECT_EQ(gate.Ready(1, [](RequestId id, const Ordinal&) { return id != kA; }), kB);
}

TEST(GateTest, WholeRequestsAreOneBatchByOrdinalEvenIfEmpty) {
  Gate gate({.hands = Gate::Hands::kWhole}, 2);
  PutAll(&gate, kA, {2, 0, 1});
  EXPECT_EQ(gate.Ready(kPlenty, Any), std::nullopt);
  gate.Tell(kA, 3);
  EXPECT_THAT(Ordinals(gate.Take(kA).batch), ElementsAre(0, 1, 2));
  EXPECT_FALSE(gate.Tell(kB, 0));
  EXPECT_EQ(gate.Empty(true), std::nullopt) << "it needs its call";
  ASSERT_EQ(gate.Ready(1, Any), kB);
  const Gate::Taken taken = gate.Take(kB);
  EXPECT_TRUE(taken.batch.items.empty());
  EXPECT_TRUE(taken.closed);
}

TEST(GateTest, EmptyRequestsPassInTheirTurn) {
  Gate gate({}, 3);
  PutAll(&gate, kA, {0});
  gate.Tell(kB, 0);
  EXPECT_EQ(gate.Empty(true), std::nullopt) << "the older one is to be opened first";
  EXPECT_EQ(gate.Ready(kPlenty, Any), kA);
  gate.Take(kA);
  ASSERT_EQ(gate.Empty(true), kB);
  gate.Pass(kB);
  EXPECT_EQ(gate.Requests(), 1);
  EXPECT_DEATH(gate.Pass(kA), "not the next to be opened");
}

TEST(GateTest, AnEmptyRequestThatWasOpenedForALaterOnePassesWithoutACredit) {
  Gate gate({.hands = Gate::Hands::kMany, .batch = 2}, 3);
  PutAll(&gate, kA, {0});
  gate.Tell(kB, 0);
  PutAll(&gate, kC, {0, 1});
  EXPECT_THAT(gate.Take(kC).opened, ElementsAre(kA, kB, kC));
  EXPECT_EQ(gate.Empty(false), kB);
}

TEST(GateTest, RoomIsSharedEqually) {
  Gate gate({.items = 5}, 2);
  PutAll(&gate, kA, {0});
  EXPECT_TRUE(gate.HasRoom(kA, Ordinal(1), 0, 0));
  EXPECT_FALSE(gate.HasRoom(kA, Ordinal(2), 0, 1)) << "one is promised already";
  PutAll(&gate, kA, {1});
  EXPECT_FALSE(gate.HasRoom(kA, Ordinal(2), 0, 0)) << "the fifth item is nobody's";
  EXPECT_TRUE(gate.HasRoom(kB, Ordinal(0), 0, 0));
}

TEST(GateTest, BytesAreBoundedButABatchAlwaysFits) {
  Gate gate({.hands = Gate::Hands::kMany, .batch = 2, .bytes = 64}, 2);
  EXPECT_TRUE(gate.HasRoom(kA, Ordinal(0), 1000, 0)) << "larger than the bound, but alone";
  gate.Put(kA, Numbered(0, 1000));
  EXPECT_TRUE(gate.HasRoom(kA, Ordinal(1), 1000, 0)) << "else there would never be a batch";
  gate.Put(kA, Numbered(1, 4));
  EXPECT_FALSE(gate.HasRoom(kA, Ordinal(2), 4, 0));
  gate.Put(kB, Numbered(0, 4));
  gate.Put(kB, Numbered(1, 4));
  EXPECT_TRUE(gate.HasRoom(kB, Ordinal(2), 24, 0));
  EXPECT_FALSE(gate.HasRoom(kB, Ordinal(2), 28, 0));
  EXPECT_EQ(gate.Bytes(), 1012);
  gate.Take(kA);
  EXPECT_EQ(gate.Bytes(), 8);
}

TEST(GateTest, AnItemLargerThanTheBoundFitsIntoAnEmptyGateThoughOthersArePromisedRoom) {
  const Gate gate({.items = 4, .bytes = 8}, 1);
  EXPECT_TRUE(gate.HasRoom(kA, Ordinal(0), 100, 3));
  EXPECT_FALSE(gate.HasRoom(kA, Ordinal(0), 0, 4));
}

TEST(GateTest, InOrderTheNextOrdinalIsWaitedForAndHasRoom) {
  Gate gate({.hands = Gate::Hands::kMany, .batch = 2, .items = 3, .bytes = 8, .in_order = true}, 1);
  EXPECT_FALSE(gate.HasRoom(kA, Ordinal(3), 0, 0)) << "beyond the window";
  gate.Put(kA, Numbered(2, 8));
  gate.Put(kA, Numbered(1, 8));
  EXPECT_EQ(gate.Ready(kPlenty, Any), std::nullopt);
  EXPECT_EQ(gate.Batches(), 0);
  EXPECT_TRUE(gate.HasRoom(kA, Ordinal(0), 8, 0));
  gate.Put(kA, Numbered(0, 8));
  ASSERT_EQ(gate.Ready(kPlenty, Any), kA);
  EXPECT_THAT(Ordinals(gate.Take(kA).batch), ElementsAre(0, 1));
  EXPECT_FALSE(gate.HasRoom(kA, Ordinal(4), 4, 0)) << "in the window, but it has no bytes left";
  EXPECT_TRUE(gate.HasRoom(kA, Ordinal(3), 8, 0));
}

TEST(GateTest, WithoutOrderTheLowestOrdinalThatIsThereIsTaken) {
  Gate gate({}, 1);
  PutAll(&gate, kA, {4, 2, 3});
  EXPECT_THAT(Ordinals(gate.Take(kA).batch), ElementsAre(2));
  PutAll(&gate, kA, {1});
  EXPECT_THAT(Ordinals(gate.Take(kA).batch), ElementsAre(1));
  EXPECT_THAT(Ordinals(gate.Take(kA).batch), ElementsAre(3));
}

TEST(GateTest, DroppingOneRequestLeavesTheOthers) {
  Gate gate({}, 2);
  PutAll(&gate, kA, {0, 1});
  PutAll(&gate, kB, {0});
  EXPECT_EQ(gate.Drop(kA), 2);
  EXPECT_EQ(gate.Drop(kA), 0);
  EXPECT_EQ(gate.Drop(kC), 0);
  EXPECT_EQ(gate.Dropped(), 2);
  EXPECT_THAT(gate.InOrderOfArrival(), ElementsAre(kB));
  gate.CheckInvariants();
}

TEST(GateTest, WhatIsSaidTwiceOrTooMuchIsOurBug) {
  Gate gate({.name = "align"}, 1);
  PutAll(&gate, kA, {0});
  EXPECT_DEATH(gate.Tell(kA, 0), "align: request 0 has 1 of 0 items");
  gate.Tell(kA, 1);
  EXPECT_DEATH(gate.Tell(kA, 1), "counted before");
  EXPECT_DEATH(gate.Put(kA, Numbered(1)), "more than 1 items");
}

}  // namespace
}  // namespace cosched
