// These events, exactly these allocations, for easy-malleable: one case for each rule that its head
// comment states, and what holds for all of its strategies.

#include <gtest/gtest.h>

#include <map>

#include "engine/base/random.h"
#include "tests/policies/policy_machine.h"

namespace cosched {
namespace {

constexpr const char* kStrategies[] = {"min", "pref", "keep-pref", "avg"};

std::unique_ptr<ScheduledMachine> MachineOf16(const char* strategy) {
  return MakeMachine(kSixteenCores, "easy-malleable", {{"strategy", strategy}});
}

void SubmitMalleable(ScheduledMachine* machine, int64_t id, CoreRequest request) {
  machine->Submit(SizedJob(id, request, 1000));
  machine->SettleAll();
}

void SubmitRigid(ScheduledMachine* machine, int64_t id, int cores, int64_t steps = 1000) {
  machine->Submit(SizedJob(id, {1, cores, cores}, steps, 1, Elasticity::kRigid));
  machine->SettleAll();
}

TEST(EasyMalleable, MinStartsWithTheMinAndGrowsToTheMax) {
  const auto machine = MachineOf16("min");
  SubmitMalleable(machine.get(), 1, {2, 4, 8});
  EXPECT_EQ(machine->Counts(), "1=8");
  SubmitMalleable(machine.get(), 2, {2, 4, 8});
  EXPECT_EQ(machine->Counts(), "1=8 2=8");
  SubmitMalleable(machine.get(), 3, {2, 4, 8});  // The oldest of those furthest above gives.
  EXPECT_EQ(machine->Counts(), "1=6 2=8 3=2");
  SubmitRigid(machine.get(), 4, 10);
  EXPECT_EQ(machine->Counts(), "1=2 2=2 3=2 4=10");
  SubmitRigid(machine.get(), 5, 1);
  EXPECT_EQ(machine->Counts(), "1=2 2=2 3=2 4=10 5=wait");
  machine->Finish(4);  // One after the other, as far as it goes.
  EXPECT_EQ(machine->Counts(), "1=8 2=5 3=2 5=1");
}

TEST(EasyMalleable, TheOneLeastAboveItsMinGrowsFirst) {
  const auto machine = MachineOf16("min");
  SubmitMalleable(machine.get(), 1, {1, 1, 16});
  SubmitMalleable(machine.get(), 2, {1, 1, 16});
  SubmitRigid(machine.get(), 3, 4);
  EXPECT_EQ(machine->Counts(), "1=11 2=1 3=4");
  machine->Finish(3);
  EXPECT_EQ(machine->Counts(), "1=11 2=5");
}

TEST(EasyMalleable, PrefGivesUpWhatIsBeyondPreferenceFirst) {
  const auto machine = MachineOf16("pref");
  SubmitMalleable(machine.get(), 1, {2, 4, 8});
  SubmitMalleable(machine.get(), 2, {2, 4, 8});
  EXPECT_EQ(machine->Counts(), "1=8 2=8");
  SubmitMalleable(machine.get(), 3, {2, 4, 8});
  EXPECT_EQ(machine->Counts(), "1=4 2=8 3=4");
  SubmitRigid(machine.get(), 4, 4);
  EXPECT_EQ(machine->Counts(), "1=4 2=4 3=4 4=4");
  SubmitMalleable(machine.get(), 5, {2, 4, 8});  // With its min, as nothing is beyond preference.
  EXPECT_EQ(machine->Counts(), "1=2 2=4 3=4 4=4 5=2");
  machine->Finish(4);  // First those below what they prefer.
  EXPECT_EQ(machine->Counts(), "1=4 2=4 3=4 5=4");
  machine->SettleAll();
  machine->Finish(5);
  EXPECT_EQ(machine->Counts(), "1=8 2=4 3=4");
}

TEST(EasyMalleable, KeepPrefLeavesTheRestIdle) {
  const auto machine = MachineOf16("keep-pref");
  for (int64_t id = 1; id <= 3; ++id) SubmitMalleable(machine.get(), id, {2, 4, 8});
  EXPECT_EQ(machine->Counts(), "1=4 2=4 3=4");
  SubmitRigid(machine.get(), 4, 6);
  EXPECT_EQ(machine->Counts(), "1=2 2=4 3=4 4=6");
  machine->Finish(2);
  EXPECT_EQ(machine->Counts(), "1=4 3=4 4=6");
}

TEST(EasyMalleable, AvgKeepsAllAtTheSamePartOfTheirRange) {
  const auto machine = MachineOf16("avg");
  SubmitMalleable(machine.get(), 1, {1, 2, 5});
  SubmitMalleable(machine.get(), 2, {1, 4, 9});
  SubmitMalleable(machine.get(), 3, {1, 1, 5});
  EXPECT_EQ(machine->Counts(), "1=5 2=9 3=2");
  SubmitRigid(machine.get(), 4, 6);
  EXPECT_EQ(machine->Counts(), "1=3 2=5 3=2 4=6");
  machine->Finish(4);  // The one of the least part first; then all alike.
  EXPECT_EQ(machine->Counts(), "1=5 2=7 3=4");
}

TEST(EasyMalleable, TheFirstOfTheQueueStartsAsSoonAsItFitsBesideLeastSizes) {
  for (const char* strategy : kStrategies) {
    const auto machine = MachineOf16(strategy);
    SubmitMalleable(machine.get(), 1, {2, 16, 16});
    SubmitRigid(machine.get(), 2, 15);
    EXPECT_EQ(machine->Counts(), "1=16 2=wait") << strategy;
    SubmitRigid(machine.get(), 3, 14, 1'000'000);  // Would delay it.
    EXPECT_EQ(machine->Counts(), "1=16 2=wait 3=wait") << strategy;
    machine->Finish(1);
    EXPECT_EQ(machine->Counts(), "2=15 3=wait") << strategy;
  }
}

// Job 1 has 40 s to go on its min of one core, 10 s on what it holds.
TEST(EasyMalleable, TheReservationCountsLeastSizesAndLentCoresAreTakenBackForThoseWithinIt) {
  for (const char* strategy : kStrategies) {
    const auto machine = MakeMachine(kFourCores, "easy-malleable", {{"strategy", strategy}});
    machine->Submit(SizedJob(1, {1, 4, 4}, 40));
    machine->host.progress[{1}] = 0;
    machine->SettleAll();
    SubmitRigid(machine.get(), 2, 4);
    SubmitRigid(machine.get(), 3, 1, 41);
    EXPECT_EQ(machine->Counts(), "1=4 2=wait 3=wait") << strategy;
    SubmitRigid(machine.get(), 4, 1, 40);
    EXPECT_EQ(machine->Counts(), "1=3 2=wait 3=wait 4=1") << strategy;
  }
}

TEST(EasyMalleable, PriorityOrdersTheQueue) {
  const auto machine =
      MakeMachine(kFourCores, "easy-malleable", {{"strategy", "min"}, {"order", "priority"}});
  SubmitRigid(machine.get(), 1, 4);
  SubmitRigid(machine.get(), 2, 4);
  Job urgent = SizedJob(3, {1, 4, 4}, 999);
  urgent.priority = 1;
  machine->Submit(urgent);
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=wait 3=4");
}

// A stream of jobs that arrive and end, the same for every machine that is given it.
class RandomStream {
 public:
  RandomStream(uint64_t seed, double malleable) : random_(seed), malleable_(malleable) {}

