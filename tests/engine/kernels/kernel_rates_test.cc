// What a machine's kernels are chosen by: the rates' text, their measurement, and how they are
// kept.

#include "engine/kernels/kernel_rates.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/kernels/kept_kernel_rates.h"
#include "tests/engine/kernels/kernel_fixture.h"

namespace cosched::testing {
namespace {

constexpr char kFixedText[] =
    "window=120,gradient=120,product=108,memory=10,filter=25,new=6.25,turned=6.25,summed=6.25,"
    "transform2=6,transform4=15,lanes=16";

TEST(KernelRates, AreReadAsTheyWereWritten) {
  EXPECT_EQ(ToString(KernelRates{}), kFixedText);
  EXPECT_EQ(ParseKernelRates(kFixedText), KernelRates{});
  KernelRates rates;
  rates.window_flops = 98.7654e9;
  rates.transform_2_seconds = 7.00049e-9;
  rates.lanes = 8;
  const KernelRates rounded = Rounded(rates);
  EXPECT_DOUBLE_EQ(rounded.window_flops, 98.8e9);
  EXPECT_DOUBLE_EQ(rounded.transform_2_seconds, 7e-9);
  EXPECT_EQ(ParseKernelRates(ToString(rounded)), rounded);
}

TEST(KernelRates, AnotherTextIsNone) {
  const std::string text = kFixedText;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    return other.replace(text.find(from), from.size(), to);
  };
  ASSERT_TRUE(ParseKernelRates(text));
  EXPECT_TRUE(ParseKernelRates(with("window=120", "window=1.5e2")));
  for (const std::string& bad :
       {std::string(), std::string("measured"), text + ",", "," + text, text + ",window=120",
        text + ",speed=1", text.substr(text.find(',') + 1), with("window=120", "window"),
        with("window=120", "window=0"), with("window=120", "window=nan"),
        with("window=120", "window=120x"), with("lanes=16", "lanes=0"),
        with("gradient=120", "window=120")}) {
    EXPECT_FALSE(ParseKernelRates(bad)) << bad;
  }
}

TEST(KernelRates, ThisMachinesCanBeWritten) {
  const KernelRates measured = MeasureKernelRates();
  EXPECT_TRUE(ParseKernelRates(ToString(measured))) << ToString(measured);
  EXPECT_EQ(measured.lanes, CpuLanes());
}

class RatesKeeperTest : public ::testing::Test {
 protected:
  RatesKeeperTest() {
    times_measured = 0;
    quiet = true;
  }
  ~RatesKeeperTest() override { std::filesystem::remove_all(folder_); }

  RatesKeeper KeeperOf(const std::string& cpu) const { return {folder_, cpu, Measure, IsQuiet}; }

  // Each measurement finds something else, as on a noisy machine.
  static KernelRates Measure() {
    KernelRates rates;
    rates.window_flops = 1e9 * ++times_measured;
    return rates;
  }

  static bool IsQuiet() { return quiet; }

  static inline std::atomic<int> times_measured = 0;
  static inline std::atomic<bool> quiet = true;
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("rates-" + std::to_string(::getpid()) + "-" +
       ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(RatesKeeperTest, MeasuresOnceForEachKindOfCpu) {
  const KeptKernelRates first = KeeperOf("one").Get();
  EXPECT_EQ(first.why_fixed, "");
  EXPECT_EQ(first.cpu, "one");
  EXPECT_EQ(first.date.size(), std::string("2026-11-23").size());
  EXPECT_TRUE(std::filesystem::exists(first.file));
  EXPECT_DOUBLE_EQ(first.rates.window_flops, 1e9);
  EXPECT_EQ(KeeperOf("one").Get().rates, first.rates);
  EXPECT_EQ(times_measured, 1);
  EXPECT_DOUBLE_EQ(KeeperOf("another").Get().rates.window_flops, 2e9);
  EXPECT_EQ(KeeperOf("one").Get().rates, first.rates);
}

TEST_F(RatesKeeperTest, MeasuresAnewWhenAskedToAndWhereTheFileIsDamaged) {
  const KeptKernelRates first = KeeperOf("one").Get();
  EXPECT_DOUBLE_EQ(KeeperOf("one").Renew().rates.window_flops, 2e9);
  EXPECT_DOUBLE_EQ(KeeperOf("one").Get().rates.window_flops, 2e9);
  std::ofstream(first.file) << "cpu: one\nrates: window=\n";
  EXPECT_DOUBLE_EQ(KeeperOf("one").Get().rates.window_flops, 3e9);
  EXPECT_DOUBLE_EQ(KeeperOf("one").Get().rates.window_flops, 3e9);
}

TEST_F(RatesKeeperTest, DisturbedOnesAreMeasuredAnewWhenItIsQuiet) {
  quiet = false;
  EXPECT_TRUE(KeeperOf("one").Get().disturbed);
  EXPECT_DOUBLE_EQ(KeeperOf("one").Get().rates.window_flops, 1e9);
  quiet = true;
  EXPECT_DOUBLE_EQ(KeeperOf("one").Kept()->rates.window_flops, 1e9) << "only looked at";
  const KeptKernelRates anew = KeeperOf("one").Get();
  EXPECT_DOUBLE_EQ(anew.rates.window_flops, 2e9);
  EXPECT_FALSE(anew.disturbed);
  EXPECT_DOUBLE_EQ(KeeperOf("one").Get().rates.window_flops, 2e9);
}

TEST_F(RatesKeeperTest, AFileThatDoesNotSayIsMeasuredAnew) {
  const KeptKernelRates first = KeeperOf("one").Get();
  std::ofstream(first.file) << "cpu: one\ndate: 2026-11-01\nrates: " << kFixedText << '\n';
  EXPECT_DOUBLE_EQ(KeeperOf("one").Get().rates.window_flops, 2e9);
  EXPECT_DOUBLE_EQ(KeeperOf("one").Get().rates.window_flops, 2e9);
}

TEST_F(RatesKeeperTest, AllThatMeasureAtOnceUseTheSame) {
  std::vector<KernelRates> found(8);
  {
    std::vector<std::jthread> threads;
    for (KernelRates& rates : found)
      threads.emplace_back([&rates, this] { rates = KeeperOf("one").Get().rates; });
  }
  for (const KernelRates& rates : found) EXPECT_EQ(rates, found.front());
}

TEST_F(RatesKeeperTest, WhatCannotBeKeptIsFixed) {
  const RatesKeeper nowhere{"", "one", Measure, IsQuiet};
  EXPECT_EQ(nowhere.Get().rates, KernelRates{});
  EXPECT_NE(nowhere.Get().why_fixed, "");
  std::ofstream(folder_) << "a file";
  const KeptKernelRates kept = KeeperOf("one").Get();
  EXPECT_EQ(kept.rates, KernelRates{});
  EXPECT_NE(kept.why_fixed.find(folder_.string()), std::string::npos) << kept.why_fixed;
}

}  // namespace
}  // namespace cosched::testing
