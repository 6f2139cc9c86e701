#include "workloads/profile.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/error.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

Profile Example() {
  Profile profile;
  profile.source = "calibrate";
  profile.host = "here";
  profile.version = "1";
  profile.date = "2026-11-21T00:00:00Z";
  profile.cores = 2;
  profile.threads_per_core = 2;
  ProgramProfile program;
  program.program = "lenet5 train batch 64";
  program.alone = {{1, {1, 1}, {0.25, 0.24, 0.26, 9}}, {2, {1, 2}, {0.125, 0.1, 0.2, 7}}};
  program.law = {ScalingLaw::Kind::kUniversalScalability, {0.1, 0.001}, 0.02};
  program.start_s = {0.3, 0.2, 0.4, 5};
  program.pressure = 0.05;
  program.sensitivity = 0.5;
  program.warm_up = {1.5, 1.25, 2, 7};
  program.weight = 0.25;
  program.crowding = {{2, 3, {1.75, 1.5, 2, 6}}};
  program.sibling = {1.625, 1.5, 1.75, 8};
  program.far_memory = {1.25, 1.125, 1.5, 7};
  program.memory_bytes = {3e8, 2.5e8, 3.5e8, 6};
  profile.programs = {program};
  profile.co_runs = {{{{"lenet5 train batch 64", 3, 1, {1.1, 1.0, 1.2, 3}}}, false, 2}};
  profile.resize.grow = {1e-5, 2e-5, 9e-5};
  profile.move_bytes_s = {4e9, 3e9, 5e9, 9};
  profile.decision = {1e-6};
  profile.notes = {"measured beside a browser"};
  return profile;
}

std::string Text(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(Profile, ComesBackAsItWasSaved) {
  const TemporaryFolder folder;
  SaveProfile(Example(), folder.path() / "a.json");
  const Profile read = LoadProfile(folder.path() / "a.json");
  SaveProfile(read, folder.path() / "b.json");
  EXPECT_EQ(Text(folder.path() / "a.json"), Text(folder.path() / "b.json"));
  ASSERT_NE(read.Find("lenet5 train batch 64"), nullptr);
  EXPECT_EQ(read.Find("lenet5 train batch 64")->alone[1].step_s.value, 0.125);
  EXPECT_EQ(read.Find("lenet5"), nullptr);
  EXPECT_EQ(read.programs[0].law.error, 0.02);
  EXPECT_EQ(read.co_runs[0].tenants[0].count, 3);
  EXPECT_EQ(read.co_runs[0].shared_cores, 2);
  EXPECT_EQ(read.programs[0].warm_up.value, 1.5);
  EXPECT_EQ(read.programs[0].weight, 0.25);
  ASSERT_EQ(read.programs[0].crowding.size(), 1U);
  EXPECT_EQ(read.programs[0].crowding[0].threads, 2);
  EXPECT_EQ(read.programs[0].crowding[0].others, 3);
  EXPECT_EQ(read.programs[0].crowding[0].loss.high, 2);
  EXPECT_EQ(read.programs[0].sibling.value, 1.625);
  EXPECT_EQ(read.programs[0].far_memory.value, 1.25);
  EXPECT_EQ(read.programs[0].memory_bytes.low, 2.5e8);
  EXPECT_EQ(read.move_bytes_s.value, 4e9);
  EXPECT_TRUE(read.KnowsFarMemory());
  EXPECT_EQ(read.threads_per_core, 2);
  EXPECT_EQ(read.notes, Example().notes);
  Profile unknown = Example();
  unknown.programs[0].law.error = std::nullopt;
  SaveProfile(unknown, folder.path() / "c.json");
  EXPECT_FALSE(LoadProfile(folder.path() / "c.json").programs[0].law.error.has_value());
}

TEST(Profile, StagesOfAPipelineComeBackAsTheyWereSaved) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "p.json";
  Profile profile = Example();
  profile.programs[0].stages = {{"read",
                                 {.per_call_s = 0.5,
                                  .per_item_s = 0.25,
                                  .store_bytes_per_item = 64,
                                  .law = {ScalingLaw::Kind::kAmdahl, {0.5}, 0.01},
                                  .noise = 0.125,
                                  .emits_per_call = 3,
                                  .emits_per_item = 0.5,
                                  .item_bytes = 7,
                                  .kept_bytes = 0.75,
                                  .piece_s = 0.002}},
                                {"align", {.distribution = StageCost::Distribution::kExponential}}};
  SaveProfile(profile, file);
  const std::vector<StageProfile> read = LoadProfile(file).programs[0].stages;
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].stage, "read");
  const StageCost& cost = read[0].cost;
  EXPECT_EQ(cost.per_call_s, 0.5);
  EXPECT_EQ(cost.per_item_s, 0.25);
  EXPECT_EQ(cost.store_bytes_per_item, 64);
  EXPECT_EQ(cost.law.parameters, std::vector{0.5});
  EXPECT_EQ(cost.distribution, StageCost::Distribution::kLogNormal);
  EXPECT_EQ(cost.noise, 0.125);
  EXPECT_EQ(cost.emits_per_call, 3);
  EXPECT_EQ(cost.emits_per_item, 0.5);
  EXPECT_EQ(cost.item_bytes, 7);
  EXPECT_EQ(cost.kept_bytes, 0.75);
  EXPECT_EQ(cost.piece_s, 0.002);
  EXPECT_EQ(read[1].cost.distribution, StageCost::Distribution::kExponential);
  std::string text = Text(file);
  text.replace(text.find("exponential"), 11, "Exponential");
  std::ofstream(file) << text;
  try {
    LoadProfile(file);
    FAIL() << "a distribution that there is not";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("programs.0.stages.1.distribution"), std::string::npos)
        << error.what();
  }
}

