// [sweep] and [quick]: which points a file makes, what each runs, in which order, and that wrong
// input is blamed on its own line. The folders of a sweep, as a run makes and resumes them.

#include "experiments/config/sweep.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.h"
#include "experiments/launch/run_folder.h"
#include "experiments/records/manifest_file.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kBase = R"(name = "s"
trials = 2
policies = ["strict", "no-control"]
[[workload]]
name = "net"
model = "lenet5"
)";

class SweepTest : public testing::Test {
 protected:
  Sweep Load(const std::string& more, bool quick = false,
             const std::vector<std::string>& overrides = {}) {
    WriteText(file_, kBase + more);
    return LoadSweep(file_, overrides, quick, topology_);
  }

  InputErrorDetails Refused(const std::string& more, bool quick = false) {
    try {
      Load(more, quick);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << "accepted:\n" << more;
    return {};
  }

  static std::vector<std::string> Names(const Sweep& sweep) {
    std::vector<std::string> names;
    for (const SweepPoint& point : sweep.points) names.push_back(point.name);
    return names;
  }

  RunContext Context() {
    return {.topology = topology_, .command_line = "cosched run s", .scheduling = "none"};
  }

  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "s.toml";
  const Topology topology_ = Topology::Synthetic("pack:1 [numa] l3:1 core:4 pu:1");
};

TEST_F(SweepTest, AFileWithoutASweepIsOnePointOfItsOwnPlan) {
  const Sweep sweep = Load("");
  ASSERT_EQ(sweep.points.size(), 1U);
  EXPECT_FALSE(sweep.IsSwept());
  EXPECT_EQ(PointFolder("run", sweep.points[0]), "run");
  ASSERT_EQ(sweep.cells.size(), 4U);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(sweep.cells[i].key, sweep.points[0].plan.cells[i]);
}

TEST_F(SweepTest, EveryCombinationIsAPointWithItsOwnConfig) {
  const Sweep sweep = Load("[sweep]\nworkload.net.threads = [1, 8]\nmachine.cores = [1, 2]\n");
  EXPECT_THAT(Names(sweep), ElementsAre("cores=1,threads=1", "cores=1,threads=8",
                                        "cores=2,threads=1", "cores=2,threads=8"));
  const SweepPoint& last = sweep.points[3];
  EXPECT_EQ(last.config.cores.Count(), 2);
  EXPECT_EQ(last.config.workloads[0].threads, 8);
  EXPECT_EQ(sweep.points[0].config.workloads[0].threads, 1);
  EXPECT_THAT(last.values,
              ElementsAre(std::pair("machine.cores", "2"), std::pair("workload.net.threads", "8")));
  EXPECT_EQ(PointFolder("run", last), "run/cores=2,threads=8");
  EXPECT_EQ(Load("[sweep]\nworkload.net.threads = [1, 8]\nmachine.cores = [1, 2]\n", false,
                 {"sweep.machine.cores=[3]", "trials=1"})
                .cells.size(),
            4U);
}

TEST_F(SweepTest, TrialsOfAllPointsAreInterleavedTrialByTrial) {
  const std::string text = "[sweep]\nworkload.net.threads = [1, 2, 3, 4, 5, 6, 7, 8]\n";
  const Sweep sweep = Load(text);
  ASSERT_EQ(sweep.cells.size(), 32U);
  std::set<std::pair<size_t, CellKey>> seen;
  std::vector<size_t> first, second;
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(sweep.cells[i].key.trial, i < 16 ? 1 : 2);
    seen.emplace(sweep.cells[i].point, sweep.cells[i].key);
    (i < 16 ? first : second).push_back(sweep.cells[i].point);
  }
  EXPECT_EQ(seen.size(), 32U);
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  const Sweep again = Load(text);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(again.cells[i].key, sweep.cells[i].key);
}

TEST_F(SweepTest, ATableSetsSeveralKeysAtOnce) {
  const Sweep sweep = Load(
      "[sweep]\ncase = [{ trace.jobs = 1, workload.net.steps = 7 }, { trace.jobs = 9, trials = 1 "
      "}]\n");
  ASSERT_EQ(sweep.points.size(), 2U);
  EXPECT_THAT(Names(sweep), ElementsAre("case=1+7", "case=9+1"));
  EXPECT_EQ(sweep.points[0].config.trace.jobs, 1);
  EXPECT_EQ(sweep.points[0].config.workloads[0].spec.steps, 7);
  EXPECT_EQ(sweep.points[1].config.trials, 1);
  EXPECT_EQ(sweep.cells.size(), 6U);
}

