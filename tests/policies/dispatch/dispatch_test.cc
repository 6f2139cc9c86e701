// What each dispatch picks: by hand, and against brute force.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "engine/base/error.h"
#include "policies/dispatch/dispatches.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

const ServerId kServer = DeviceId{0};
const TimePoint kNow(std::chrono::seconds(100));

std::unique_ptr<Dispatch> Make(const char* name, const Parameters& parameters = {},
                               uint64_t seed = 1) {
  return MakeDispatch(*FindDispatch(name), parameters, Random(seed));
}

QueueView Queue(int64_t service, int64_t length = 1) {
  return {.service = {service},
          .length = length,
          .oldest_wait = milliseconds(length > 0 ? 10 : 0),
          .mean_wait = milliseconds(length > 0 ? 10 : 0),
          .objective = milliseconds(100),
          .oldest_deadline = length > 0 ? kNow + milliseconds(100) : TimePoint::max(),
          .recent_response = std::nullopt,
          .expected = milliseconds(20)};
}

// Random queues, some of them empty.
std::vector<QueueView> AnyQueues(Random* random, bool empty_too) {
  std::vector<QueueView> queues;
  const auto count = 1 + random->Below(6);
  for (uint64_t i = 0; i < count; ++i) {
    QueueView& queue = queues.emplace_back(Queue(
        static_cast<int64_t>(2 * i), static_cast<int64_t>((empty_too ? 0 : 1) + random->Below(9))));
    if (queue.length == 0) continue;
    queue.oldest_wait = milliseconds(random->Below(300));
    queue.mean_wait = queue.oldest_wait / 2;
    queue.oldest_deadline = kNow + milliseconds(random->Below(200)) - milliseconds(100);
    queue.expected = milliseconds(random->Below(50));
    if (random->Below(2) == 0) queue.recent_response = milliseconds(random->Below(300));
  }
  return queues;
}

class EveryDispatch : public testing::TestWithParam<std::string> {};

TEST_P(EveryDispatch, PicksOneOfTheQueuesAndTheSameWithTheSameSeed) {
  Random random(7);
  const auto one = Make(GetParam().c_str()), other = Make(GetParam().c_str());
  for (int i = 0; i < 2000; ++i) {
    const std::vector<QueueView> queues = AnyQueues(&random, i % 2 == 0);
    const size_t pick = one->Next(queues, kServer, kNow);
    ASSERT_LT(pick, queues.size());
    ASSERT_EQ(other->Next(queues, kServer, kNow), pick);
  }
}

// Where it goes by the queues' state, an empty one is never picked beside one that is not.
TEST_P(EveryDispatch, PrefersQueuesThatAreNotEmptyUnlessItGoesByTurnOrChance) {
  if (GetParam() == "round-robin" || GetParam() == "random") return;  // These poll empty queues.
  Random random(8);
  const auto dispatch = Make(GetParam().c_str());
  for (int i = 0; i < 2000; ++i) {
    const std::vector<QueueView> queues = AnyQueues(&random, true);
    const size_t pick = dispatch->Next(queues, kServer, kNow);
    const bool some = std::any_of(queues.begin(), queues.end(),
                                  [](const QueueView& queue) { return queue.length > 0; });
    ASSERT_TRUE(!some || queues[pick].length > 0);
  }
}

