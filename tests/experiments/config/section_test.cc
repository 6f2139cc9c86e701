// What is listed of an experiment file is what is read: `cosched list keys`, the reader and the
// manifest tell the same.

#include "experiments/config/section.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/base/error.h"
#include "experiments/config/experiment_json.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

class SectionTest : public testing::Test {
 protected:
  SectionTest() {
    WriteText(folder_.path() / "s.toml", R"(name = "s"
policies = ["strict"]
[machine]
topology = "core:4 pu:1"
[[workload]]
name = "net"
model = "lenet5"
[[workload]]
name = "service"
model = "lenet5"
mode = "serve"
[[trace.requests]]
service = "service"
count = 3
)");
    ProgramProfile program;
    program.alone = {{1, {1, 1}, {0.4, 0.4, 0.4, 3}}};
    Profile profile;
    for (const char* name : {"lenet5 train batch 32", "lenet5 infer batch 32"}) {
      program.program = name;
      profile.programs.push_back(program);
    }
    SaveProfile(profile, folder_.path() / "p.json");
  }

  TomlTable File() const {
    return TomlTable::Load(folder_.path() / "s.toml", {})
        .With({"backend=simulated", "machine.profile=p.json"});
  }
  std::string Resolved(const TomlTable& table) const {
    return ExperimentJson(LoadConfig(table, Topology::ThisMachine())).dump(2);
  }

  const TemporaryFolder folder_;
};

TEST_F(SectionTest, EveryKeyIsDescribedOnce) {
  std::set<std::string> headings;
  for (const SectionHelp& section : SectionsHelp()) {
    EXPECT_TRUE(headings.insert(section.heading).second) << section.heading;
    EXPECT_FALSE(section.about.empty()) << section.heading;
    std::set<std::string> keys;
    for (const KeyHelp& key : section.keys) {
      SCOPED_TRACE(section.heading + " " + key.name);
      EXPECT_TRUE(keys.insert(key.name).second);
      for (const std::string& column : {key.type, key.fallback, key.range, key.meaning})
        EXPECT_FALSE(column.empty());
    }
  }
}

// A default that is told as a value is the one that holds where the key is absent.
TEST_F(SectionTest, AListedDefaultIsTheReaders) {
  const std::map<std::string, std::string> tables = {{"", ""},
                                                     {"[machine]", "machine."},
                                                     {"[container]", "container."},
                                                     {"[simulation]", "simulation."},
                                                     {"[sampling]", "sampling."},
                                                     {"[services]", "services."},
                                                     {"[records]", "records."},
                                                     {"[[workload]]", "workload.net."},
                                                     {"[trace]", "trace."},
                                                     {"[[trace.requests]]", "trace.requests.0."}};
  std::set<std::string> other_tables = {"backend", "workload.net.max_delay_ms",
                                        "workload.net.per_node", "workload.net.client"};
  for (const char* of_pipelines :
       {"open", "open_max", "credit_link", "ranks", "stages", "items", "work_ms", "wait_ms",
        "parallel", "merge_ms", "merges", "reference", "reads", "chunk", "level", "memory_mib",
        "parts", "images"})
    other_tables.insert(std::string("workload.net.") + of_pipelines);
  int compared = 0;
  for (const SectionHelp& section : SectionsHelp()) {
    const auto table = tables.find(section.heading);
    if (table == tables.end()) continue;
    for (const KeyHelp& key : section.keys) {
      const std::string path = table->second + key.name;
      const bool is_value =
          key.fallback == "true" || key.fallback == "false" ||
          std::string_view("\"[{0123456789").find(key.fallback.front()) != std::string_view::npos;
      const bool is_told = key.fallback.find(": ") != std::string::npos;  // By words behind it.
      if (!is_value || is_told || other_tables.contains(path)) continue;
      SCOPED_TRACE(path + "=" + key.fallback);
      ++compared;
      EXPECT_EQ(Resolved(File()), Resolved(File().With({path + "=" + key.fallback})));
    }
  }
  EXPECT_GT(compared, 25);
}

TEST_F(SectionTest, AWrongValueNamesItsTableAsItWasNamed) {
  const auto refused = [this](const std::string& override_text) {
    try {
      LoadConfig(File().With({override_text}), Topology::ThisMachine());
    } catch (const InputError& error) {
      return error.details().key;
    }
    return std::string();
  };
  EXPECT_EQ(refused("workload.0.batch=0"), "workload.net.batch");
  EXPECT_EQ(refused("workload.service.slo_ms=0"), "workload.service.slo_ms");
  EXPECT_EQ(refused("workload.1.name='net'"), "workload.1.name") << "there are two of that name";
  EXPECT_EQ(refused("workload.1.name='a.b c'"), "workload.1.name") << "no dotted key can name it";
}

// A copy with overrides knows the lines of the file.
TEST_F(SectionTest, OverridesKeepTheLinesOfTheFile) {
  WriteText(folder_.path() / "s.toml",
            "name = \"s\"\npolicies = [\"strict\"]\n[[workload]]\n"
            "model = \"lenet5\"\nsteps = -1\n");
  try {
    LoadConfig(TomlTable::Load(folder_.path() / "s.toml", {}).With({"trials=2"}),
               Topology::ThisMachine());
    FAIL() << "steps are -1";
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().line, 5);
    EXPECT_EQ(error.details().key, "workload.lenet5.steps");
  }
}

TEST_F(SectionTest, ARecordIsReadAsItsFileWas) {
  const TomlTable file = File();
  nlohmann::ordered_json record = {
      {"name", "s"},
      {"backend", "simulated"},
      {"policies", {"strict"}},
      {"machine", {{"topology", "core:4 pu:1"}, {"profile", (folder_.path() / "p.json").string()}}},
      {"workload",
       {{{"name", "net"}, {"model", "lenet5"}},
        {{"name", "service"}, {"model", "lenet5"}, {"mode", "serve"}}}},
      {"trace", {{"requests", {{{"service", "service"}, {"count", 3}}}}}}};
  EXPECT_EQ(Resolved(TomlTable::FromJson(folder_.path() / "manifest.json", record)),
            Resolved(file));
  record["trials"] = 0;
  try {
    Resolved(TomlTable::FromJson("manifest.json", record));
    FAIL() << "no trials";
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().file, "manifest.json");
    EXPECT_EQ(error.details().key, "trials");
  }
}

}  // namespace
}  // namespace cosched
