// Runs that are taken up again: cells of another binary, machine or file content are not mixed in
// silence, and the manifest says what was accepted, what ran anew and in which order.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "experiments/launch/run_folder.h"
#include "experiments/records/content_hash.h"
#include "experiments/records/output_file.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ResumeTest : public testing::Test {
 protected:
  ResumeTest() {
    ProgramProfile program;
    program.program = "lenet5 train batch 32";
    program.alone = {{1, {1, 1}, {0.4, 0.4, 0.4, 3}}};
    profile_.programs = {program};
    SaveProfile(profile_, folder_.path() / "p.json");
  }

  Sweep Load(const std::vector<std::string>& overrides = {}) {
    WriteText(folder_.path() / "r.toml", R"(name = "r"
trials = 2
policies = ["strict", "equal-share"]
machine.profile = "p.json"
machine.kernel_rates = "fixed"
trace.jobs = 2
[[workload]]
model = "lenet5"
)");
    return LoadSweep(folder_.path() / "r.toml", overrides, false, topology_);
  }
  RunContext Context() const {
    return {.topology = topology_, .command_line = "cosched run r", .scheduling = "none"};
  }

  std::filesystem::path NewRun(const Sweep& sweep, const std::string& status = "") {
    RunFolder run = RunFolder::Create(results_, sweep, Context());
    if (!status.empty()) run.Finish(status);
    return run.path();
  }
  static json Manifest(const std::filesystem::path& run) {
    return json::parse(ReadText(run / "manifest.json"));
  }
  static void Edit(const std::filesystem::path& run, const std::function<void(json*)>& change) {
    json manifest = Manifest(run);
    change(&manifest);
    WriteText(run / "manifest.json", manifest.dump());
  }
  // Why --resume takes no run.
  std::string Refusal(const Sweep& sweep) {
    try {
      RunFolder::Resume(results_, sweep, Context());
    } catch (const InputError& error) {
      EXPECT_EQ(error.details().key, "--resume");
      return error.details().problem + "; allowed: " + error.details().allowed;
    }
    ADD_FAILURE() << "taken";
    return {};
  }
  // What --resume=anyway records.
  std::vector<std::string> Accepted(const Sweep& sweep) {
    const RunFolder run = RunFolder::Resume(results_, sweep, Context(), OnDifference::kRecord);
    return Manifest(run.path())["resumed"].back()["differences"];
  }

  const TemporaryFolder folder_;
  const std::filesystem::path results_ = folder_.path() / "results";
  const Topology topology_ = Topology::Synthetic("pack:1 [numa] l3:1 core:4 pu:1");
  Profile profile_;
};

TEST_F(ResumeTest, TheSameConditionsAreNoDifference) {
  const std::filesystem::path path = NewRun(Load());
  const RunFolder run = RunFolder::Resume(results_, Load(), Context());
  EXPECT_EQ(run.path(), path);
  EXPECT_THAT(Manifest(path)["resumed"][0]["differences"], IsEmpty());
}

// `cosched watch` and `runs list` look whether somebody runs it; that is no run. (The sleep is how
// long one looks: with any length of it the run is taken.)
TEST_F(ResumeTest, WhoLooksWhetherItRunsIsNotInTheWay) {
  const std::filesystem::path path = NewRun(Load());
  UniqueFd looks(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(looks.get(), LOCK_SH), 0);
  EXPECT_FALSE(IsRunning(path));
  const std::jthread looking([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    looks.Reset();
  });
  const RunFolder run = RunFolder::Resume(results_, Load(), Context());
  EXPECT_EQ(run.path(), path);
  EXPECT_TRUE(IsRunning(path));
  EXPECT_THAT(Refusal(Load()), HasSubstr("no unfinished run"));
}

