// By which rates a run's kernels choose: measured once and kept, the same for all of its tenants,
// told by the doctor and by the manifest, and taken from there for exact repetition.

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/experiments/cli/cli_fixture.h"

namespace cosched {
namespace {

class KernelRatesCliTest : public CliTest {
 protected:
  // A cache of its own, so that somebody has to measure.
  bool OwnCache() const {
    return setenv("COSCHED_CACHE", (folder_.path() / "cache").c_str(), 1) == 0;
  }
  Ended RunHere(std::vector<std::string> arguments) {
    return Wait(Start(std::move(arguments), [this] { return OwnCache(); }));
  }

  static void Replace(const std::string& from, const std::string& to, std::string* text) {
    if (const size_t at = text->find(from); at != std::string::npos)
      text->replace(at, from.size(), to);
  }
  // Changes what is kept; other tests may have computed when it was measured.
  void Keep(const std::function<void(std::string*)>& change) {
    const std::filesystem::path file =
        std::filesystem::directory_iterator(folder_.path() / "cache/kernel_rates")->path();
    std::string text = ReadText(file);
    change(&text);
    WriteText(file, text);
  }

  // What the manifest of the only run says, which is gone then.
  std::string OfTheRun() const {
    const std::filesystem::path runs = folder_.path() / "results/x";
    const std::filesystem::path run = std::filesystem::directory_iterator(runs)->path();
    const auto manifest = nlohmann::json::parse(ReadText(run / "manifest.json"));
    std::filesystem::remove_all(runs);
    return manifest["experiment"]["machine"]["kernel_rates"];
  }
};

TEST_F(KernelRatesCliTest, AreMeasuredOnceAndTheSameInEveryRun) {
  ASSERT_EQ(RunHere({"run", "x.toml", "--no-plots"}).exit_code, 0);
  const std::string first = OfTheRun();
  EXPECT_TRUE(first.starts_with("window=")) << first;
  Keep([](std::string* text) { Replace("beside others: yes", "beside others: no", text); });
  ASSERT_EQ(RunHere({"run", "x.toml", "--no-plots"}).exit_code, 0);
  EXPECT_EQ(OfTheRun(), first);
  const Ended doctor = RunHere({"doctor"});
  EXPECT_NE(doctor.out.find("kept in " + (folder_.path() / "cache/kernel_rates").string()),
            std::string::npos)
      << doctor.out;
}

TEST_F(KernelRatesCliTest, ARunGoesOnWithThoseThatItBeganWith) {
  ASSERT_EQ(RunHere({"run", "x.toml", "--no-plots"}).exit_code, 0);
  const std::filesystem::path run =
      std::filesystem::directory_iterator(folder_.path() / "results/x")->path();
  const std::string whole = ReadText(run / "manifest.json");
  const auto begin = [&] {
    nlohmann::json manifest = nlohmann::json::parse(whole);
    manifest["status"] = "running";
    WriteText(run / "manifest.json", manifest.dump());
    std::filesystem::remove_all(run / "strict" / "malleable" / "1");
  };
  // Measured since, with another outcome.
  Keep([](std::string* text) {
    Replace("beside others: yes", "beside others: no", text);
    Replace("rates: window=", "rates: window=9", text);
  });
  begin();
  const Ended resumed = RunHere({"run", "x.toml", "--no-plots", "--resume"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(std::filesystem::exists(run / "strict" / "malleable" / "1" / "cell.json"));
  const auto manifest = nlohmann::json::parse(ReadText(run / "manifest.json"));
  EXPECT_EQ(manifest["experiment"], nlohmann::json::parse(whole)["experiment"]);
  EXPECT_TRUE(manifest["resumed"][0]["differences"].empty());

  begin();
  const Ended chosen =
      RunHere({"run", "x.toml", "--no-plots", "--resume", "--set", "machine.kernel_rates=fixed"});
  EXPECT_EQ(chosen.exit_code, 2) << chosen.out;
  EXPECT_NE(chosen.err.find("kernel rates"), std::string::npos) << chosen.err;
}

TEST_F(KernelRatesCliTest, CanBeFixedOrThoseOfAnotherRun) {
  ASSERT_EQ(
      RunHere({"run", "x.toml", "--no-plots", "--set", "machine.kernel_rates=fixed"}).exit_code, 0);
  const std::string fixed = OfTheRun();
  EXPECT_TRUE(fixed.starts_with("window=120,gradient=120,product=108,")) << fixed;
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "cache")) << "nobody had to measure";
  std::string other = fixed;
  other.replace(0, other.find(','), "window=60");
  ASSERT_EQ(
      RunHere({"run", "x.toml", "--no-plots", "--set", "machine.kernel_rates=" + other}).exit_code,
      0);
  EXPECT_EQ(OfTheRun(), other);
}

TEST_F(KernelRatesCliTest, WithoutACacheFolderTheDoctorSaysSo) {
  WriteText(folder_.path() / "cache", "a file");
  const Ended doctor = RunHere({"doctor"});
  EXPECT_EQ(doctor.exit_code, 0);
  EXPECT_NE(doctor.out.find("fixed values ("), std::string::npos) << doctor.out;
  EXPECT_NE(doctor.out.find("$COSCHED_CACHE"), std::string::npos) << doctor.out;
}

TEST_F(KernelRatesCliTest, NonsenseIsRefused) {
  const Ended ended = RunHere({"tenant", "--model", "lenet5", "--kernel-rates", "window=1"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.err.find("--kernel-rates"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("measured, fixed, or"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace cosched
