#include "experiments/records/csv.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using ::testing::HasSubstr;

TEST(CsvTest, ReadsBackWhatItWrote) {
  TemporaryFolder folder;
  const auto path = folder.path() / "a.csv";
  CsvWriter(path, {"name", "value"}).Row({"says \"no\", then\nfails", "1.5"});
  CsvReader reader(path);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.Text(reader.Column("name")), "says \"no\", then fails");
  EXPECT_EQ(reader.Number(reader.Column("value")), 1.5);
  EXPECT_FALSE(reader.Next());
}

TEST(CsvTest, RowsAreInTheFileAsSoonAsTheyAreWritten) {
  TemporaryFolder folder;
  CsvWriter writer(folder.path() / "a.csv", {"x"});
  writer.Row({"1"});
  EXPECT_EQ(ReadText(folder.path() / "a.csv"), "x\n1\n");
}

TEST(CsvTest, TypedCellsAreWrittenAsText) {
  TemporaryFolder folder;
  CsvWriter writer(folder.path() / "a.csv", {"a", "b", "c", "d", "e"});
  writer.Line().Integer(-7).Seconds(Duration(1'250'000'499)).Number(2.5, 3).Empty().Text("x,y");
  writer.End();
  writer.Line().Seconds(Duration(-600)).Seconds(Duration(999'999'500)).Integer(0).Text("");
  writer.Line().Significant(1.0 / 3e9, 6);
  writer.End();
  EXPECT_EQ(ReadText(folder.path() / "a.csv"),
            "a,b,c,d,e\n-7,1.250000,2.500,,\"x,y\"\n-0.000001,1.000000,0,,3.33333e-10\n");
}

// Also where two neighbours are as near: 1/8, 1/128, and so on; the other writers of records round
// with fmt.
TEST(CsvTest, NumbersAreRoundedAsFmtRoundsThem) {
  TemporaryFolder folder;
  const auto path = folder.path() / "a.csv";
  std::vector<double> values = {0,      -0.0,           0.5,   1.5,   2.5,     -0.5, 1e-7,
                                5e-324, 1e300,          1e12,  1e13,  0.99999, 1e15, 123e-9,
                                -1e-9,  999999.9999995, 1e-30, 1e-36, 2e-40,   4096};
  for (int bits = 1; bits < 20; ++bits) {
    for (int odd = 1; odd < 99; odd += 2) values.push_back(std::ldexp(odd, -bits));
  }
  std::string expected = "a,b,c\n";
  {
    CsvWriter writer(path, {"a", "b", "c"}, 1 << 20);
    for (const double value : values) {
      writer.Line().Number(value, 0).Number(value, 4).Number(value, 6);
      writer.End();
      expected += fmt::format("{:.0f},{:.4f},{:.6f}\n", value, value, value);
    }
  }
  EXPECT_EQ(ReadText(path), expected);
}

TEST(CsvTest, NumbersAreReadToTheLastBit) {
  TemporaryFolder folder;
  const auto path = folder.path() / "a.csv";
  std::vector<std::string> texts = {"0",
                                    "-0",
                                    "1.",
                                    "0.1",
                                    "-12.250000",
                                    "1e3",
                                    "123456789012345",
                                    "1234567890.12345",
                                    "12345678901234567",
                                    "0.000000000000001",
                                    "00.5"};
  {
    CsvWriter writer(path, {"x"}, 1 << 20);
    for (const std::string& text : texts) writer.Row({text});
  }
  CsvReader reader(path);
  for (const std::string& text : texts) {
    ASSERT_TRUE(reader.Next());
    const double value = std::strtod(text.c_str(), nullptr);
    ASSERT_EQ(std::bit_cast<uint64_t>(reader.Number(0)), std::bit_cast<uint64_t>(value)) << text;
  }
}

TEST(CsvTest, WhatIsNoNumberIsToldWhateverItBeginsWith) {
  TemporaryFolder folder;
  for (const char* text : {"1.2.3", "12a", ".", "-", "--1", "1 ", "1,", "inf"}) {
    const auto path = folder.path() / "a.csv";
    CsvWriter(path, {"x"}).Row({text});
    CsvReader reader(path);
    ASSERT_TRUE(reader.Next());
    EXPECT_THROW(reader.Number(0), InputError) << text;
  }
}

TEST(CsvTest, CompressedFilesAreReadByTheirPlainName) {
  TemporaryFolder folder;
  const auto packed = folder.path() / "a.csv.gz";
  constexpr int kRows = 30'000;  // Several pieces.
  {
    CsvWriter writer(packed, {"x", "y"});
    for (int row = 0; row < kRows; ++row) {
      writer.Line().Integer(row).Text("the same in each");
      writer.End();
    }
    EXPECT_GT(std::filesystem::file_size(packed), 0u) << "whole pieces do not wait";
  }
  EXPECT_LT(std::filesystem::file_size(packed), kRows * 5u);
  CsvReader reader(folder.path() / "a.csv");
  for (int row = 0; row < kRows; ++row) {
    ASSERT_TRUE(reader.Next());
    ASSERT_EQ(reader.Integer(0), row);
    ASSERT_EQ(reader.Text(1), "the same in each");
  }
  EXPECT_FALSE(reader.Next());
  const CsvWriter writer(folder.path() / "a.csv", {"plain"});
  EXPECT_NO_THROW(CsvReader(folder.path() / "a.csv").Column("plain")) << "the name itself is first";
}

std::string ErrorOf(const std::string& text, const std::string& column) {
  TemporaryFolder folder;
  WriteText(folder.path() / "a.csv", text);
  try {
    CsvReader reader(folder.path() / "a.csv");
    while (reader.Next()) reader.Number(reader.Column(column));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(CsvTest, ErrorsNameFileLineAndColumn) {
  EXPECT_THAT(ErrorOf("x,y\n1,2\n3,four\n", "y"), HasSubstr("a.csv:3: y: 'four'"));
  EXPECT_THAT(ErrorOf("x,y\n1,2\n3\n", "y"), HasSubstr("a.csv:3: 1 cells"));
  EXPECT_THAT(ErrorOf("x,y\n1,2\n", "z"), HasSubstr("z: no such column"));
  EXPECT_THAT(ErrorOf("x\nnan\n", "x"), HasSubstr("'nan'"));
  EXPECT_THAT(ErrorOf("x\n\"1\n", "x"), HasSubstr("a.csv:2: a quote is not closed"));
  EXPECT_THAT(ErrorOf("x\n\"1\"2\n", "x"),
              HasSubstr("a.csv:2: something is behind a closing quote"));
  EXPECT_THAT(ErrorOf("", "x"), HasSubstr("is empty"));
  EXPECT_THAT(ErrorOf("x\n1\ntwo", "x"), HasSubstr("a.csv:3: x: 'two'"))
      << "without an end of line";
}

TEST(CsvTest, MissingFileIsAnInputError) {
  EXPECT_THROW(CsvReader("/nonexistent/a.csv"), InputError);
}

TEST(OutputFileTest, FullDiskNamesFileAndReason) {
  try {
    const CsvWriter writer("/dev/full", {"x"});
    FAIL() << "writing to a full device succeeded";
  } catch (const OutputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/dev/full"));
    EXPECT_THAT(error.what(), HasSubstr("No space left on device (errno 28)"));
  }
}

TEST(OutputFileTest, WholeFileReplacesTheOldOneAndLeavesNothingElse) {
  TemporaryFolder folder;
  WriteFileWhole(folder.path() / "a.json", "old");
  WriteFileWhole(folder.path() / "a.json", "new");
  EXPECT_EQ(ReadText(folder.path() / "a.json"), "new");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a.json.partial"));
}

}  // namespace
}  // namespace cosched
