#include "experiments/hosts/simulation/positioned_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/base/random.h"
#include "experiments/hosts/simulation/timers.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

// What a heap does, beside a sorted set of the same, through entries' positions as they are told.
TEST(PositionedHeapTest, FindsWhatIsTakenOutOrReplacedWhereverItHasMoved) {
  using Entry = std::pair<uint64_t, int>;  // Due, id.
  constexpr int kIds = 60;
  PositionedHeap<Entry> heap;
  std::vector<int> positions(kIds, PositionedHeap<Entry>::kNowhere);
  const auto moved = [&positions](const Entry& entry, int position) {
    positions[static_cast<size_t>(entry.second)] = position;
  };
  std::map<int, Entry> there;
  std::set<Entry> sorted;
  Random random(3);
  for (int round = 0; round < 20'000; ++round) {
    const auto id = static_cast<int>(random.Below(kIds));
    const int position = positions[static_cast<size_t>(id)];
    const Entry entry{random.Below(1000), id};
    ASSERT_EQ(position != PositionedHeap<Entry>::kNowhere, there.contains(id));
    if (there.contains(id)) sorted.erase(there.at(id));
    if (!there.contains(id)) {
      heap.Insert(entry, moved);
    } else if (random.Below(2) == 0) {
      EXPECT_EQ(heap[position], there.at(id));
      heap.Erase(position, moved);
      there.erase(id);
      ASSERT_EQ(heap.Empty(), sorted.empty());
      continue;
    } else {
      heap.Replace(position, entry, moved);
    }
    there[id] = entry;
    sorted.insert(entry);
    ASSERT_EQ(heap.Front(), *sorted.begin());
  }
}

TEST(TimersTest, FireInTheirOrderAndAnAlarmOnlyOnceAtItsLatestTime) {
  const auto at = [](int64_t ms) { return TimePoint(milliseconds(ms)); };
  Timers timers;
  EXPECT_EQ(timers.Next(), TimePoint::max());
  const int64_t late = timers.Arm(0, at(30));
  timers.SetAlarm(1, at(10));
  timers.SetAlarm(2, at(15));
  const int64_t equal = timers.Arm(0, at(20));
  const int64_t alarm = timers.SetAlarm(1, at(20));  // Instead of 10, and armed after its equal.
  EXPECT_EQ(timers.SetAlarm(2, std::nullopt), -1);
  std::vector<int64_t> fired;
  while (timers.Next() != TimePoint::max()) fired.push_back(timers.Take().number);
  EXPECT_EQ(fired, (std::vector<int64_t>{equal, alarm, late}));
}

}  // namespace
}  // namespace cosched
