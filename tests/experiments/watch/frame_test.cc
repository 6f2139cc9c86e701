// What a frame says, and that it fits whatever terminal there is.

#include "experiments/watch/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cosched {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

FrameSubject Subject() {
  FrameSubject subject{
      .experiment = "quickstart", .run = "20261128T125801Z-ab12", .status = "running"};
  subject.cells = 96;
  subject.done = 3;
  subject.running = 1;
  subject.cell = 4;
  subject.cell_name = "equal-share, malleable, trial 1";
  subject.cell_state = "runs";
  subject.live = true;
  subject.end_s = 14.25;
  CellMoment& moment = subject.moment;
  moment.time = 14.25;
  moment.came = 5;
  moment.running = 1;
  moment.waiting = 1;
  moment.ended = 3;
  moment.granted = {0, 1};
  moment.runnable = 3;
  moment.tenants = {{.job = 3,
                     .program = "resnet20",
                     .state = TenantState::kRuns,
                     .cores = {0, 1},
                     .amount = 2,
                     .threads = 4,
                     .runnable = 3,
                     .steps = 120,
                     .all_steps = 400,
                     .per_second = 412.4},
                    {.job = 4, .program = "lenet5", .since = 12}};
  moment.decisions = {{13.91, "job 4 came", "job 3: 2 -> 1 core"}};
  return subject;
}

void ExpectFits(const FrameSubject& subject, int columns, int rows) {
  const Frame frame = DrawFrame(subject, columns, rows);
  EXPECT_LE(frame.size(), static_cast<size_t>(rows));
  for (const FrameLine& line : frame) {
    size_t width = 0;
    for (const FrameSpan& span : line) width += span.text.size();
    EXPECT_LE(width, static_cast<size_t>(columns)) << columns << " x " << rows;
  }
}

TEST(FrameTest, SaysWhatHappensNow) {
  const std::string text = FrameText(DrawFrame(Subject(), 80, 24));
  EXPECT_THAT(text,
              AllOf(HasSubstr("quickstart  20261128T125801Z-ab12"), HasSubstr("the run goes on"),
                    HasSubstr("3 of 96 done, 1 running, 92 left"),
                    HasSubstr("4: equal-share, malleable, trial 1, runs"),
                    HasSubstr("14.2 s of 14.2 s, now")));
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("5 came: 1 running, 1 waiting, 3 ended"),
            HasSubstr("oversubscribed by 50 %: 2 granted (0-1); 3 of their threads want to run")));
  EXPECT_THAT(
      text,
      HasSubstr("     3 resnet20         runs    2 (0-1)        3/4     120/400  412 images/s\n"));
  EXPECT_THAT(text, HasSubstr("     4 lenet5           waits   for 2.25 s\n"));
  EXPECT_THAT(text, HasSubstr("    13.9 s  job 4 came: job 3: 2 -> 1 core\n"));
  EXPECT_THAT(text, HasSubstr("? help"));
}

TEST(FrameTest, FitsEveryTerminal) {
  FrameSubject subject = Subject();
  subject.note = std::string(300, 'x');
  subject.experiment = std::string(100, 'y');
  subject.moment.services = {{.name = "web"}, {.name = "eyes"}};
  for (int job = 10; job < 60; ++job) {
    subject.moment.tenants.push_back({.job = job, .program = "vgg11"});
    subject.moment.decisions.push_back({1, "tick", std::string(200, 'z')});
  }
  subject.moment.waiting = 51;
  for (const int columns : {1, 2, 10, 40, 79, 80, 120, 300})
    for (const int rows : {1, 2, 3, 8, 12, 24, 100}) ExpectFits(subject, columns, rows);
  for (const int rows : {1, 5, 24}) EXPECT_LE(DrawHelp(20, rows).size(), static_cast<size_t>(rows));
}

TEST(FrameTest, HelpIsWholeOnAnOrdinaryTerminalAndWhatIsCutSaysSo) {
  const std::string help = FrameText(DrawHelp(80, 24));
  EXPECT_THAT(help, AllOf(Not(HasSubstr("~")), HasSubstr("no server has yet.")));
  FrameSubject subject = Subject();
  subject.note = std::string(300, 'x');
  EXPECT_THAT(FrameText(DrawFrame(subject, 80, 24)),
              HasSubstr("note    " + std::string(71, 'x') + "~\n"));
}

