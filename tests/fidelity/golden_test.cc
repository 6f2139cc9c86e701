// A tiny trace under each policy in virtual time: its records are those stored in tests/golden,
// byte for byte, run after run and on every machine. What has been changed on purpose is stored
// anew by
//
//   COSCHED_STORE_GOLDEN=1 build/test_fidelity --gtest_filter='Golden.*'
//
// and looked at with git diff.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "experiments/harness/harness.h"
#include "experiments/launch/run_folder.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/fidelity/simulation.h"
#include "tests/paths.h"

namespace cosched {
namespace {

const std::filesystem::path kGolden = InSource("tests/golden");
constexpr const char* kFiles[] = {"jobs.csv",    "grants.csv", "decisions.csv", "samples.csv",
                                  "resizes.csv", "steps.csv",  "cell.json",     "timeline.json"};

ExperimentConfig Config() {
  return LoadConfig(kGolden / "golden.toml", {}, Topology::Synthetic("pack:1 core:1 pu:1"));
}

void RunAll(const ExperimentConfig& config, const std::vector<CellKey>& cells,
            const std::filesystem::path& run) {
  const Plan plan = MakePlan(config);
  const HarnessResult result =
      RunCells(config, plan, cells,
               {.run = run, .topology = *config.topology, .hosts = SimulatedHosts(config)});
  EXPECT_EQ(result.done, static_cast<int>(cells.size()));
}

// Every file of every cell as text, by its place.
std::map<std::string, std::string> Records(const ExperimentConfig& config,
                                           const std::filesystem::path& run) {
  std::map<std::string, std::string> records;
  for (const CellKey& key : MakePlan(config).cells) {
    for (const char* file : kFiles)
      records[ToString(key) + "/" + file] = ReadText(CellFolder(run, key) / file);
  }
  return records;
}

TEST(Golden, RecordsAreThoseStored) {
  const ExperimentConfig config = Config();
  const TemporaryFolder folder;
  RunAll(config, MakePlan(config).cells, folder.path());
  for (const CellKey& key : MakePlan(config).cells) {
    const std::filesystem::path stored = kGolden / key.policy / ToString(key.elasticity);
    for (const char* file : {"jobs.csv", "decisions.csv", "resizes.csv"}) {
      const std::string text = ReadText(CellFolder(folder.path(), key) / file);
      if (std::getenv("COSCHED_STORE_GOLDEN") != nullptr) {
        std::filesystem::create_directories(stored);
        WriteText(stored / file, text);
      }
      EXPECT_EQ(text, ReadText(stored / file)) << stored / file;
    }
  }
}

TEST(Golden, EveryRegisteredPolicyIsThere) {
  const std::vector<std::string> tried = Config().policies;
  for (const PolicyInfo& policy : Policies()) {
    if (policy.name.starts_with("scripted")) continue;  // They have no decisions of their own.
    EXPECT_NE(std::find(tried.begin(), tried.end(), policy.name), tried.end())
        << policy.name << " is missing in tests/golden/golden.toml";
  }
}

TEST(Golden, RunsAreEqualToTheByteWhateverRunsBeside) {
  const ExperimentConfig config = Config();
  const std::vector<CellKey> cells = MakePlan(config).cells;
  const TemporaryFolder folder;
  RunAll(config, cells, folder.path() / "one");
  // The same cells by four threads, in the opposite order.
  std::vector<std::thread> threads;
  for (size_t worker = 0; worker < 4; ++worker) {
    threads.emplace_back([&, worker] {
      std::vector<CellKey> mine;
      for (size_t i = worker; i < cells.size(); i += 4) mine.insert(mine.begin(), cells[i]);
      RunAll(config, mine, folder.path() / "four");
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto one = Records(config, folder.path() / "one");
  const auto four = Records(config, folder.path() / "four");
  for (const auto& [file, text] : one) {
    EXPECT_EQ(text, four.at(file)) << file;
    EXPECT_FALSE(text.empty()) << file;
  }
}

}  // namespace
}  // namespace cosched
