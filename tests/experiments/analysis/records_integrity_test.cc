#include "experiments/analysis/records_integrity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "experiments/records/output_file.h"
#include "tests/experiments/analysis/comparison_fixture.h"

namespace cosched {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecordsIntegrityTest : public ComparisonTest {
 protected:
  RecordsIntegrityTest() {
    WriteManifest({.records = R"({"grants": true, "samples": true, "timeline": true})"});
    WriteTrials("strict", Elasticity::kRigid, {.jobs = 3});
  }
  std::filesystem::path File(const std::string& name) const {
    return Run() / "strict" / "rigid" / "2" / name;
  }
  std::vector<std::string> Damages() const {
    const ComparisonReport report = CompareRuns({Run()}, {});
    std::vector<std::string> damages = CheckRecords(Run()).damages;
    EXPECT_EQ(report.damaged, !damages.empty());
    return damages;
  }
};

TEST_F(RecordsIntegrityTest, WholeRecordsAreWhole) { EXPECT_THAT(Damages(), IsEmpty()); }

TEST_F(RecordsIntegrityTest, MissingCellsAreNamed) {
  std::filesystem::remove(File("cell.json"));
  EXPECT_THAT(Damages(),
              ElementsAre(AllOf(HasSubstr("2 of 3 cells"), HasSubstr("strict/rigid/2"))));
  EXPECT_THAT(Table(), HasSubstr("DAMAGED: run: 2 of 3 cells are there; without cell.json: "
                                 "strict/rigid/2"));
}

TEST_F(RecordsIntegrityTest, AnInterruptedRunIsUnfinishedNotDamaged) {
  std::filesystem::remove_all(File("").parent_path());
  WriteManifest({.status = "running"});
  EXPECT_THAT(Damages(), IsEmpty());
  EXPECT_THAT(Table(), HasSubstr("UNFINISHED: run: 2 of 3 cells are there; --resume runs the "
                                 "others"));
}

TEST_F(RecordsIntegrityTest, CompressedFilesAreReadToTheirEnd) {
  const std::string rows = ReadText(File("samples.csv"));
  const std::filesystem::path packed = File("samples.csv.gz");
  std::filesystem::remove(File("samples.csv"));
  OutputFile(packed).Write(rows);
  EXPECT_THAT(Damages(), IsEmpty());
  OutputFile(packed).Write(rows.substr(0, rows.size() - 1));
  EXPECT_THAT(Damages(), ElementsAre("strict/rigid/2: samples.csv is cut off"));
  OutputFile(packed).Write(rows);
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) - 4);
  EXPECT_THAT(Damages(), ElementsAre(HasSubstr("samples.csv.gz: is truncated")));
}

TEST_F(RecordsIntegrityTest, NumbersOfCompressedJobsAreChecked) {
  std::string jobs = ReadText(File("jobs.csv"));
  std::filesystem::remove(File("jobs.csv"));
  OutputFile(File("jobs.csv.gz")).Write(jobs);
  EXPECT_THAT(Damages(), IsEmpty());
  jobs.replace(jobs.find("rigid,0,") + 6, 1, "xx");
  OutputFile(File("jobs.csv.gz")).Write(jobs);
  EXPECT_THAT(Damages(), ElementsAre(AllOf(HasSubstr("jobs.csv.gz:2"), HasSubstr("priority"))));
}

TEST_F(RecordsIntegrityTest, MissingAndCutFilesAreNamed) {
  std::filesystem::remove(File("grants.csv"));
  const std::string samples = ReadText(File("samples.csv"));
  WriteText(File("samples.csv"), samples.substr(0, samples.size() - 1));
  EXPECT_THAT(Damages(), ElementsAre("strict/rigid/2 has no grants.csv",
                                     "strict/rigid/2: samples.csv is cut off"));
}

TEST_F(RecordsIntegrityTest, MissingRowsAreCounted) {
  const std::string jobs = ReadText(File("jobs.csv"));
  WriteText(File("jobs.csv"), jobs.substr(0, jobs.rfind('\n', jobs.size() - 2) + 1));
  EXPECT_THAT(Damages(), ElementsAre("strict/rigid/2: jobs.csv has 2 rows, 3 jobs were submitted"));
}

TEST_F(RecordsIntegrityTest, ValuesThatAreNoneAreNamed) {
  std::string jobs = ReadText(File("jobs.csv"));
  const std::string good = jobs;
  jobs.replace(jobs.find("rigid,0,") + 6, 1, "xx");  // The job's priority.
  WriteText(File("jobs.csv"), jobs);
  EXPECT_THAT(Damages(), ElementsAre(AllOf(HasSubstr("jobs.csv:2"), HasSubstr("priority"))));
  jobs = good;
  jobs.replace(jobs.find("finished"), 8, "lingers!");
  WriteText(File("jobs.csv"), jobs);
  EXPECT_THAT(Damages(), ElementsAre(AllOf(HasSubstr("jobs.csv:2"), HasSubstr("state"))));
}

// Not an error that ends the comparison: the other cells are compared.
TEST_F(RecordsIntegrityTest, AnUnreadableCellIsLeftOut) {
  std::filesystem::remove(File("jobs.csv"));
  EXPECT_THAT(Damages(), ElementsAre(HasSubstr("jobs.csv")));
  EXPECT_THAT(Table(), AllOf(HasSubstr("2 cells"), HasSubstr("left out of every figure: "
                                                             "strict/rigid/2")));
}

TEST_F(RecordsIntegrityTest, ARunOfWhichNothingCanBeReadIsRefused) {
  for (const char* trial : {"1", "2", "3"})
    WriteText(Run() / "strict" / "rigid" / trial / "jobs.csv", "job_id\n1\n");
  try {
    Table();
    FAIL() << "nothing was compared";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("no cell can be read"), HasSubstr("jobs.csv")));
  }
}

TEST_F(RecordsIntegrityTest, ARunWithoutItsManifestIsDamaged) {
  std::filesystem::remove(Run() / "manifest.json");
  EXPECT_THAT(Damages(), ElementsAre(HasSubstr("no manifest.json that can be read")));
}

}  // namespace
}  // namespace cosched