// A file from before crowding was measured lacks its keys.
TEST(Profile, OlderFilesAreRead) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "p.json";
  SaveProfile(Example(), file);
  nlohmann::json value = nlohmann::json::parse(Text(file));
  for (const char* key : {"warm_up", "weight", "crowding"}) value["programs"][0].erase(key);
  value["co_runs"][0].erase("shared_cores");
  std::ofstream(file) << value;
  const Profile read = LoadProfile(file);
  EXPECT_TRUE(read.programs[0].crowding.empty());
  EXPECT_EQ(read.programs[0].weight, 1);
  EXPECT_EQ(read.programs[0].warm_up.value, 0);
  EXPECT_EQ(read.co_runs[0].shared_cores, 0);
}

// Each spoils the example's text in one place and names what the message must hold.
TEST(Profile, WrongFilesAreRefusedWithTheirPlace) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "p.json";
  const struct {
    std::string was, is, expected;
  } cases[] = {
      {"\"format\": 1", "\"format\": 2", "format: is 2; allowed: a whole number, 1 to 1"},
      {"\"inter\": 1", "\"inter\": 0", "programs.0.alone.0.inter: is 0"},
      {"\"intra\": 1,", "\"intra\": 3,", "programs.0.alone: has no point of 1 core and 1 thread"},
      {"\"usl\"", "\"gustafson\"", "programs.0.law.kind: is \"gustafson\"; allowed: amdahl"},
      {"\"usl\"", "\"amdahl\"", "programs.0.law.parameters: has 2 of them; allowed: 1 for amdahl"},
      {"9e-05", "1e-07", "resize.grow.2: is below the one before it"},
      {"\"pressure\": 0.05", "\"pressure\": \"much\"", "programs.0.pressure: is \"much\""},
      {"\"decision\"", "\"decisions\"", "decision: is missing"},
      {"\"others\": 3.0", "\"others\": 0", "programs.0.crowding.0.others: is 0"},
      {"\"weight\": 0.25", "\"weight\": -1", "programs.0.weight: is -1"},
      {"{", "{{", "is no JSON"},
  };
  for (const auto& one : cases) {
    SaveProfile(Example(), file);
    std::string text = Text(file);
    const size_t at = text.find(one.was);
    ASSERT_NE(at, std::string::npos) << one.was;
    text.replace(at, one.was.size(), one.is);
    std::ofstream(file) << text;
    try {
      LoadProfile(file);
      ADD_FAILURE() << "accepted: " << one.is;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(one.expected), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(LoadProfile(folder.path() / "nothing.json"), InputError);
}

TEST(Profile, WhereItCannotBeWrittenIsSaid) {
  EXPECT_THROW(SaveProfile(Example(), "/nowhere/at/all.json"), OutputError);
}

TEST(ScalingLaw, ClosedForms) {
  using Kind = ScalingLaw::Kind;
  const ScalingLaw amdahl{Kind::kAmdahl, {0.1}, 0};
  EXPECT_DOUBLE_EQ(amdahl.SpeedUp(1), 1);
  EXPECT_DOUBLE_EQ(amdahl.SpeedUp(10), 1 / (0.1 + 0.9 / 10));
  const ScalingLaw usl{Kind::kUniversalScalability, {0.05, 0.01}, 0};
  EXPECT_DOUBLE_EQ(usl.SpeedUp(1), 1);
  EXPECT_DOUBLE_EQ(usl.SpeedUp(4), 4 / (1 + 0.05 * 3 + 0.01 * 12));
  // Without variance in parallelism a program is as fast as its cores, up to its parallelism.
  const ScalingLaw even{Kind::kDowney, {8, 0}, 0};
  EXPECT_DOUBLE_EQ(even.SpeedUp(4), 4);
  EXPECT_DOUBLE_EQ(even.SpeedUp(100), 8);
  for (double sigma : {0.0, 0.5, 1.0, 2.0}) {
    const ScalingLaw downey{Kind::kDowney, {8, sigma}, 0};
    EXPECT_DOUBLE_EQ(downey.SpeedUp(1), 1) << sigma;
    double last = 0;
    for (double k = 1; k < 40; k += 0.25) {
      EXPECT_GE(downey.SpeedUp(k) + 1e-9, last) << sigma << " " << k;
      EXPECT_LE(downey.SpeedUp(k), 8 + 1e-9);
      last = downey.SpeedUp(k);
    }
  }
}

}  // namespace
}  // namespace cosched