TEST(FrameTest, ANarrowTerminalLosesStepsAndBarsAndNoAnswer) {
  FrameSubject subject = Subject();
  subject.seconds_left = 345;
  subject.moment.runnable = 1.5;
  subject.moment.tenants[0].runnable = 1.5;
  const std::string text = FrameText(DrawFrame(subject, 60, 20));
  EXPECT_THAT(text, AllOf(HasSubstr("3 of 96 done, 1 running, 92 left, about 5:40 min\n"),
                          HasSubstr("not oversubscribed: 2 granted (0-1); 1.5 of their t~"),
                          HasSubstr("1.5/4"), HasSubstr("412 images/s\n"),
                          HasSubstr("the run goes on\n"), Not(HasSubstr("120/400"))));
}

TEST(FrameTest, NotesAndPointsTakeTheLinesThatTheyNeed) {
  FrameSubject subject = Subject();
  subject.point = "jobs=20,cores=4";
  subject.marked = 2;
  subject.note = "marked: other programs used more than 10 % of the experiment's cores meanwhile";
  const std::string text = FrameText(DrawFrame(subject, 80, 24));
  EXPECT_THAT(text, AllOf(HasSubstr("point   jobs=20,cores=4\n"), HasSubstr(", 2 marked\n"),
                          HasSubstr("experiment's cores\n        meanwhile\n")));
}

TEST(FrameTest, TheEndOfACellIsNoLookBack) {
  FrameSubject subject = Subject();
  subject.live = false;
  EXPECT_THAT(FrameText(DrawFrame(subject, 80, 24)), HasSubstr(", looking back\n"));
  subject.at_end = true;
  EXPECT_THAT(FrameText(DrawFrame(subject, 80, 24)), HasSubstr(", its end\n"));
}

TEST(FrameTest, WhatMovedNothingTakesNoLine) {
  FrameSubject subject = Subject();
  subject.moment.asked = DecisionMoment{14.2, "tick", ""};
  EXPECT_THAT(FrameText(DrawFrame(subject, 80, 24)),
              HasSubstr("what they moved  (tick at 14.2 s: nothing)\n    13.9 s  job 4 came: "));
}

TEST(FrameTest, ALongListOfJobsLeavesPlaceForDecisionsAndCanBeScrolled) {
  FrameSubject subject = Subject();
  for (int job = 10; job < 60; ++job)
    subject.moment.tenants.push_back({.job = job, .program = "vgg11"});
  subject.moment.waiting = 51;
  std::string text = FrameText(DrawFrame(subject, 80, 24));
  EXPECT_THAT(text, AllOf(HasSubstr("(not shown: 0 above, 38 below)"),
                          HasSubstr("job 4 came: job 3: 2 -> 1 core"), HasSubstr("resnet20")));
  subject.first_tenant = 45;
  text = FrameText(DrawFrame(subject, 80, 24));
  EXPECT_THAT(text, AllOf(HasSubstr("(not shown: 38 above, 0 below)"), Not(HasSubstr("resnet20")),
                          HasSubstr("    59 vgg11")));
}

TEST(FrameTest, ServicesSayTheirQueuesOrThatNobodyKnows) {
  FrameSubject subject = Subject();
  subject.moment.services = {{.name = "web",
                              .queued = 70,
                              .in_flight = 2,
                              .answered_per_s = 38.25,
                              .mean_response_s = 0.045,
                              .answered = 9,
                              .dropped = 4},
                             {.name = "eyes"}};
  const std::string text = FrameText(DrawFrame(subject, 80, 24));
  EXPECT_THAT(
      text,
      HasSubstr(
          "       web                    70          2       38.2  45 ms         4 dropped\n"));
  EXPECT_THAT(text, HasSubstr("       eyes                    ?          ?       0.00  -\n"));
}

TEST(FrameTest, WhatIsNoPlainTextCannotDisturbTheTerminal) {
  FrameSubject subject = Subject();
  subject.moment.tenants[0].program = "m\x1b[2Jü";
  const std::string text = FrameText(DrawFrame(subject, 80, 24));
  EXPECT_THAT(text, HasSubstr("m?[2J? "));
}

TEST(FrameTest, WithoutATerminalAllOfItIsThereAndNoKeys) {
  FrameSubject subject = Subject();
  for (int job = 10; job < 60; ++job)
    subject.moment.tenants.push_back({.job = job, .program = "vgg11"});
  const std::string text = FrameText(DrawFrame(subject, 100, 0));
  EXPECT_THAT(text, AllOf(HasSubstr("    59 vgg11"), Not(HasSubstr("q quit"))));
}

TEST(FrameTest, ARunWithoutRecordsSaysSo) {
  FrameSubject subject = Subject();
  subject.cell = 0;
  EXPECT_THAT(FrameText(DrawFrame(subject, 80, 24)), HasSubstr("none has records yet"));
}

}  // namespace
}  // namespace cosched
