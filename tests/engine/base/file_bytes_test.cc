#include "engine/base/file_bytes.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/workloads/temporary_folder.h"

namespace cosched {
namespace {

TEST(FileBytesTest, AllOfAFileIsReadWhateverItHolds) {
  const TemporaryFolder folder;
  const std::string bytes("a\r\n\0b\xff", 6);
  folder.Write("file", bytes);
  EXPECT_EQ(FileBytes(folder.PathOf("file")), bytes);
}

TEST(FileBytesTest, WhatCannotBeReadIsEmpty) {
  const TemporaryFolder folder;
  EXPECT_EQ(FileBytes(folder.PathOf("none")), "");
  EXPECT_EQ(FileBytes(folder.Path()), "") << "a folder can be opened, but not read";
}

}  // namespace
}  // namespace cosched
