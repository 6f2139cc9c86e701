// A run's way through a zip file, and zip files that are none of ours.

#include "experiments/store/run_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zip.h>

#include <filesystem>
#include <map>
#include <string>

#include "engine/base/error.h"
#include "experiments/store/stored_runs.h"
#include "tests/experiments/analysis/comparison_fixture.h"

namespace cosched {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

std::map<std::string, std::string> FilesBelow(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[entry.path().lexically_relative(folder).string()] = ReadText(entry.path());
  return files;
}

class RunArchiveTest : public ComparisonTest {
 protected:
  // A run with one cell, as results/<experiment>/<run> has it.
  fs::path Run() {
    Write({"strict", Elasticity::kRigid, 1}, {.seconds = 3}, "x");
    WriteManifest({.trials = 1}, "x");
    return ComparisonTest::Run("x");
  }
  fs::path File() const { return folder_.path() / "x.zip"; }
  fs::path There() const { return folder_.path() / "there"; }

  // A zip file with these texts.
  void Zip(const std::map<std::string, std::string>& texts) {
    int error = 0;
    zip_t* const archive = zip_open(File().c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
    ASSERT_NE(archive, nullptr);
    for (const auto& [name, text] : texts)
      zip_file_add(archive, name.c_str(), zip_source_buffer(archive, text.data(), text.size(), 0),
                   0);
    ASSERT_EQ(zip_close(archive), 0);
  }

  void ExpectRefused(const std::string& problem) {
    try {
      ImportRun(File(), There());
      ADD_FAILURE() << "was imported";
    } catch (const InputError& error) {
      EXPECT_EQ(error.details().file, File().string());
      EXPECT_THAT(error.details().problem, HasSubstr(problem));
    }
    EXPECT_FALSE(fs::exists(folder_.path() / "evil"));
    if (fs::exists(There())) EXPECT_THAT(FilesBelow(There()), ::testing::IsEmpty());
  }
};

TEST_F(RunArchiveTest, ARunArrivesAsItWas) {
  const fs::path run = Run();
  ExportRun(run, File());
  const fs::path arrived = ImportRun(File(), There());
  EXPECT_EQ(arrived, There() / run.parent_path().filename() / run.filename());
  EXPECT_EQ(FilesBelow(arrived), FilesBelow(run));
  EXPECT_THROW(ImportRun(File(), There()), InputError) << "it is there already";
  EXPECT_EQ(FilesBelow(arrived), FilesBelow(run));
  EXPECT_THROW(ExportRun(run, File()), InputError) << "the file is there already";
}

TEST_F(RunArchiveTest, NothingIsWrittenOutsideOfARun) {
  for (const std::string name :
       {"../../evil", "/evil", "x/../../evil/a", "x/r/../../../evil", "evil", "x/evil"}) {
    Zip({{"x/r/manifest.json", "{}"}, {name, "text"}});
    ExpectRefused("which is in no run");
  }
}

TEST_F(RunArchiveTest, WhatIsNoRunIsRefused) {
  WriteText(File(), "no zip file");
  ExpectRefused("zip");
  Zip({{"x/r/jobs.csv", "a"}});
  ExpectRefused("holds no run");
  Zip({{"x/r/manifest.json", "no JSON"}});
  ExpectRefused("holds no run: its manifest is none");
  Zip({{"x/r/manifest.json", "{}"}, {"x/s/manifest.json", "{}"}});
  ExpectRefused("more than one run");
}

TEST_F(RunArchiveTest, ADamagedFileLeavesNothing) {
  ExportRun(Run(), File());
  std::string text = ReadText(File());
  for (size_t at = 100; at < text.size() / 2; at += 100) text[at] = static_cast<char>(~text[at]);
  WriteText(File(), text);
  EXPECT_THROW(ImportRun(File(), There()), InputError);
  if (fs::exists(There())) EXPECT_THAT(FilesBelow(There()), ::testing::IsEmpty());
}

TEST_F(RunArchiveTest, ARunTellsHowItEnded) {
  const StoredRun run = ReadStoredRun(Run());
  EXPECT_EQ(run.done, 1);
  EXPECT_EQ(run.failed, 0);
  EXPECT_GT(run.bytes, 0);
  EXPECT_THROW(ReadStoredRun(folder_.path()), InputError);
}

}  // namespace
}  // namespace cosched
