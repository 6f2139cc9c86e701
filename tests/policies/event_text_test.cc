#include "policies/event_text.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

// Every kind of event, with the text that records and external policies know it by.
const std::pair<Event, std::string> kTexts[] = {
    {JobArrived{JobId{3}}, "job-arrived 3"},
    {JobFinished{JobId{0}}, "job-finished 0"},
    {JobFailed{JobId{12}}, "job-failed 12"},
    {GrantSettled{JobId{7}}, "grant-settled 7"},
    {WindowOver{}, "window-over"},
    {Tick{}, "tick"},
    {ObjectiveChanged{ServiceId{1}}, "objective-changed 1"},
};

TEST(EventText, IsReadBackAsItWasWritten) {
  EXPECT_EQ(std::size(kTexts), std::variant_size_v<Event>) << "a kind without a text";
  for (const auto& [event, text] : kTexts) {
    EXPECT_EQ(ToString(event), text);
    const std::optional<Event> read = ParseEvent(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->index(), event.index()) << text;
    EXPECT_EQ(JobOf(*read), JobOf(event)) << text;
    EXPECT_EQ(text.rfind(KindOf(event), 0), 0u) << text;
  }
}

TEST(EventText, AnAllocationIsReadWordByWord) {
  std::vector<std::string> read;
  for (const auto& [job, what] : ParseAllocation("3=0-1 4=reject  x=2 5 =1 -6=1 7=0.5@1/2"))
    read.push_back(std::to_string(job.value) + ": " + std::string(what));
  EXPECT_EQ(read, (std::vector<std::string>{"3: 0-1", "4: reject", "7: 0.5@1/2"}));
  EXPECT_TRUE(ParseAllocation("").empty());
}

TEST(EventText, OtherTextsAreNoEvent) {
  for (const char* text : {"", "job", "job-arrived", "job-arrived ", "job-arrived x",
                           "job-arrived 3 4", "job-arrived3", "tick 3", "ticks", " tick"}) {
    EXPECT_FALSE(ParseEvent(text)) << text;
  }
}

}  // namespace
}  // namespace cosched
