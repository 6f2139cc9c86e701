#include "experiments/calibration/published_profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {
namespace {

// Tables with a known answer: step times by Amdahl with a serial part of 0.1 (10 s for 1 thread),
// threads beyond the cores cost nothing, and each co-runner on 1 core slows the others by 1 %.
class PublishedProfileTest : public testing::Test {
 protected:
  PublishedProfileTest() {
    std::string curves = "Cores,Intra,Time\n", contention = "Cores_Per_C,Containers,Time\n";
    for (int cores : {1, 2, 4}) {
      for (int threads : {1, 2, 4}) {
        const double k = std::min(cores, threads);
        curves += fmt::format("{},{},{}\n", cores, threads, 10 * (0.1 + 0.9 / k));
      }
    }
    for (int containers : {1, 3, 11})
      contention += fmt::format("1,{},{}\n", containers, 3000 * (1 + 0.01 * (containers - 1)));
    contention += "1,128,9999\n";  // More than the machine has cores for: not fitted to.
    Write("times_oversubscription-2.csv", curves);
    Write("times_contention.csv", contention);
  }

  void Write(const std::string& name, const std::string& text) {
    WriteText(folder_.path() / name, text);
  }

  std::string Refusal() const {
    try {
      ReadPublishedProfile(folder_.path());
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  const TemporaryFolder folder_;
};

TEST_F(PublishedProfileTest, FindsWhatTheTablesWereMadeOf) {
  const PublishedProfile published = ReadPublishedProfile(folder_.path());
  ASSERT_EQ(published.profile.programs.size(), 1U);
  const ProgramProfile& program = published.profile.programs[0];
  EXPECT_EQ(program.program, "resnet56 train batch 128");
  ASSERT_EQ(program.alone.size(), 9U);
  EXPECT_DOUBLE_EQ(program.alone[0].step_s.value, 10);  // 3000 s for 300 steps.
  EXPECT_EQ(program.law.kind, ScalingLaw::Kind::kAmdahl);
  EXPECT_NEAR(program.law.parameters[0], 0.1, 1e-6);
  EXPECT_NEAR(program.pressure * program.sensitivity, 0.01, 1e-9);
  ASSERT_EQ(published.profile.co_runs.size(), 3U);
  EXPECT_EQ(published.profile.co_runs[1].tenants[0].count, 11);
  EXPECT_NEAR(published.profile.co_runs[1].tenants[0].slowdown.value, 1.1, 1e-9);
  EXPECT_TRUE(published.profile.co_runs[1].fitted);
  EXPECT_FALSE(published.profile.co_runs[2].fitted);
}

TEST_F(PublishedProfileTest, ARunThatFailedIsLeftOutAndSaid) {
  std::string curves = ReadText(folder_.path() / "times_oversubscription-2.csv");
  curves.replace(curves.find("1,4,10"), 6, "1,4,1");
  Write("times_oversubscription-2.csv", curves);
  const PublishedProfile published = ReadPublishedProfile(folder_.path());
  EXPECT_EQ(published.profile.programs[0].alone.size(), 8U);
  EXPECT_EQ(published.report[1],
            "times_oversubscription-2.csv: left out as a failed run: 1 core x 4 threads = 1 s");
  EXPECT_EQ(published.profile.notes, published.report);
}

TEST_F(PublishedProfileTest, WrongTablesAreRefused) {
  Write("times_contention.csv", "Cores_Per_C,Containers,Time\n1,2,5\n");
  EXPECT_NE(Refusal().find("times_contention.csv: has no row 1,1"), std::string::npos) << Refusal();
  Write("times_contention.csv", "Cores_Per_C,Containers,Time\n1,1,0\n");
  EXPECT_NE(Refusal().find("has 1,1,0; allowed: counts"), std::string::npos) << Refusal();
  Write("times_contention.csv", "Cores,Time\n1,1\n");
  EXPECT_NE(Refusal().find("Cores_Per_C"), std::string::npos) << Refusal();
  std::filesystem::remove(folder_.path() / "times_contention.csv");
  EXPECT_NE(Refusal().find("times_contention.csv"), std::string::npos) << Refusal();
}

TEST(CommittedProfile, IsThatOfThePublishedTables) {
  const Profile profile = LoadProfile(InSource("experiments/profiles/published_resnet56.json"));
  EXPECT_TRUE(profile.source.starts_with("published: ")) << profile.source;
  EXPECT_EQ(profile.cores, 64);
  const ProgramProfile* program = profile.Find("resnet56 train batch 128");
  ASSERT_NE(program, nullptr);
  // Published: 64 threads take 3.5 times the best on 1 core, and 5.4 times less than 1 thread.
  const auto step = [program](int cores, int threads) {
    for (const SpeedPoint& point : program->alone)
      if (point.cores == cores && point.threads == Split{1, threads}) return point.step_s.value;
    return 0.0;
  };
  EXPECT_NEAR(step(1, 64) / step(1, 1), 3.5, 0.05);
  EXPECT_NEAR(step(1, 1) / step(64, 64), 5.4, 0.05);
  EXPECT_EQ(step(1, 16), 0) << "a failed run";
}

}  // namespace
}  // namespace cosched
