// A pause in the middle of a loop: its caller, a worker of another pool, leaves after a task.

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <vector>

#include "engine/base/topology.h"
#include "engine/pool/malleable_pool.h"
#include "tests/engine/pool/pool_resizers.h"

namespace cosched {
namespace {

// A loop in `intra` that a worker of `inter` calls.
struct CalledLoop {
  static constexpr int kTasks = 100;
  void Begin(MalleablePool* inter, MalleablePool* intra) {
    inter->Schedule([this, intra] {
      intra->ParallelFor(kTasks, [this](int task) {
        if (task == 0) in.count_down();
        if (task == 0) go_on.wait();
        if (std::latch* const stay = second.exchange(nullptr); stay != nullptr && task > 0)
          stay->wait();
        ++runs[static_cast<size_t>(task)];
        ++done;
      });
      over.count_down();
    });
  }
  void ExpectEachTaskOnce() {
    over.wait();
    for (const std::atomic<int>& count : runs) EXPECT_EQ(count.load(), 1);
  }

  std::latch in{1}, go_on{1}, over{1};
  std::vector<std::atomic<int>> runs = std::vector<std::atomic<int>>(kTasks);
  std::atomic<int> done{0};
  std::atomic<std::latch*> second{nullptr};  // Waited for by the next task.
};

TEST(HeldLoopTest, APausedCallerLeavesItsLoopAfterATaskAndGoesOnWhenItIsWanted) {
  const auto inter = MakePool(1, WhenEmpty::kQueue), intra = MakePool(2);
  inter->Resize(1);
  CalledLoop loop;
  loop.Begin(inter.get(), intra.get());
  loop.in.wait();
  inter->Resize(0);
  EXPECT_FALSE(inter->Settled());
  loop.go_on.count_down();
  WaitSettled(*inter);
  EXPECT_EQ(inter->Active(), 0);
  EXPECT_EQ(loop.done, 1);
  intra->Resize(2);  // Others may go on with what it called.
  WaitUntil(loop.done, CalledLoop::kTasks);
  EXPECT_EQ(inter->Active(), 0);
  inter->Resize(1);
  loop.ExpectEachTaskOnce();
  WaitSettled(*inter);
  EXPECT_EQ(inter->Active(), 1);
}

// They end their pieces on cores that are granted, whichever these are by then.
TEST(HeldLoopTest, CallersThatAreNotWantedAreWhereTheOthersAre) {
  const Topology topology = Topology::ThisMachine();
  if (topology.Cpus().Count() < 2) GTEST_SKIP() << "needs 2 cores";
  const std::vector<int> cpus = topology.Cpus().Lowest(2).ToVector();
  MalleablePool inter(
      {.name = "test", .capacity = 2, .when_empty = WhenEmpty::kQueue, .topology = &topology});
  const auto intra = MakePool(1);
  inter.Resize(2, cpus);
  CalledLoop loops[2];
  for (CalledLoop& loop : loops) loop.Begin(&inter, intra.get());
  for (CalledLoop& loop : loops) loop.in.wait();
  inter.Resize(0);
  for (CalledLoop& loop : loops) loop.go_on.count_down();
  WaitSettled(inter);
  std::latch stay(1);
  for (CalledLoop& loop : loops) loop.second = &stay;
  inter.Resize(1, {cpus[1]});
  for (CalledLoop& loop : loops) WaitUntil(loop.done, 1);
  const auto both = [&](int cpu) {
    for (const int tid : inter.ThreadIds()) {
      if (topology.ThreadBinding(tid) != CpuSet{cpu}) return false;
    }
    return true;
  };
  EXPECT_TRUE(HoldsInTime([&] { return both(cpus[1]); }));
  EXPECT_TRUE(HoldsInTime([&] { return inter.Active() == 2; }));
  inter.Resize(1, {cpus[0]});
  EXPECT_TRUE(both(cpus[0]));
  stay.count_down();
  for (CalledLoop& loop : loops) loop.ExpectEachTaskOnce();
  WaitSettled(inter);
  EXPECT_EQ(inter.Active(), 1);
}

TEST(HeldLoopTest, ACallerThatIsNotWantedAfterThePauseEndsItsLoopAndLeaves) {
  const auto inter = MakePool(2, WhenEmpty::kQueue), intra = MakePool(2);
  inter->Resize(2);
  CalledLoop loops[2];
  for (CalledLoop& loop : loops) loop.Begin(inter.get(), intra.get());
  for (CalledLoop& loop : loops) loop.in.wait();
  inter->Resize(0);
  for (CalledLoop& loop : loops) loop.go_on.count_down();
  WaitSettled(*inter);
  for (CalledLoop& loop : loops) EXPECT_EQ(loop.done, 1);
  inter->Resize(1);
  for (CalledLoop& loop : loops) loop.ExpectEachTaskOnce();
  WaitSettled(*inter);
  EXPECT_EQ(inter->Active(), 1);
}

// The caller of the outer loop waits for the task.
TEST(HeldLoopTest, APauseDoesNotHoldACallerWithinATask) {
  const auto inter = MakePool(1, WhenEmpty::kQueue), intra = MakePool(2);
  inter->Resize(1);
  std::atomic<int> outer{0}, inner{0};
  std::latch over(1);
  inter->Schedule([&] {
    intra->ParallelFor(10, [&](int) {
      intra->ParallelFor(10, [&](int) {
        if (++inner == 3) inter->Resize(0);
      });
      ++outer;
    });
    over.count_down();
  });
  WaitUntil(inner, 10);
  WaitSettled(*inter);
  EXPECT_EQ(outer, 1);
  EXPECT_EQ(inner, 10);
  inter->Resize(1);
  over.wait();
  EXPECT_EQ(outer, 10);
}

TEST(HeldLoopTest, LoopsThatAreHeldTimeAndAgainRunEveryTaskOnce) {
  const auto inter = MakePool(4, WhenEmpty::kQueue), intra = MakePool(4);
  intra->Resize(4);
  const Resizers resizers(inter.get(), 2, 5), helpers(intra.get(), 1, 6);
  do {
    std::vector<std::unique_ptr<CalledLoop>> loops;
    for (int i = 0; i < 8; ++i) {
      loops.push_back(std::make_unique<CalledLoop>());
      loops.back()->go_on.count_down();
      loops.back()->Begin(inter.get(), intra.get());
    }
    for (const auto& loop : loops) loop->ExpectEachTaskOnce();
  } while (!resizers.ResizedOften());
  // Resizers end at any size, but every loop is over.
}

}  // namespace
}  // namespace cosched
