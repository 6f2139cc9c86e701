#include "experiments/wire/command_choice.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

using Kind = ProgressSource::Kind;

TEST(ProgressSourceTest, IsReadAsItIsWritten) {
  for (const ProgressSource& source :
       {ProgressSource{}, ProgressSource{Kind::kClient, ""}, ProgressSource{Kind::kRegions, ""},
        ProgressSource{Kind::kOutput, "step ([0-9]+): done"}, ProgressSource{Kind::kFile, "a:b"}}) {
    EXPECT_EQ(ParseProgressSource(ToString(source)), source) << ToString(source);
  }
}

TEST(ProgressSourceTest, WhatIsNoneIsRefused) {
  for (const char* text : {"", "output", "output:", "file:", "output:(", "output:[", "clients"})
    EXPECT_FALSE(ParseProgressSource(text)) << text;
  EXPECT_TRUE(ParseProgressSource("output:" + std::string(150, '(') + std::string(150, ')')));
  EXPECT_FALSE(ParseProgressSource("output:" + std::string(301, 'x')));
}

TEST(CommandClientTest, IsReadAsItIsWritten) {
  for (const CommandClient client :
       {CommandClient::kNone, CommandClient::kLibrary, CommandClient::kOpenMp}) {
    CommandClient read = CommandClient::kNone;
    EXPECT_TRUE(ParseCommandClient(ToString(client), &read));
    EXPECT_EQ(read, client);
  }
  CommandClient untouched = CommandClient::kLibrary;
  EXPECT_FALSE(ParseCommandClient("on", &untouched));
}

TEST(CommandProgramNameTest, TellsClientsApart) {
  CommandChoice command{.arguments = {"python3", "train.py", "--steps", "{steps}"}};
  EXPECT_EQ(CommandProgramName(command), "python3 train.py --steps {steps}");
  command.client = CommandClient::kOpenMp;
  EXPECT_EQ(CommandProgramName(command), "python3 train.py --steps {steps} (client openmp)");
}

TEST(ExpandedTest, KnownWordsAreReplacedAndOthersStay) {
  const CommandPlace place{
      .cores = {0, 1, 4}, .threads = 3, .steps = 70, .job = 5, .seed = 18'000'000'000'000'000'000U};
  EXPECT_EQ(Expanded("-n{threads}x{count} {cores} {steps} {job} {seed}", place),
            "-n3x3 0-1,4 70 5 18000000000000000000");
  for (const char* text : {"", "{", "{}", "{thread}", "awk '{print}'", "{ threads}", "threads}"})
    EXPECT_EQ(Expanded(text, place), text);
  EXPECT_EQ(Expanded("{{threads}}{threads", place), "{3}{threads");
}

}  // namespace
}  // namespace cosched
