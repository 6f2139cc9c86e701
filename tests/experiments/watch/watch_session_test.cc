// Runs that are written here, row by row, beside a session that looks at them: what it follows, what
// keys change, and that partial files never confuse it.

#include "experiments/watch/watch_session.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "engine/base/error.h"
#include "experiments/records/cell_records.h"
#include "experiments/watch/watched_run.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TimePoint Second(double time) { return TimePoint(FromSeconds(time)); }

class WatchTest : public ::testing::Test {
 protected:
  WatchTest() { SetStatus("running"); }

  // Whoever runs a run holds its folder.
  void Hold() { lock_ = std::make_unique<FolderHold>(Run()); }
  void Release() { lock_.reset(); }

  fs::path Run() const { return folder_.path() / "results" / "x" / "20261128T120000Z-0001"; }
  void SetStatus(const std::string& status) const {
    WriteText(Run() / "manifest.json", R"({"format": 1, "status": ")" + status +
                                           R"(", "experiment": {"name": "x"}, "order":
      ["strict/malleable/1", "equal-share/malleable/1", "strict/malleable/2"]})");
  }
  static CellKey Key(const std::string& policy, int trial = 1) {
    return {policy, Elasticity::kMalleable, trial};
  }
  std::unique_ptr<CellRecords> Begin(const CellKey& key, const RecordsConfig& config = {}) const {
    auto records = std::make_unique<CellRecords>(Run(), key, CpuSet{0, 1}, config);
    records->OnSubmitted(Second(1), {{7}, "resnet20", {1, 2, 2}, Elasticity::kMalleable, 0});
    records->OnStarted(Second(2), {7}, Place::Whole({0, 1}, {1, 2}));
    return records;
  }
  // Ends at 10 s.
  static void End(CellRecords* records, const std::string& status = "done") {
    records->OnEnded(Second(10), {7}, JobEnd::kFinished, "");
    records->Finish(status, status == "done" ? "" : "the policy broke its contract");
  }
  void WholeCell(const CellKey& key, const std::string& status = "done") const {
    End(Begin(key).get(), status);
  }
  std::string Text(WatchSession* session) {
    now_ += seconds(10);
    session->Refresh(now_);
    return FrameText(session->Draw(80, 24));
  }

  class FolderHold {
   public:
    explicit FolderHold(const fs::path& folder);
    ~FolderHold();

   private:
    int fd_;
  };

  TemporaryFolder folder_;
  std::unique_ptr<FolderHold> lock_;
  WatchSession::SteadyClock::time_point now_ = WatchSession::SteadyClock::now();
};

WatchTest::FolderHold::FolderHold(const fs::path& folder)
    : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY)) {
  EXPECT_EQ(flock(fd_, LOCK_EX), 0);
}
WatchTest::FolderHold::~FolderHold() { close(fd_); }

TEST_F(WatchTest, FollowsARunFromBeforeItsFirstRowToItsEnd) {
  Hold();
  WatchSession session(Run());
  EXPECT_THAT(Text(&session), AllOf(HasSubstr("0 of 3 done"), HasSubstr("none has records yet")));

  auto records = Begin(Key("strict"));
  EXPECT_THAT(Text(&session),
              AllOf(HasSubstr("1: strict, malleable, trial 1, runs"), HasSubstr("1 running"),
                    HasSubstr("now"), HasSubstr("     7 resnet20         runs    2 (0-1)")));
  TenantSample sample;
  sample.job = {7};
  sample.time = Second(4);
  sample.granted = {0, 1};
  sample.runnable_threads = 3;
  sample.steps = 20;
  sample.images = 640;
  records->OnSample(sample);
  records->OnDecision(Second(4), 1, "tick", "", Duration(1000));
  EXPECT_THAT(Text(&session), AllOf(HasSubstr("oversubscribed by 50 %"), HasSubstr("320 images/s"),
                                    HasSubstr("(tick at 4.00 s: nothing)")));

  End(records.get());
  EXPECT_THAT(Text(&session),
              AllOf(HasSubstr("1 of 3 done"), HasSubstr("trial 1, done"), HasSubstr("1 ended")));
  records = Begin(Key("equal-share"));
  EXPECT_THAT(Text(&session), HasSubstr("2: equal-share, malleable, trial 1, runs"));
  End(records.get());
  WholeCell(Key("strict", 2), "failed");
  SetStatus("failed");
  Release();
  EXPECT_THAT(Text(&session), AllOf(HasSubstr("the run is over: failed"),
                                    HasSubstr("2 of 3 done, 0 left, 1 failed")));
}