TEST_F(SweepTest, NamesAreFoldersAndUnique) {
  const Sweep sweep = Load(
      "[sweep]\npolicy.scripted.timetable = [\"0:1 2:all\", \"0:1-2:all\", \"0:1:2 all\"]\n"
      "workload.net.cores.max = [2]\n",
      false, {"sweep.policy.scripted.timetable=['0:1 2:all','0:1  2:all']"});
  EXPECT_THAT(Names(sweep), ElementsAre("timetable=0-1-2-all,max=2", "timetable=0-1--2-all,max=2"));
  const std::string spaces(200, ' ');
  const Sweep cut = Load("[sweep]\npolicy.scripted.timetable = [\"0:1" + spaces + "\", \"0:2" +
                         spaces + "\", \"0:1" + spaces + " \"]\n");
  EXPECT_EQ(
      std::set<std::string>({cut.points[0].name, cut.points[1].name, cut.points[2].name}).size(),
      3U);
}

TEST_F(SweepTest, ALabelNamesAPoint) {
  const Sweep sweep = Load(
      "[sweep]\ncase = [{ label = \"few, short\", trace.jobs = 1, trials = 2 }, { trace.jobs = 9 "
      "}]\n");
  ASSERT_EQ(sweep.points.size(), 2U);
  EXPECT_EQ(sweep.points[0].name, "case=few--short");
  EXPECT_EQ(sweep.points[1].name, "case=9");
  EXPECT_EQ(sweep.points[0].values.size(), 2U);
  EXPECT_EQ(Refused("[sweep]\ncase = [{ label = \"x\" }]\n").key, "sweep.case.0");
}

TEST_F(SweepTest, PointsThatNeedMoreCoresThanThereAreAreLeftOut) {
  const Sweep sweep = Load("[sweep]\nmachine.cores = [2, 4, 8]\ntrace.jobs = [1, 2]\n");
  EXPECT_EQ(sweep.points.size(), 4U);
  EXPECT_THAT(sweep.left_out, ElementsAre(HasSubstr("cores=8,jobs=1: it needs more cores"),
                                          HasSubstr("cores=8,jobs=2: it needs more cores")));
  EXPECT_EQ(Load("[sweep]\nworkload.net.cores.max = [1, 5]\n").left_out.size(), 1U);
  const InputErrorDetails none = Refused("[sweep]\nmachine.cores = [8]\n");
  EXPECT_EQ(none.key, "sweep");
  EXPECT_THAT(none.problem, HasSubstr("every point is left out"));
  // Elsewhere it is a mistake.
  EXPECT_EQ(Refused("[machine]\ncores = 8\n").key, "machine.cores");
}

constexpr const char* kPrepared = R"([figure]
prepare = "x.sh"
[[workload]]
name = "reads"
mode = "pipeline"
[[trace.requests]]
count = 1
[sweep]
case = [
  { workload.1.pipeline = "increment" },
  { workload.1.pipeline = "align-sort", workload.1.reference = "inputs/g.fa", workload.1.reads = ["r.fq"] },
]
)";

TEST_F(SweepTest, PointsWhoseFilesCouldNotBePreparedAreLeftOut) {
  const Sweep sweep = Load(kPrepared);
  EXPECT_EQ(sweep.points.size(), 1U);
  ASSERT_EQ(sweep.left_out.size(), 1U);
  EXPECT_THAT(sweep.left_out[0], HasSubstr("r.fq could not be prepared"));
  std::string nobodys = kPrepared;
  nobodys.replace(0, nobodys.find("[["), "");
  EXPECT_THAT(Refused(nobodys).problem, HasSubstr("is no file"));
}

TEST_F(SweepTest, PointsWhoseProgramsCouldNotBePreparedAreLeftOut) {
  const std::string programs = R"([figure]
prepare = "x.sh"
[[workload]]
name = "theirs"
command = ["./not-there"]
weight = 0
[sweep]
case = [ { workload.1.weight = 0 }, { workload.1.weight = 1 } ]
)";
  const Sweep sweep = Load(programs);
  EXPECT_EQ(sweep.points.size(), 1U);
  ASSERT_EQ(sweep.left_out.size(), 1U);
  EXPECT_THAT(sweep.left_out[0], HasSubstr("not-there could not be prepared"));
}

TEST_F(SweepTest, ProgramsAreThoseOfAllPointsThatHaveTheirFiles) {
  WriteText(file_, std::string(kBase) + kPrepared);
  std::vector<std::string> programs;
  for (const WorkloadConfig& workload : SweptWorkloads(file_))
    programs.push_back(ProgramName(workload.spec));
  EXPECT_THAT(programs, ElementsAre("lenet5 train batch 32",
                                    "increment pipeline, 3 stages of 0 ms, 8 items"));
  WriteText(file_, std::string(kBase) + "[sweep]\nworkload.net.batch = [1, 2]\n");
  EXPECT_EQ(SweptWorkloads(file_).size(), 2U);
  WriteText(file_,
            std::string(kBase) +
                "[sweep]\nworkload.net.batch = [1, 2]\n[quick]\nsweep.workload.net.batch = [4]\n");
  ASSERT_EQ(SweptWorkloads(file_, true).size(), 1U);
  EXPECT_EQ(SweptWorkloads(file_, true)[0].spec.batch, 4);
  WriteText(file_, kBase);
  EXPECT_EQ(SweptWorkloads(file_).size(), 1U);
}