TEST_F(ResumeTest, AnotherBinaryOrMachineIsRefusedAndEachDifferenceNamed) {
  const std::filesystem::path path = NewRun(Load());
  Edit(path, [](json* manifest) {
    (*manifest)["build"]["git_commit"] = "0123456789abcdef-dirty";
    (*manifest)["build"]["build_type"] = "Mine";
    (*manifest)["host"]["name"] = "elsewhere";
    (*manifest)["host"]["kernel"] = "Linux 1.0";
    (*manifest)["host"]["cpu"] = "Z80";
    (*manifest)["host"]["scheduling"] = "SCHED_FIFO 10";
    (*manifest)["experiment"]["machine"]["actuator"] = "cpuset";
    (*manifest)["experiment"]["machine"]["kernel_rates"] = "window=1";
  });
  const std::string refusal = Refusal(Load());
  for (const char* difference :
       {"cosched: commit 0123456789-dirty -> ", "build type: Mine -> ", "host: elsewhere -> ",
        "kernel: Linux 1.0 -> ", "CPU: Z80 -> ", "scheduling: SCHED_FIFO 10 -> none",
        "actuator: cpuset -> affinity", "kernel rates: window=1 -> window=", "--resume=anyway",
        "MIXED"}) {
    EXPECT_THAT(refusal, HasSubstr(difference));
  }
  EXPECT_THAT(Manifest(path)["resumed"], IsEmpty()) << "nothing was changed";
  EXPECT_EQ(Accepted(Load()).size(), 8U);
  EXPECT_THAT(Accepted(Load()), testing::Contains("actuator: cpuset -> affinity"));
}

TEST_F(ResumeTest, ARebuiltBinaryOfTheSameCommitIsAnother) {
  const std::filesystem::path path = NewRun(Load());
  Edit(path, [](json* manifest) { (*manifest)["build"]["binary"] = "0"; });
  EXPECT_THAT(Refusal(Load()), HasSubstr("another binary of the same commit"));
}

TEST_F(ResumeTest, FilesAreKnownByTheirContent) {
  const std::filesystem::path path = NewRun(Load());
  profile_.notes = {"measured again"};
  SaveProfile(profile_, folder_.path() / "p.json");
  EXPECT_THAT(Refusal(Load()), HasSubstr("p.json: its content has changed"));
  EXPECT_THAT(Accepted(Load()), ElementsAre(HasSubstr("p.json: its content has changed")));
}

TEST_F(ResumeTest, TheLibraryOfAPolicyIsAFileToo) {
  std::filesystem::copy_file(InBuild(COSCHED_LIBRARY_EXAMPLE), folder_.path() / "mine.so");
  const std::vector<std::string> mine = {"policy.mine.library=mine.so", "policies=[\"mine\"]"};
  const std::filesystem::path path = NewRun(Load(mine));
  const std::string library = folder_.path() / "mine.so";
  ASSERT_TRUE(Manifest(path)["files"].contains(library)) << Manifest(path)["files"];
  Edit(path, [&](json* manifest) { (*manifest)["files"][library] = "0"; });
  EXPECT_THAT(Refusal(Load(mine)), HasSubstr("mine.so: its content has changed"));
}

TEST_F(ResumeTest, HostAndSchedulingAreNothingToSimulatedCells) {
  const std::vector<std::string> simulated = {"backend=simulated"};
  const std::filesystem::path path = NewRun(Load(simulated));
  Edit(path, [](json* manifest) {
    (*manifest)["host"]["name"] = "elsewhere";
    (*manifest)["host"]["scheduling"] = "SCHED_FIFO 10";
  });
  EXPECT_EQ(RunFolder::Resume(results_, Load(simulated), Context()).path(), path);
  Edit(path, [](json* manifest) { (*manifest)["build"]["compiler"] = "cc"; });
  EXPECT_THAT(Refusal(Load(simulated)), HasSubstr("compiler: cc -> "));
}

TEST_F(ResumeTest, ARunOfTheVeryConditionsIsPreferred) {
  const std::filesystem::path same = NewRun(Load());
  const std::filesystem::path other = NewRun(Load());
  Edit(other, [](json* manifest) { (*manifest)["host"]["name"] = "elsewhere"; });
  EXPECT_EQ(RunFolder::Resume(results_, Load(), Context()).path(), same);
}

TEST_F(ResumeTest, AnotherExperimentIsToldByItsFirstDifferences) {
  NewRun(Load());
  EXPECT_THAT(Refusal(Load({"trials=3", "workload.lenet5.split=auto"})),
              testing::AllOf(HasSubstr("no unfinished run"), HasSubstr("trials 2 there, 3 here"),
                             HasSubstr("split \"policy\" there, \"auto\" here")));
}

TEST_F(ResumeTest, TheManifestKeepsOrderAndDoubts) {
  const Sweep sweep = Load({"backend=simulated"});
  const json manifest = Manifest(NewRun(sweep));
  std::vector<std::string> order;
  for (const SweepCell& cell : sweep.cells) order.push_back(ToString(cell.key));
  EXPECT_EQ(manifest["order"], order);
  EXPECT_THAT(manifest["profile_doubts"].dump(), HasSubstr("not measured"));
}

