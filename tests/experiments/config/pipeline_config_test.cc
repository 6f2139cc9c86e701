// Workloads with mode = "pipeline".

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "experiments/config/experiment_config.h"
#include "experiments/config/workload_table.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

class PipelineConfigTest : public testing::Test {
 protected:
  WorkloadConfig Load(const std::string& lines) {
    std::ofstream(file_) << "name = \"tiny\"\npolicies = [\"strict\"]\n[[trace.requests]]\n"
                            "service = \"adder\"\ncount = 1\n[[workload]]\nname = \"adder\"\n"
                            "mode = \"pipeline\"\n"
                         << lines;
    return LoadConfig(file_, overrides_, topology_).workloads.front();
  }
  // What is wrong with the line that follows a sound workload.
  InputErrorDetails Refused(const std::string& line) {
    return RefusedAll("pipeline = \"increment\"\n" + line + "\n");
  }
  InputErrorDetails RefusedAll(const std::string& lines) {
    try {
      Load(lines);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << "accepted: " << lines;
    return {};
  }

  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "experiment.toml";
  std::vector<std::string> overrides_;
  const Topology topology_ = Topology::Synthetic("pack:1 [numa] l3:1 core:4 pu:1");
};

TEST_F(PipelineConfigTest, EveryKeyIsRead) {
  const WorkloadConfig workload = Load(
      "pipeline = \"increment\"\nopen = 2\nopen_max = 5\ncredit_link = \"end-to-end\"\n"
      "stages = 4\nitems = 7\nwait_ms = 1.5\nparallel = 3\nslo_ms = 20\n");
  EXPECT_TRUE(workload.spec.serves);
  EXPECT_EQ(workload.spec.model, "increment");
  const PipelineChoice& pipeline = workload.spec.pipeline;
  EXPECT_EQ(pipeline.open.open, 2);
  EXPECT_EQ(pipeline.open.open_max, 5);
  EXPECT_EQ(pipeline.open.link, CreditLink::kEndToEnd);
  EXPECT_EQ(pipeline.increment.stages, 4);
  EXPECT_EQ(pipeline.increment.items, 7);
  EXPECT_EQ(pipeline.increment.wait, std::chrono::microseconds(1500));
  EXPECT_EQ(pipeline.increment.parallel, 3);
  EXPECT_EQ(Load("pipeline = \"increment\"\nopen = 3\n").spec.pipeline.open.open_max, 3);
  EXPECT_TRUE(Load("pipeline = \"increment\"\nsplit = \"auto\"\n").spec.auto_split);
}

TEST_F(PipelineConfigTest, EachWrongLineIsNamed) {
  struct Case {
    const char* line;
    const char* key;
  };
  for (const Case& bad : std::initializer_list<Case>{
           {"open = 0", "open"},
           {"open = 3\nopen_max = 2", "open_max"},
           {"credit_link = \"none\"", "credit_link"},
           {"stages = 0", "stages"},
           {"items = -1", "items"},
           {"work_ms = -1", "work_ms"},
           {"parallel = 0", "parallel"},
           {"merge_ms = -1", "merge_ms"},
           {"merges = 0", "merges"},
           {"model = \"lenet5\"", "model"},
           {"dataset = \"mnist\"", "dataset"},
           {"batch = 2", "batch"},
           {"max_batch = 2", "max_batch"},
           {"max_delay_ms = 1", "max_delay_ms"},
           {"steps = 3", "steps"},
       }) {
    const InputErrorDetails error = Refused(bad.line);
    EXPECT_EQ(error.key, std::string("workload.adder.") + bad.key) << bad.line;
    EXPECT_GE(error.line, 6) << bad.line;
    EXPECT_FALSE(error.allowed.empty()) << bad.line;
  }
  EXPECT_EQ(RefusedAll("").key, "workload.adder.pipeline");
  EXPECT_NE(RefusedAll("pipeline = \"incremnt\"\n").problem.find("increment"), std::string::npos);
}

// Each says why it can't be, and none needs an mpirun to find out.
TEST_F(PipelineConfigTest, RanksAreRefusedWhereTheyCanNotBe) {
  struct Case {
    const char* lines;
    const char* problem;
  };
  for (const Case& bad : std::initializer_list<Case>{
           {"ranks = 0", ""},
           {"ranks = 65", ""},
           {"work_ms = 1\nranks = 5", "4 cores at most"},
           {"wait_ms = 1\nranks = 2", "can't be sent to other processes"},
           {"work_ms = 1\nranks = 2\nsplit = \"auto\"", "find its split itself"},
       }) {
    const InputErrorDetails error = Refused(bad.lines);
    EXPECT_EQ(error.key, "workload.adder.ranks") << bad.lines;
    EXPECT_NE(error.problem.find(bad.problem), std::string::npos) << error.problem;
    EXPECT_FALSE(error.allowed.empty());
  }
  overrides_ = {"elasticity=[\"rigid\"]"};
  EXPECT_NE(Refused("work_ms = 1\nranks = 2").problem.find("only a malleable"), std::string::npos);
  EXPECT_EQ(Load("pipeline = \"increment\"\nranks = 1\n").spec.pipeline.ranks, 1);
}

TEST_F(PipelineConfigTest, StagesMayWaitAndComputeByTurnsAndMergeARequest) {
  const PipelineChoice pipeline =
      Load(
          "pipeline = \"increment\"\nstages = 3\nitems = 2\nwait_ms = 2\nwork_ms = 1\n"
          "merge_ms = 5\nmerges = 4\n")
          .spec.pipeline;
  EXPECT_EQ(PipelineProgramName(pipeline),
            "increment pipeline, 3 stages of 2 ms of waiting and 1 ms, 2 items, merged in 5 ms");
  const std::vector<StageSpec> stages = PipelineSpecOf(pipeline).stages;
  ASSERT_EQ(stages.size(), 4U);
  EXPECT_TRUE(stages[0].waits && !stages[1].waits && stages[2].waits && stages[3].waits);
  EXPECT_EQ(stages[3].name, "merge");
  EXPECT_EQ(stages[3].parallel, 4);
}

std::string Manifest(const WorkloadConfig& workload) {
  return WorkloadSection().ToJson(workload).dump();
}

TEST_F(PipelineConfigTest, EveryKeyIsRecordedAndItsListedDefaultHolds) {
  const std::string increment = "pipeline = \"increment\"\n";
  const std::string usual = Manifest(Load(increment));
  for (const char* line :
       {"open = 2", "open_max = 2", "credit_link = \"end-to-end\"", "stages = 7", "items = 7",
        "work_ms = 7", "wait_ms = 7", "parallel = 7", "merge_ms = 7", "merges = 7"})
    EXPECT_NE(Manifest(Load(increment + line + "\n")), usual) << line;
  for (const char* line :
       {"open = 1", "open_max = 1", "credit_link = \"linear\"", "stages = 3", "items = 8",
        "work_ms = 0", "wait_ms = 0", "parallel = 1", "merge_ms = 0", "merges = 1", "ranks = 1"})
    EXPECT_EQ(Manifest(Load(increment + line + "\n")), usual) << line;
}

TEST_F(PipelineConfigTest, AlignSortNeedsItsFiles) {
  const std::string align_sort = "pipeline = \"align-sort\"\n";
  const auto key = [this](const std::string& lines) { return RefusedAll(lines).key; };
  std::ofstream(folder_.path() / "genome.fa") << ">g\nACGT\n";
  std::ofstream(folder_.path() / "reads.fq") << "";
  const std::string reference = "reference = \"genome.fa\"\n", reads = "reads = [\"reads.fq\"]\n";
  EXPECT_EQ(key(align_sort), "workload.adder.reference");
  EXPECT_EQ(key(align_sort + "reference = \"none.fa\"\n"), "workload.adder.reference");
  EXPECT_EQ(key(align_sort + reference), "workload.adder.reads");
  EXPECT_EQ(key(align_sort + reference + "reads = []\n"), "workload.adder.reads");
  EXPECT_EQ(key(align_sort + reference + "reads = [\"none.fq\"]\n"), "workload.adder.reads");
  EXPECT_EQ(key(align_sort + reference + reads + "stages = 2\n"), "workload.adder.stages");
  EXPECT_EQ(key("pipeline = \"increment\"\n" + reads), "workload.adder.reads");
  EXPECT_EQ(key(align_sort + reference + reads + "level = 10\n"), "workload.adder.level");
  try {
    const std::string usual = Manifest(Load(align_sort + reference + reads));
    for (const char* line : {"chunk = 7", "level = 1", "memory_mib = 7"})
      EXPECT_NE(Manifest(Load(align_sort + reference + reads + line + "\n")), usual) << line;
    for (const char* line : {"chunk = 10000", "level = 6", "memory_mib = 768"})
      EXPECT_EQ(Manifest(Load(align_sort + reference + reads + line + "\n")), usual) << line;
  } catch (const InputError& error) {  // A build without the libraries says so.
    EXPECT_EQ(error.details().key, "workload.adder.pipeline") << error.what();
  }
}

TEST_F(PipelineConfigTest, ClassifyHasANetwork) {
  const std::string classify = "pipeline = \"classify\"\n", model = "model = \"lenet5\"\n";
  std::ofstream(folder_.path() / "not_images.txt") << "";
  try {
    const WorkloadConfig workload =
        Load(classify + model + "parts = 3\nitems = 5\nbatch = 2\nopen = 2\n");
    EXPECT_EQ(workload.spec.model, "classify");
    const ClassifySettings& settings = workload.spec.pipeline.classify;
    EXPECT_EQ(settings.model, "lenet5");
    EXPECT_EQ(settings.parts, 3);
    EXPECT_EQ(settings.items, 5);
    EXPECT_EQ(settings.batch, 2);
    EXPECT_EQ(workload.spec.pipeline.open.open, 2);
  } catch (const InputError& error) {  // A build without the libraries says so.
    EXPECT_EQ(error.details().key, "workload.adder.pipeline") << error.what();
    GTEST_SKIP() << error.what();
  }
  const std::string usual = Manifest(Load(classify + model));
  for (const char* line : {"items = 7", "batch = 7", "parts = 4"})
    EXPECT_NE(Manifest(Load(classify + model + line + "\n")), usual) << line;
  EXPECT_NE(Manifest(Load(classify + "model = \"resnet20\"\n")), usual);
  for (const char* line : {"items = 8", "batch = 4", "parts = 2"})
    EXPECT_EQ(Manifest(Load(classify + model + line + "\n")), usual) << line;
  struct Case {
    std::string lines;
    const char* key;
    const char* text;
  };
  for (const Case& bad :
       std::initializer_list<Case>{{"", "model", "required"},
                                   {"model = \"lenet\"\n", "model", "lenet5"},
                                   {"model = \"chaos\"\n", "model", "chaos"},
                                   {"model = \"segmenter\"\n", "model", "tells of each pixel"},
                                   {model + "parts = 0\n", "parts", "0"},
                                   {model + "parts = 500\n", "parts", "500"},
                                   {model + "batch = 0\n", "batch", "0"},
                                   {model + "items = -1\n", "items", "-1"},
                                   {model + "images = \"none\"\n", "images", "No such file"},
                                   {model + "images = \".\"\n", "images", "has no images"},
                                   {model + "stages = 2\n", "stages", "increment"},
                                   {model + "max_batch = 2\n", "max_batch", "services"}}) {
    const InputErrorDetails error = RefusedAll(classify + bad.lines);
    EXPECT_EQ(error.key, std::string("workload.adder.") + bad.key) << bad.lines;
    EXPECT_NE((error.problem + error.allowed).find(bad.text), std::string::npos)
        << bad.lines << error.problem << "; " << error.allowed;
  }
  for (const char* line : {"parts = 2", "images = \".\"", "batch = 2"})
    EXPECT_NE(Refused(line).allowed.find("classify"), std::string::npos) << line;
}

TEST_F(PipelineConfigTest, KeysOfPipelinesAreOfPipelinesOnly) {
  std::ofstream(file_) << "name = \"tiny\"\npolicies = [\"strict\"]\n[[workload]]\n"
                          "model = \"lenet5\"\nopen = 2\n";
  try {
    LoadConfig(file_, {}, topology_);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().key, "workload.lenet5.open");
  }
}