TEST_F(SweepTest, QuickSetsItsValuesAndTheCommandLineComesLast) {
  const std::string text =
      "[sweep]\nworkload.net.threads = [1, 2, 4]\n"
      "[quick]\ntrials = 1\nworkload.net.steps = 3\nsweep.workload.net.threads = [1, 4]\n";
  EXPECT_EQ(Load(text).cells.size(), 12U);
  const Sweep quick = Load(text, true, {"workload.net.steps=5"});
  EXPECT_THAT(Names(quick), ElementsAre("threads=1", "threads=4"));
  EXPECT_EQ(quick.points[0].config.trials, 1);
  EXPECT_EQ(quick.points[0].config.workloads[0].spec.steps, 5);
  EXPECT_EQ(Refused("", true).key, "quick");
}

TEST_F(SweepTest, WrongValuesAreBlamedOnTheirLine) {
  const InputErrorDetails value = Refused("[sweep]\nworkload.net.threads = [1,\n0]\n");
  EXPECT_EQ(value.file, file_.string());
  EXPECT_EQ(value.line, 9);
  EXPECT_EQ(value.key, "sweep.workload.net.threads.1");
  EXPECT_THAT(value.allowed, HasSubstr("from 1"));
  EXPECT_EQ(Refused("[sweep]\nworkload.net.threads = 2\n").key, "sweep.workload.net.threads");
  EXPECT_EQ(Refused("[sweep]\nworkload.net.threads = []\n").key, "sweep.workload.net.threads");
  EXPECT_EQ(Refused("[sweep]\ncase = [{}]\n").key, "sweep.case.0");
  EXPECT_EQ(Refused("[sweep]\ncolor = [1]\n").key, "sweep.color.0");
  EXPECT_EQ(Refused("[sweep]\n\"machine.cores\" = [1]\n").key, "sweep");
  EXPECT_THAT(Refused("[sweep]\n\"machine.cores\" = [1]\n").allowed, HasSubstr("without quotes"));
  EXPECT_THAT(Refused("[sweep]\n\"\" = [1]\n").problem, HasSubstr("the quoted key \"\""));
  EXPECT_THAT(Refused("[sweep]\nx = [{ \"\" = 1 }]\n").problem, HasSubstr("the quoted key \"\""));
}

TEST_F(SweepTest, EachPointIsARunOfItsOwnBelowTheSweeps) {
  const std::filesystem::path results = folder_.path() / "results";
  const std::string text = "[sweep]\nworkload.net.threads = [1, 2]\nmachine.cores = [1, 16]\n";
  // Fixed: what another program measures meanwhile would be other conditions.
  const auto load = [this](const std::string& more, std::vector<std::string> overrides = {}) {
    overrides.emplace_back("machine.kernel_rates=fixed");
    return Load(more, false, overrides);
  };
  const Sweep sweep = load(text);
  std::filesystem::path path;
  {
    const RunFolder run = RunFolder::Create(results, sweep, Context());
    path = run.path();
  }
  const auto manifest = [](const std::filesystem::path& at) {
    return nlohmann::json::parse(ReadText(at / "manifest.json"));
  };
  EXPECT_EQ(manifest(path)["points"][1]["values"]["workload.net.threads"], "2");
  EXPECT_EQ(manifest(path)["left_out"].size(), 2U);
  EXPECT_EQ(manifest(path)["cells"], 8);
  EXPECT_THAT(PointFolders(path),
              ElementsAre(path / "cores=1,threads=1", path / "cores=1,threads=2"));
  for (const std::filesystem::path& point : PointFolders(path)) {
    EXPECT_EQ(manifest(point)["status"], "running");
    EXPECT_EQ(manifest(point)["policies"].size(), 2U);
    EXPECT_EQ(PointFolders(point), std::vector{point});
  }
  EXPECT_EQ(manifest(path / "cores=1,threads=2")["experiment"]["workload"][0]["threads"], 2);
  std::vector<std::string> order;  // Order of the second point's cells.
  for (const SweepCell& cell : sweep.cells) {
    if (cell.point == 1) order.push_back(ToString(cell.key));
  }
  EXPECT_EQ(manifest(path / "cores=1,threads=2")["order"], order);

  EXPECT_THROW(RunFolder::Resume(results, load(text, {"seed=2"}), Context()), InputError);
  EXPECT_THROW(RunFolder::Resume(results, load(""), Context()), InputError);
  RunFolder resumed = RunFolder::Resume(results, load(text), Context());
  EXPECT_EQ(resumed.path(), path);
  resumed.Finish("done");
  EXPECT_EQ(manifest(path)["status"], "done");
  EXPECT_EQ(manifest(path / "cores=1,threads=2")["status"], "done");
}

}  // namespace
}  // namespace cosched
