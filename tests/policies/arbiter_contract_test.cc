// A policy that breaks its contract changes nothing and says why; one that throws fails its cell.

#include <gtest/gtest.h>

#include "tests/policies/arbiter_fixture.h"

namespace cosched {
namespace {

TEST_F(ArbiterTest, UnknownJobIsAViolation) {
  ExpectViolation({{{9}, Cores(1)}}, "job 9: there is no such job");
}

TEST_F(ArbiterTest, GrantOutsideMinAndMaxIsAViolation) {
  machine_.Submit(1, {2, 2, 3});
  ExpectViolation({{{1}, Cores(4)}}, "job 1: 4 cores are more than its max 3");
  ExpectViolation({{{1}, Cores(1)}}, "job 1: 1 cores are fewer than its min 2");
  ExpectViolation({{{1}, Cores(0)}}, "job 1: 0 cores are fewer than its min 2");
  ExpectViolation({{{1}, Cores(-1)}}, "job 1: -1 cores are fewer than its min 2");
  ExpectViolation({{{1}, Cores(CpuSet())}}, "job 1: 0 cores are fewer than its min 2");
}

TEST_F(ArbiterTest, MoreThanTheMachineIsAViolation) {
  machine_.Submit(1, {1, 8, 8});
  SubmitWaiting(2);
  ExpectViolation({{{1}, Cores(5)}}, "job 1: 5 cores are more than the machine's 4");
  ExpectViolation({{{1}, Cores(CpuSet{3, 4})}},
                  "job 1: cores 3-4 are not within the machine's 0-3");
  ExpectViolation({{{1}, Cores(3)}, {{2}, Cores(2)}},
                  "the grants add up to 5 cores, the machine has 4");
}

TEST_F(ArbiterTest, GrantsOfJobsLeftOutCount) {
  SubmitRunning(1, {0, 1, 2});
  SubmitWaiting(2);
  ExpectViolation({{{2}, Cores(2)}}, "the grants add up to 5 cores, the machine has 4");
  ExpectViolation({{{2}, Cores(CpuSet{2, 3})}}, "job 2: cores 2 are granted twice");
}

TEST_F(ArbiterTest, OverlappingSetsAreAViolation) {
  SubmitWaiting(1);
  SubmitWaiting(2);
  ExpectViolation({{{1}, Cores(CpuSet{0, 1})}, {{2}, Cores(CpuSet{1, 2})}},
                  "job 2: cores 1 are granted twice");
}

TEST_F(ArbiterTest, DecisionsAgainstTheStateAreViolations) {
  SubmitRunning(1, {0});
  SubmitWaiting(2);
  ExpectViolation({{{1}, Reject{}}}, "job 1: only a waiting job can be rejected");
  ExpectViolation({{{2}, Pause{}}}, "job 2: only a running job can be paused");
  Decide({{{1}, Pause{}}});
  TakeLog();
  ExpectViolation({{{1}, Pause{}}}, "job 1: only a running job can be paused");
  ExpectViolation({{{1}, Reject{}}}, "job 1: only a waiting job can be rejected");
}

TEST_F(ArbiterTest, SplitWithoutThreadsIsAViolation) {
  SubmitWaiting(1);
  ExpectViolation({{{1}, Cores(2, Split{0, 2})}}, "job 1: split 0x2 has a pool without threads");
}

TEST_F(ArbiterTest, ExceptionOfAPolicyIsAViolation) {
  policy().always = [](const MachineView&, const Event&) -> Allocation {
    throw std::out_of_range("map::at");
  };
  ExpectViolation({}, "the policy threw: map::at");
}

TEST_F(ArbiterTest, CellThatFailedEndsEveryJobOnce) {
  SubmitRunning(1, {0});
  SubmitWaiting(2);
  ExpectViolation({{{9}, Cores(1)}}, "job 9: there is no such job");
  machine_.observer.Take();
  machine_.arbiter.EndAll(JobEnd::kCancelled, "policy broke its contract");
  EXPECT_EQ(TakeLog(), "stop 1");
  EXPECT_EQ(machine_.observer.Take(),
            "cancelled 1: policy broke its contract; cancelled 2: policy broke its contract");
  machine_.arbiter.Handle(HostFinished{{1}});  // Was on its way.
  EXPECT_EQ(machine_.observer.Take(), "");
}

TEST_F(ArbiterTest, EveryDecisionIsRecordedEvenIfItChangesNothing) {
  SubmitRunning(1, {0, 1});
  Decide({});
  Decide({{{1}, Cores(2)}});
  EXPECT_EQ(machine_.observer.Take(), "tick -> ; tick -> ");
  EXPECT_EQ(TakeLog(), "");
  SubmitWaiting(2);
  SubmitWaiting(3);
  machine_.observer.Take();
  Decide({{{1}, Pause{}}, {{2}, Cores(CpuSet{3})}, {{3}, Reject{}}});
  EXPECT_EQ(machine_.observer.Take("tick"), "tick -> 1=pause 2=3 3=reject");
}

}  // namespace
}  // namespace cosched
