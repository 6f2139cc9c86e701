#include "experiments/os/scratch_folder.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

TEST(ScratchFolderTest, VanishesWithAllThatIsInIt) {
  const TemporaryFolder parent;
  std::filesystem::path path;
  {
    const ScratchFolder folder(parent.path(), ".import");
    path = folder.path();
    EXPECT_EQ(path.parent_path(), parent.path());
    EXPECT_TRUE(path.filename().string().starts_with(".import-"));
    WriteText(path / "a" / "b", "text");
    EXPECT_TRUE(std::filesystem::exists(path / "a" / "b"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ScratchFolderTest, WhatBecameSomethingElseStays) {
  const TemporaryFolder parent;
  {
    const ScratchFolder folder(parent.path(), ".import");
    std::filesystem::rename(folder.path(), parent.path() / "run");
  }
  EXPECT_TRUE(std::filesystem::exists(parent.path() / "run"));
}

TEST(ScratchFolderTest, AParentThatIsNotThereIsNamed) {
  try {
    const ScratchFolder folder("/nowhere/at/all", ".import");
    FAIL();
  } catch (const OutputError& error) {
    EXPECT_STREQ(error.what(), "can't make a folder in /nowhere/at/all");
  }
}

}  // namespace
}  // namespace cosched
