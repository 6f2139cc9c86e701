#include "experiments/records/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/base/error.h"
#include "experiments/records/rows.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TableTest : public ::testing::Test {
 protected:
  std::filesystem::path Cell() const { return folder_.path(); }
  void WriteGrants(const std::string& text) const { WriteText(Cell() / "grants.csv", text); }

  // Reads a table to its end; what the error says.
  template <typename Reader>
  static std::string ErrorOf(Reader read) {
    try {
      read();
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder_;
};

// A column that is written from or read into another member than its own would show here.
TEST_F(TableTest, RowsAreReadBackAsTheyWereWritten) {
  const ResizeRow written{.time = Duration(milliseconds(1500)),
                          .job_id = 7,
                          .cause = "grant, or so",
                          .inter_before = 1,
                          .intra_before = 2,
                          .inter_after = 3,
                          .intra_after = 4,
                          .cores = {0, 1, 5},
                          .op = "Conv2D",
                          .taken_us = 61};
  for (const bool gzip : {false, true}) {
    RowWriter<ResizeRow>(Cell(), gzip).Write(written);
    RowReader<ResizeRow> reader(Cell(), &ResizeRow::time, &ResizeRow::job_id, &ResizeRow::cause,
                                &ResizeRow::inter_before, &ResizeRow::intra_before,
                                &ResizeRow::inter_after, &ResizeRow::intra_after, &ResizeRow::cores,
                                &ResizeRow::op, &ResizeRow::taken_us);
    const ResizeRow* read = reader.Next();
    ASSERT_NE(read, nullptr);
    EXPECT_EQ(read->time, 1.5);
    EXPECT_EQ(read->job_id, 7);
    EXPECT_EQ(read->cause, written.cause);
    EXPECT_EQ(read->inter_before, 1);
    EXPECT_EQ(read->intra_before, 2);
    EXPECT_EQ(read->inter_after, 3);
    EXPECT_EQ(read->intra_after, 4);
    EXPECT_EQ(read->cores, written.cores);
    EXPECT_EQ(read->op, written.op);
    EXPECT_EQ(read->taken_us, 61);
    EXPECT_EQ(reader.Next(), nullptr);
    std::filesystem::remove(Cell() / "resizes.csv");
  }
}

// Records of other versions: columns in another order, fewer of them, and others.
TEST_F(TableTest, WhatIsNotAskedForMayBeMissing) {
  WriteGrants("cores,colour,time\n0-1,red,2.5\n");
  RowReader<GrantRow> reader(Cell(), &GrantRow::time, &GrantRow::cores);
  const GrantRow* grant = reader.Next();
  ASSERT_NE(grant, nullptr);
  EXPECT_EQ(grant->time, 2.5);
  EXPECT_EQ(grant->cores, CpuSet::Range(0, 1));
}

TEST_F(TableTest, AColumnThatIsAskedForIsNamedWhereItIsMissing) {
  WriteGrants("cores,time\n0-1,2.5\n");
  EXPECT_THAT(ErrorOf([this] { RowReader<GrantRow>(Cell(), &GrantRow::owned); }),
              AllOf(HasSubstr("grants.csv"), HasSubstr("owned"), HasSubstr("no such column"),
                    HasSubstr("cores, time")));
}

TEST_F(TableTest, ACellThatIsNoValueOfItsColumnIsNamed) {
  const auto read = [this] {
    RowReader<GrantRow> reader(Cell(), &GrantRow::time, &GrantRow::cores);
    while (reader.Next() != nullptr) continue;
  };
  WriteGrants("time,cores\n1,0\nsoon,0\n");
  EXPECT_THAT(ErrorOf(read), AllOf(HasSubstr("grants.csv:3"), HasSubstr("time"),
                                   HasSubstr("'soon'"), HasSubstr("a number")));
  WriteGrants("time,cores\n,0\n");
  EXPECT_THAT(ErrorOf(read), AllOf(HasSubstr("grants.csv:2"), HasSubstr("time")));
  WriteGrants("time,cores\n1,3-2\n");
  EXPECT_THAT(ErrorOf(read), AllOf(HasSubstr("grants.csv:2"), HasSubstr("interval set")));
}

// An optional value of the row before must not stay.
TEST_F(TableTest, AnEmptyCellIsAbsentAndNamedWhereItIsNeeded) {
  WriteText(Cell() / "jobs.csv", "job_id,starting_time\n1,2.5\n2,\n");
  RowReader<JobRow> reader(Cell(), &JobRow::job_id, &JobRow::starting_time);
  ASSERT_EQ(reader.Next()->starting_time, RecordedTime(2.5));
  EXPECT_EQ(reader.Needed(&JobRow::starting_time), 2.5);
  EXPECT_FALSE(reader.Next()->starting_time);
  EXPECT_THAT(ErrorOf([&reader] { reader.Needed(&JobRow::starting_time); }),
              AllOf(HasSubstr("jobs.csv:3"), HasSubstr("starting_time"), HasSubstr("a number")));
}

// Not by way of a double, which after 104 days is coarser than a nanosecond.
TEST_F(TableTest, TimesAreWrittenExactly) {
  GrantRow grant;
  grant.time = Duration(std::chrono::hours(24 * 1000)) + Duration(500);
  RowWriter<GrantRow>(Cell(), /*gzip=*/false).Write(grant);
  EXPECT_THAT(ReadText(Cell() / "grants.csv"), HasSubstr("\n86400000.000001,0,,,,0,0.000,0.000\n"));
}

TEST_F(TableTest, RowsSideBySideHaveTheColumnsOfBoth) {
  TableText<InterferenceRow, InterferenceRow> table;
  EXPECT_TRUE(table.Empty());
  table.Add({.victim = 1, .culprit = "self", .waited_s = 0.5}, {.victim = 2, .culprit = "a,b"});
  EXPECT_FALSE(table.Empty());
  EXPECT_EQ(table.Text(),
            "victim,culprit,waited_s,victim,culprit,waited_s\n"
            "1,self,0.500000,2,\"a,b\",0.000000\n");
}

// Two columns of one name, or of one member, would be a slip of the list.
TEST(ColumnsTest, EveryTableNamesAColumnOnce) {
  std::apply(
      []<typename... Rows>(const Rows&... /*rows*/) {
        const auto check = [](std::string_view file, std::vector<std::string_view> names) {
          std::sort(names.begin(), names.end());
          EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << file;
        };
        (check(Rows::kFile, ColumnNames<Rows>()), ...);
      },
      RecordTables());
}

}  // namespace
}  // namespace cosched