  void Step(const std::vector<ScheduledMachine*>& machines) {
    std::vector<int64_t> running;
    for (const JobView& job : machines.front()->arbiter.View().jobs.Running())
      running.push_back(job.id.value);
    const bool ends = !running.empty() && random_.Uniform() < 0.45;
    const int64_t id = ends ? running[random_.Below(running.size())] : ++submitted_;
    const int preferred = 1 + static_cast<int>(random_.Below(16));
    const int least = 1 + static_cast<int>(random_.Below(static_cast<uint64_t>(preferred)));
    const auto steps = static_cast<int64_t>(1 + random_.Below(1000));
    const bool malleable = random_.Uniform() < malleable_;
    const Job job = SizedJob(id, {least, preferred, std::min(16, 2 * preferred)}, steps, 0.8,
                             malleable ? Elasticity::kMalleable : Elasticity::kRigid);
    for (ScheduledMachine* machine : machines) {
      if (ends) {
        machine->Finish(id);
      } else {
        machine->Submit(job);
      }
      machine->SettleAll();
    }
  }

 private:
  Random random_;
  const double malleable_;
  int64_t submitted_ = 0;
};

TEST(EasyMalleable, WithoutMalleableJobsItIsEasyBackfill) {
  for (const char* strategy : kStrategies) {
    const auto ours = MachineOf16(strategy);
    const auto easy = MakeMachine(kSixteenCores, "easy-backfill");
    RandomStream stream(7, 0);
    for (int step = 0; step < 300; ++step) {
      stream.Step({easy.get(), ours.get()});
      ASSERT_EQ(ours->Counts(), easy->Counts()) << strategy << ", step " << step;
    }
  }
}

TEST(EasyMalleable, RigidJobsAreNeverResizedAndNoCoreIdlesThatSomebodyCouldUse) {
  for (const char* strategy : kStrategies) {
    const auto machine = MachineOf16(strategy);
    RandomStream stream(11, 0.5);
    int resized = 0;
    std::map<int64_t, int> before;
    for (int step = 0; step < 300; ++step) {
      stream.Step({machine.get()});
      int room = machine->arbiter.View().FreeCores().Count();
      const int free = room;
      bool some_could_grow = false;
      for (const JobView& job : machine->arbiter.View().jobs.Running()) {
        const int cores = job.cores.Count();
        const bool malleable = job.elasticity == Elasticity::kMalleable;
        const auto [known, is_new] = before.emplace(job.id.value, cores);
        if (!malleable) {
          ASSERT_EQ(cores, job.request.preferred) << strategy;
        }
        resized += known->second != cores ? 1 : 0;
        known->second = cores;
        const bool keeps = std::string_view(strategy) == "keep-pref";
        const int most = keeps ? job.request.preferred : job.request.max;
        some_could_grow = some_could_grow || (malleable && cores < most);
        if (malleable) room += cores - job.request.min;
      }
      EXPECT_FALSE(free > 0 && some_could_grow) << strategy << ", step " << step;
      for (const JobView& job : machine->arbiter.View().jobs.Waiting()) {
        const bool malleable = job.elasticity == Elasticity::kMalleable;
        EXPECT_GT(malleable ? job.request.min : job.request.preferred, room) << strategy;
        break;  // Only the first is promised that.
      }
    }
    EXPECT_GT(resized, 50) << strategy;
  }
}

}  // namespace
}  // namespace cosched
