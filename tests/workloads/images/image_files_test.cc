#include "workloads/images/image_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/workloads/expect_input_error.h"
#include "tests/workloads/temporary_folder.h"

namespace cosched {
namespace {

TEST(ImageFilesTest, OfAFolderByName) {
  const TemporaryFolder folder;
  for (const char* name : {"b.PNG", "a.jpg", "c.Jpeg", "notes.txt", "jpg", "d.png.txt"})
    folder.Write(name, name);
  std::filesystem::create_directory(folder.PathOf("e.png"));
  EXPECT_THAT(ImageFilesOf(folder.Path()),
              testing::ElementsAre(folder.PathOf("a.jpg"), folder.PathOf("b.PNG"),
                                   folder.PathOf("c.Jpeg")));
  EXPECT_EQ(ReadImageFile(folder.PathOf("a.jpg")), "a.jpg");
}

TEST(ImageFilesTest, WhatIsNotThereIsRefused) {
  const TemporaryFolder folder;
  folder.Write("notes.txt", "");
  ExpectInputError([&] { ImageFilesOf(folder.Path()); }, "images", "has no images");
  ExpectInputError([&] { ImageFilesOf(folder.PathOf("none")); }, "images", "No such file");
  const std::string none = folder.PathOf("none.jpg");
  ExpectInputError([&] { ReadImageFile(none); }, none, "No such file");
  const std::string huge = folder.PathOf("huge.jpg");
  folder.Write("huge.jpg", "");
  std::filesystem::resize_file(huge, (uint64_t{256} << 20) + 1);
  ExpectInputError([&] { ReadImageFile(huge); }, huge, "larger than 256 MiB");
  ExpectInputError([&] { ReadImageFile(folder.Path()); }, folder.Path(), "");
}

}  // namespace
}  // namespace cosched
