#include "experiments/hosts/simulation/service_agenda.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

TimePoint At(int ms) { return TimePoint(std::chrono::milliseconds(ms)); }

TEST(ServiceAgendaTest, TheEarliestIsFirstAndOfEqualOnesTheOldest) {
  ServiceAgenda agenda;
  EXPECT_FALSE(agenda.First());
  for (const int id : {7, 3, 5}) agenda.Add(id);
  EXPECT_FALSE(agenda.First());
  agenda.SetNext(3, At(20));
  agenda.SetNext(5, At(10));
  agenda.SetNext(7, At(20));
  EXPECT_EQ(agenda.First()->id, 5);
  EXPECT_EQ(agenda.First()->time, At(10));
  agenda.SetNext(5, std::nullopt);
  EXPECT_EQ(agenda.First()->id, 7);  // Added before 3.
  agenda.Remove(7);
  EXPECT_EQ(agenda.First()->id, 3);
  agenda.SetNext(3, At(5));
  EXPECT_EQ(agenda.First()->time, At(5));
}

TEST(ServiceAgendaTest, EachServiceIsOnItsLatestClock) {
  ServiceAgenda agenda;
  for (const int id : {1, 2}) agenda.Add(id);
  EXPECT_TRUE(agenda.On(4).empty());
  agenda.SetClock(1, 4);
  agenda.SetClock(2, 4);
  EXPECT_EQ(agenda.On(4), (std::set<int>{1, 2}));
  agenda.SetClock(1, 0);
  EXPECT_EQ(agenda.On(4), std::set<int>{2});
  EXPECT_EQ(agenda.On(0), std::set<int>{1});
  agenda.Remove(2);
  EXPECT_TRUE(agenda.On(4).empty());
}

}  // namespace
}  // namespace cosched