std::vector<std::string> AllNames() {
  std::vector<std::string> names;
  for (const DispatchInfo& info : Dispatches()) names.emplace_back(info.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, EveryDispatch, testing::ValuesIn(AllNames()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Dispatches, AreListedOnceAndRefuseWhatTheyDoNotKnow) {
  EXPECT_EQ(DispatchNames(),
            "round-robin, random, longest-queue, h1, weighted, earliest-deadline, least-slack, "
            "clockwork, shortest-expected");
  EXPECT_EQ(FindDispatch("lq"), nullptr);
  for (const auto& [name, parameters] :
       std::map<std::string, Parameters>{{"h1", {{"alpha", "1.5"}}},
                                         {"random", {{"alpha", "1"}}},
                                         {"weighted", {{"priorities", "1,0"}}},
                                         {"h1", {{"recent", "yes"}}}}) {
    EXPECT_THROW(Make(name.c_str(), parameters), InputError) << name;
  }
}

TEST(RoundRobinDispatch, GoesOnBehindTheServiceOfItsLastTurnServerByServer) {
  const auto dispatch = Make("round-robin");
  const std::vector<QueueView> all = {Queue(0), Queue(1), Queue(2)};
  EXPECT_EQ(dispatch->Next(all, kServer, kNow), 0U);
  EXPECT_EQ(dispatch->Next(all, kServer, kNow), 1U);
  const std::vector<QueueView> without_2 = {Queue(0), Queue(1)};
  EXPECT_EQ(dispatch->Next(without_2, kServer, kNow), 0U) << "2 has nothing";
  EXPECT_EQ(dispatch->Next(all, DeviceId{1}, kNow), 0U) << "another server";
  EXPECT_EQ(dispatch->Next(all, kServer, kNow), 1U);
  EXPECT_EQ(dispatch->Next(all, kServer, kNow), 2U);
  EXPECT_EQ(dispatch->Next(all, kServer, kNow), 0U);
}

TEST(LongestQueueDispatch, OfEqualOnesTakesTheOneThatWaitedLonger) {
  std::vector<QueueView> queues = {Queue(0, 2), Queue(1, 3), Queue(2, 3)};
  queues[2].oldest_wait = milliseconds(50);
  EXPECT_EQ(Make("longest-queue")->Next(queues, kServer, kNow), 2U);
}

// By hand: waits of 0.1 and 0.3 s, 0.15 s expected, an SLA of 0.4 s: avg is 0.35 s.
QueueView ByHand(int64_t service) {
  QueueView queue = Queue(service, 2);
  queue.mean_wait = milliseconds(200);
  queue.objective = milliseconds(400);
  queue.expected = milliseconds(150);
  return queue;
}

// `other` is a queue without an SLA that has waited so long: its need is that, at any alpha.
size_t PickAgainst(const Parameters& parameters, const QueueView& queue, Duration need) {
  QueueView other = Queue(1, 1);
  other.objective = other.oldest_wait = Duration(0);
  other.expected = Duration(0);
  other.mean_wait = need;
  const std::vector<QueueView> queues = {queue, other};
  return Make("h1", parameters)->Next(queues, kServer, kNow);
}

TEST(H1Dispatch, NeedsAreAsByHand) {
  const auto expect_need = [](const Parameters& parameters, const QueueView& queue, int need_ms) {
    EXPECT_EQ(PickAgainst(parameters, queue, milliseconds(need_ms - 1)), 0U) << need_ms;
    EXPECT_EQ(PickAgainst(parameters, queue, milliseconds(need_ms + 1)), 1U) << need_ms;
  };
  const QueueView queue = ByHand(0);
  expect_need({{"alpha", "1"}}, queue, 350);
  expect_need({{"alpha", "0.5"}}, queue, 150);
  expect_need({}, queue, 150);
  QueueView late = queue;
  late.mean_wait = milliseconds(300);
  expect_need({{"alpha", "0"}}, late, 50);
  // Half of it is what the last 50 answers took: (0.35 + 0.45) / 2 - 0.2.
  QueueView answered = queue;
  answered.recent_response = milliseconds(450);
  expect_need({{"recent", "on"}}, answered, 200);
  expect_need({}, answered, 150);
}

TEST(H1Dispatch, WithoutNeedTheLongestQueueIsNext) {
  std::vector<QueueView> queues = {ByHand(0), ByHand(1), ByHand(2)};
  queues[1].length = 5;
  EXPECT_EQ(Make("h1", {{"alpha", "0"}})->Next(queues, kServer, kNow), 1U);
  // Of equal needs the one whose front waited longer, then the first.
  queues[1].length = 2;
  EXPECT_EQ(Make("h1")->Next(queues, kServer, kNow), 0U);
}

TEST(WeightedDispatch, AServiceOfPriorityPGetsOnePthOfTheChances) {
  const auto dispatch = Make("weighted", {{"priorities", "1,2,4"}});
  const std::vector<QueueView> queues = {Queue(0), Queue(1), Queue(2)};
  std::vector<int> picks(3);
  for (int i = 0; i < 700; ++i) ++picks[dispatch->Next(queues, kServer, kNow)];
  EXPECT_NEAR(picks[0], 400, 2);
  EXPECT_NEAR(picks[1], 200, 2);
  EXPECT_NEAR(picks[2], 100, 2);
  // Who did not wait makes up for nothing.
  const std::vector<QueueView> without_2 = {Queue(0), Queue(1)};
  for (int i = 0; i < 300; ++i) dispatch->Next(without_2, kServer, kNow);
  std::fill(picks.begin(), picks.end(), 0);
  for (int i = 0; i < 70; ++i) ++picks[dispatch->Next(queues, kServer, kNow)];
  EXPECT_NEAR(picks[2], 10, 1);
}

TEST(DeadlineDispatches, GoByDeadlineSlackOrWhatCanStillBeMet) {
  std::vector<QueueView> queues = {Queue(0), Queue(1), Queue(2)};
  queues[0].oldest_deadline = kNow + milliseconds(10);  // Hopeless: it takes 20 ms.
  queues[1].oldest_deadline = kNow + milliseconds(50);
  queues[2].oldest_deadline = kNow + milliseconds(60);
  queues[2].expected = milliseconds(55);
  EXPECT_EQ(Make("earliest-deadline")->Next(queues, kServer, kNow), 0U);
  EXPECT_EQ(Make("least-slack")->Next(queues, kServer, kNow), 0U);
  EXPECT_EQ(Make("clockwork")->Next(queues, kServer, kNow), 1U);
  queues[0].oldest_deadline = kNow + milliseconds(40);
  EXPECT_EQ(Make("least-slack")->Next(queues, kServer, kNow), 2U) << "5 ms to spare";
  EXPECT_EQ(Make("clockwork")->Next(queues, kServer, kNow), 0U);
  EXPECT_EQ(Make("shortest-expected")->Next(queues, kServer, kNow), 0U);
}

// One server, equal service times, a request a service: it misses a deadline only if every order
// does. Against all orders of up to seven.
TEST(EarliestDeadlineDispatch, MissesADeadlineOnlyIfEveryOrderDoes) {
  constexpr auto kService = milliseconds(10);
  Random random(3);
  int feasible = 0, infeasible = 0;
  for (int round = 0; round < 400; ++round) {
    const size_t count = 2 + random.Below(6);
    std::vector<TimePoint> deadlines;
    for (size_t i = 0; i < count; ++i)
      deadlines.push_back(kNow + milliseconds(random.Below(10 * count + 40)));
    const auto meets = [&](const std::vector<size_t>& order) {
      TimePoint time = kNow;
      return std::all_of(order.begin(), order.end(), [&](size_t i) {
        time += kService;
        return time <= deadlines[i];
      });
    };
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    bool possible = false;
    do {
      possible = meets(order);
    } while (!possible && std::next_permutation(order.begin(), order.end()));

    const auto dispatch = Make("earliest-deadline");
    std::vector<size_t> chosen;
    std::vector<bool> done(count);
    while (chosen.size() < count) {
      std::vector<QueueView> queues;
      for (size_t i = 0; i < count; ++i) {
        if (done[i]) continue;
        queues.push_back(Queue(static_cast<int64_t>(i)));
        queues.back().oldest_deadline = deadlines[i];
      }
      const QueueView& pick = queues[dispatch->Next(queues, kServer, kNow)];
      chosen.push_back(static_cast<size_t>(pick.service.value));
      done[chosen.back()] = true;
    }
    EXPECT_EQ(meets(chosen), possible) << "round " << round;
    ++(possible ? feasible : infeasible);
  }
  EXPECT_GT(feasible, 50);
  EXPECT_GT(infeasible, 50);
}

}  // namespace
}  // namespace cosched
