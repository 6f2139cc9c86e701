#include "experiments/records/manifest_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

TEST(ManifestFileTest, WhatIsNoManifestIsNone) {
  const TemporaryFolder folder;
  const auto is_read = [&folder](const std::string& text) {
    std::ofstream(folder.path() / kManifestName) << text;
    return ReadManifest(folder.path()).has_value();
  };
  EXPECT_FALSE(ReadManifest(folder.path()));
  EXPECT_TRUE(is_read(R"({"format": 1, "status": "done", "points": [{"name": "a"}]})"));
  EXPECT_TRUE(is_read("{}"));
  for (const char* text : {"[]", "{", R"({"format": "2"})", R"({"status": null})",
                           R"({"experiment": "x"})", R"({"points": [1]})", R"({"points": {}})",
                           R"({"points": [{}]})", R"({"points": [{"name": 3}]})"})
    EXPECT_FALSE(is_read(text)) << text;
  EXPECT_EQ(PointFolders(folder.path()), std::vector{folder.path()});
}

}  // namespace
}  // namespace cosched