TEST_F(ResumeTest, CellsThatRanAnewAreRecordedAndLastInTheOrder) {
  const Sweep sweep = Load();
  EXPECT_THROW(RunFolder::Reopen(results_, sweep, Context()), InputError) << "there is none";
  const std::filesystem::path path = NewRun(sweep);
  EXPECT_THROW(RunFolder::Reopen(results_, sweep, Context()), InputError) << "it is not over";
  Edit(path, [](json* manifest) { (*manifest)["status"] = "done"; });
  {
    RunFolder run = RunFolder::Reopen(results_, sweep, Context());
    EXPECT_EQ(run.path(), path);
    run.BeginRedo(sweep, {sweep.cells[1], sweep.cells[2]}, Context());
    // What is left if it is killed now.
    EXPECT_EQ(Manifest(path)["redone"][0]["status"], "running");
    EXPECT_THAT(Manifest(path)["redone"][0]["cells"],
                ElementsAre(ToString(sweep.cells[1].key), ToString(sweep.cells[2].key)));
    run.EndRedo(sweep, {sweep.cells[1]});
    run.BeginRedo(sweep, {sweep.cells[2]}, Context());
    run.EndRedo(sweep, {});
  }
  const json manifest = Manifest(path);
  ASSERT_EQ(manifest["redone"].size(), 1u);
  EXPECT_EQ(manifest["redone"][0]["status"], "done");
  EXPECT_THAT(manifest["redone"][0]["cells"], ElementsAre(ToString(sweep.cells[1].key)));
  EXPECT_THAT(manifest["order"],
              ElementsAre(ToString(sweep.cells[0].key), ToString(sweep.cells[2].key),
                          ToString(sweep.cells[3].key), ToString(sweep.cells[1].key)));
  EXPECT_THAT(manifest["resumed"], IsEmpty());
  Edit(path, [](json* changed) { (*changed)["build"]["compiler"] = "cc"; });
  EXPECT_THROW(RunFolder::Reopen(results_, sweep, Context()), InputError);
  RunFolder::Reopen(results_, sweep, Context(), OnDifference::kRecord);
  EXPECT_THAT(Manifest(path)["resumed"][0]["differences"],
              ElementsAre(HasSubstr("compiler: cc -> ")));
}

// What a killed redo left of one point, the next redo of others must not take away.
TEST_F(ResumeTest, ARedoEndsOnlyWhatItBegan) {
  const Sweep sweep = Load();
  const std::filesystem::path path = NewRun(sweep);
  Edit(path, [](json* manifest) {
    (*manifest)["status"] = "done";
    (*manifest)["redone"] = {
        {{"time", "2026-01-01T00:00:00Z"}, {"status", "running"}, {"cells", {"strict/rigid/1"}}}};
  });
  RunFolder run = RunFolder::Reopen(results_, sweep, Context());
  run.BeginRedo(sweep, {}, Context());
  run.EndRedo(sweep, {});
  EXPECT_EQ(Manifest(path)["redone"].size(), 1u);
}

TEST_F(ResumeTest, ContentHashesSeeEveryByteAndName) {
  const std::filesystem::path file = folder_.path() / "d" / "a";
  WriteText(file, "0123456789");
  const std::string before = ContentHash(file), of_folder = ContentHash(file.parent_path());
  EXPECT_EQ(before.size(), 16U);
  WriteText(file, "0123456780");
  EXPECT_NE(ContentHash(file), before);
  EXPECT_NE(ContentHash(file.parent_path()), of_folder);
  WriteText(file, "0123456789");
  EXPECT_EQ(ContentHash(file), before);
  EXPECT_EQ(ContentHash(file.parent_path()), of_folder);
  std::filesystem::rename(file, folder_.path() / "d" / "b");
  EXPECT_NE(ContentHash(file.parent_path()), of_folder);
  EXPECT_EQ(ContentHash(folder_.path() / "none"), "unreadable");
}

TEST_F(ResumeTest, AFolderReplacesAnotherAsAWhole) {
  WriteText(folder_.path() / "new" / "x", "new");
  WriteText(folder_.path() / "old" / "y", "old");
  ReplaceFolder(folder_.path() / "new", folder_.path() / "old");
  EXPECT_EQ(ReadText(folder_.path() / "old" / "x"), "new");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "old" / "y"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "new"));
}

}  // namespace
}  // namespace cosched