// Programs that differ in their images only are calibrated each.
TEST_F(PipelineConfigTest, AFolderOfImagesIsCalledByItsPlace) {
  const auto program = [this](const std::string& images) {
    PipelineChoice choice{.application = "classify"};
    choice.classify.images = (folder_.path() / images).string();
    return PipelineProgramName(choice);
  };
  EXPECT_NE(program("june/photos"), program("july/photos"));
}

// Lines of all applications, in any order and number, with values that may be wrong: each file is
// read, or refused with its key and what is allowed there.
TEST_F(PipelineConfigTest, WhateverALineSaysItIsReadOrRefused) {
  const std::vector<std::string> keys = {
      "open",   "open_max", "credit_link", "stages", "items",   "work_ms",    "wait_ms", "parallel",
      "merges", "merge_ms", "reference",   "reads",  "chunk",   "memory_mib", "level",   "parts",
      "images", "batch",    "model",       "split",  "spin_us", "ranks"};
  const std::vector<std::string> values = {
      "0",           "1",       "-3",         "2.5",      "1e308",      "9223372036854775807",
      "nan",         "true",    "\"linear\"", "\"auto\"", "\"\"",       "\"/nowhere\"",
      "[]",          "[\"a\"]", "[1, 2]",     "{}",       "2026-11-25", "\"lenet5\"",
      "\"\\u0000\"", "-inf"};
  Random random(17);
  const auto any = [&](const std::vector<std::string>& of) { return of[random.Below(of.size())]; };
  int read = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string lines = "pipeline = \"" + any({"increment", "align-sort", "classify"}) + "\"\n";
    std::set<std::string> used;
    for (uint64_t line = random.Below(4); line > 0; --line) {
      const std::string key = any(keys);
      if (used.insert(key).second) lines += key + " = " + any(values) + "\n";
    }
    try {
      Load(lines);
      ++read;
    } catch (const InputError& error) {
      EXPECT_FALSE(error.details().key.empty() || error.details().allowed.empty()) << lines;
      ++refused;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace cosched
