#include "experiments/os/shell_word.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace cosched {
namespace {

TEST(ShellWordTest, IsTheTextForTheShell) {
  for (const std::string text : {"/home/o'neil/a b", "$HOME `id`", "\\", "''", ""}) {
    FILE* const output = popen(("printf %s " + ShellQuoted(text)).c_str(), "r");
    char buffer[100];
    const std::string word(buffer, std::fread(buffer, 1, sizeof buffer, output));
    EXPECT_EQ(pclose(output), 0);
    EXPECT_EQ(word, text);
  }
}

}  // namespace
}  // namespace cosched