TEST_F(WatchTest, ARunThatWasKilledIsToldAndItsLastRowsStay) {
  Hold();
  WatchSession session(Run());
  const auto records = Begin(Key("strict"));
  Text(&session);
  Release();
  EXPECT_THAT(Text(&session), AllOf(HasSubstr("nobody runs it any more"), HasSubstr("resnet20"),
                                    HasSubstr("was not finished"), HasSubstr("1 not finished")));
  Hold();
  EXPECT_THAT(Text(&session), AllOf(HasSubstr("the run goes on"), HasSubstr("trial 1, runs")));
}

TEST_F(WatchTest, ARunThatWasStoppedOpensAtTheCellThatWasNotFinished) {
  WholeCell(Key("strict"));
  const auto records = Begin(Key("equal-share"));
  WatchSession session(Run());
  EXPECT_THAT(Text(&session), AllOf(HasSubstr("2: equal-share, malleable, trial 1, was not"),
                                    HasSubstr("2.00 s of 2.00 s")));
  session.Press(WatchKey::kFirstCell);
  EXPECT_THAT(Text(&session), HasSubstr("1: strict, malleable, trial 1, done"));
  session.Press(WatchKey::kLastCell);
  EXPECT_THAT(Text(&session), HasSubstr("2: equal-share, malleable"));
}

// Its folder is made anew, and what was read of the earlier attempt is not of this one.
TEST_F(WatchTest, ACellThatIsRunAnewIsFollowedFromItsBegin) {
  auto records = Begin(Key("strict"));
  records->OnSubmitted(Second(3), {{8}, "lenet5", {1, 1, 1}, Elasticity::kMalleable, 0});
  WatchSession session(Run());
  EXPECT_THAT(Text(&session), HasSubstr("lenet5"));
  Hold();
  records = Begin(Key("strict"));
  EXPECT_THAT(Text(&session), AllOf(HasSubstr("resnet20"), Not(HasSubstr("lenet5"))));
  records->OnSubmitted(Second(4), {{9}, "vgg16", {1, 1, 1}, Elasticity::kMalleable, 0});
  EXPECT_THAT(Text(&session), HasSubstr("vgg16"));
}

// trials = "until …": once they are enough the run needs fewer cells than it might have.
TEST_F(WatchTest, CellsThatAreNotNeededAnyMoreAreNotLeft) {
  Hold();
  const auto manifest = [this](const std::string& order) {
    WriteText(Run() / "manifest.json",
              R"({"format": 1, "status": "running", "experiment": {"name": "x", "trials": )"
              R"("until makespan ± 2 %"}, "order": [)" +
                  order + "]}");
    fs::last_write_time(Run() / "manifest.json",
                        fs::file_time_type::clock::now() + seconds(order.size()));
  };
  manifest(R"("strict/malleable/1", "strict/malleable/2", "strict/malleable/3")");
  WholeCell(Key("strict"));
  WatchSession session(Run());
  EXPECT_THAT(Text(&session), HasSubstr("1 of 3 done, at most 2 left"));
  manifest(R"("strict/malleable/1")");
  EXPECT_THAT(Text(&session), HasSubstr("1 of 1 done, at most 0 left"));
}

// Also by one who came late: by when the records of the latest cells were whole.
TEST_F(WatchTest, TheTimeLeftIsByThePaceOfTheLatestCells) {
  Hold();
  const auto ended = [this](const CellKey& key, seconds ago) {
    WholeCell(key);
    fs::last_write_time(CellFolder(Run(), key) / kCellFileName,
                        fs::file_time_type::clock::now() - ago);
  };
  ended(Key("strict"), seconds(10'010));
  WatchSession first(Run());
  EXPECT_THAT(Text(&first), AllOf(HasSubstr("1 of 3 done"), Not(HasSubstr("about"))));
  ended(Key("equal-share"), seconds(10));
  WatchSession late(Run());
  EXPECT_THAT(Text(&late), HasSubstr("1 left, about 2.8 h"));
}

// A file may be read while a row is being written.
TEST_F(WatchTest, ARowIsTakenOnceItIsWhole) {
  Hold();
  const auto records = Begin(Key("strict"));
  WatchSession session(Run());
  const fs::path grants = PartialFolder(Run(), Key("strict")) / "grants.csv";
  std::ofstream file(grants, std::ios::app);
  file << "3.000000,7,granted,\"0\",0" << std::flush;
  EXPECT_THAT(Text(&session), AllOf(HasSubstr("2 (0-1)"), Not(HasSubstr("note"))));
  file << ",1,1.000,1.000\n" << std::flush;
  EXPECT_THAT(Text(&session), AllOf(HasSubstr("1 (0)"), Not(HasSubstr("note"))));
}

TEST_F(WatchTest, CompressedRecordsAreSeenOnceTheCellIsOver) {
  Hold();
  WatchSession session(Run());
  RecordsConfig config;
  config.gzip = true;
  const auto records = Begin(Key("strict"), config);
  EXPECT_THAT(Text(&session),
              AllOf(HasSubstr("records are compressed"), Not(HasSubstr("2 (0-1)"))));
  End(records.get());
  Text(&session);
  session.Press(WatchKey::kEarlier);
  EXPECT_THAT(Text(&session),
              AllOf(HasSubstr("2 (0-1)"), Not(HasSubstr("records are compressed"))));
}

TEST_F(WatchTest, OverAFinishedRunKeysMoveTimeAndCells) {
  WholeCell(Key("strict"));
  WholeCell(Key("equal-share"), "failed");
  SetStatus("done");
  WatchSession session(Run());
  const auto press = [&](WatchKey key) {
    session.Press(key);
    return Text(&session);
  };
  EXPECT_THAT(Text(&session),
              AllOf(HasSubstr("1: strict"), HasSubstr("5.00 s of 10.0 s, looking back"),
                    HasSubstr("the run is over: done")));
  EXPECT_THAT(press(WatchKey::kEarlier), HasSubstr("4.90 s of"));
  EXPECT_THAT(press(WatchKey::kMuchEarlier), HasSubstr("3.90 s of"));
  EXPECT_THAT(press(WatchKey::kBegin), AllOf(HasSubstr("0.00 s of"), HasSubstr("no job is here")));
  EXPECT_THAT(press(WatchKey::kEarlier), HasSubstr("0.00 s of"));
  EXPECT_THAT(press(WatchKey::kMuchLater), AllOf(HasSubstr("1.00 s of"), HasSubstr("waits")));
  EXPECT_THAT(press(WatchKey::kNextCell), AllOf(HasSubstr("2: equal-share"), HasSubstr("1.00 s of"),
                                                HasSubstr("failed: the policy broke")));
  EXPECT_THAT(press(WatchKey::kNextCell), HasSubstr("2: equal-share"));  // The third has not begun.
  EXPECT_THAT(press(WatchKey::kPreviousCell), HasSubstr("1: strict"));
  EXPECT_THAT(press(WatchKey::kEnd), AllOf(HasSubstr("10.0 s of"), HasSubstr("1 ended")));
  EXPECT_THAT(press(WatchKey::kHelp), HasSubstr("A cell is one policy"));
  EXPECT_THAT(press(WatchKey::kHelp), HasSubstr("10.0 s of"));
  session.Press(WatchKey::kQuit);
  EXPECT_TRUE(session.Over());
}

TEST_F(WatchTest, PlayingGoesOnToTheEndAndCanBePaused) {
  WholeCell(Key("strict"));
  SetStatus("done");
  WatchSession session(Run());
  session.Refresh(now_);
  session.Press(WatchKey::kBegin);
  session.Press(WatchKey::kPlay);
  EXPECT_LT(session.Pause(), milliseconds(500));
  const auto after = [&](int more) {
    now_ += milliseconds(more);
    session.Refresh(now_);
    return FrameText(session.Draw(80, 24));
  };
  EXPECT_THAT(after(4000), HasSubstr("2.00 s of 10.0 s, playing at 0.5x"));
  session.Press(WatchKey::kPlay);
  EXPECT_THAT(after(4000), HasSubstr("2.00 s of 10.0 s, looking back"));
  session.Press(WatchKey::kPlay);
  EXPECT_THAT(after(60000), HasSubstr("10.0 s of 10.0 s, its end"));
}

TEST_F(WatchTest, OneMayLookBackWhileTheCellRunsAndReturnToNow) {
  Hold();
  const auto records = Begin(Key("strict"));
  records->OnGrant(Second(8), {7}, Place::Whole({1}, {1, 1}));
  WatchSession session(Run());
  EXPECT_THAT(Text(&session), AllOf(HasSubstr("8.00 s of 8.00 s, now"), HasSubstr("1 (1)")));
  session.Press(WatchKey::kMuchEarlier);
  EXPECT_THAT(Text(&session),
              AllOf(HasSubstr("7.00 s of 8.00 s, looking back"), HasSubstr("2 (0-1)")));
  session.Press(WatchKey::kEnd);
  EXPECT_THAT(Text(&session), HasSubstr("8.00 s of 8.00 s, now"));
  session.Press(WatchKey::kMuchEarlier);
  session.Press(WatchKey::kMuchLater);  // Follows again, too.
  End(records.get());
  const auto next = Begin(Key("equal-share"));
  EXPECT_THAT(Text(&session), HasSubstr("2: equal-share, malleable, trial 1, runs"));
}

// Space keeps the picture of now.
TEST_F(WatchTest, NowCanBeHeld) {
  Hold();
  const auto records = Begin(Key("strict"));
  WatchSession session(Run());
  session.Press(WatchKey::kPlay);
  records->OnGrant(Second(8), {7}, Place::Whole({1}, {1, 1}));
  EXPECT_THAT(Text(&session), HasSubstr("2.00 s of 8.00 s, looking back"));
}

TEST_F(WatchTest, QueuesAreSeenWhileRequestsWait) {
  Hold();
  const auto records = Begin(Key("strict"));
  records->OnQueue(Second(3), "web", 70, 2);
  WatchSession session(Run());
  EXPECT_THAT(Text(&session), HasSubstr("       web                    70          2"));
}

TEST_F(WatchTest, WhatOnlyARunningCellHasGoesAwayWithIt) {
  const auto records = Begin(Key("strict"));
  EXPECT_TRUE(fs::exists(PartialFolder(Run(), Key("strict")) / SubmittedRow::kFile));
  End(records.get());
  EXPECT_TRUE(fs::exists(CellFolder(Run(), Key("strict")) / GrantRow::kFile));
  EXPECT_FALSE(fs::exists(CellFolder(Run(), Key("strict")) / SubmittedRow::kFile));
  EXPECT_FALSE(fs::exists(CellFolder(Run(), Key("strict")) / QueueRow::kFile));
}

TEST_F(WatchTest, ACellOrTimeThatIsNotThereIsRefused) {
  WholeCell(Key("strict"));
  SetStatus("done");
  WatchSession session(Run());
  EXPECT_THROW(session.ChooseCell(0), InputError);
  EXPECT_THROW(session.ChooseCell(2), InputError);
  EXPECT_THROW(session.ChooseTime(10.5), InputError);
  session.ChooseTime(3);
  EXPECT_THAT(Text(&session), HasSubstr("3.00 s of 10.0 s"));
}

TEST_F(WatchTest, TheNewestRunIsWatchedAndOneThatGoesOnBeforeAll) {
  const fs::path results = folder_.path() / "results";
  const fs::path newer = results / "y" / "20261128T130000Z-0001";
  WriteText(newer / "manifest.json", "{}");
  EXPECT_EQ(WatchedRun("", results), newer);
  EXPECT_EQ(WatchedRun("x", results), Run());
  EXPECT_EQ(WatchedRun((results / "x").string(), "elsewhere"), Run());
  EXPECT_EQ(WatchedRun(Run().string(), "elsewhere"), Run());
  Hold();
  EXPECT_EQ(WatchedRun("", results), Run());
  EXPECT_THROW(WatchedRun("z", results), InputError);
  EXPECT_THROW(WatchedRun("", folder_.path() / "none"), InputError);
}

}  // namespace
}  // namespace cosched
