#include "engine/gates/rank_message.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/gates/packed_bytes.h"

namespace cosched {
namespace {

std::vector<RankMessage> OneOfEachKind() {
  return {CallsWanted{.stages = {0, 3, 7}, .calls = 2},
          CallFinished{.call = 5, .busy = 17, .made = std::string("a\0b", 3)},
          CallFinished{.call = 6, .busy = 0, .made = {}},
          CallFailed{.call = 9, .busy = 1, .why = "no", .bad_input = true},
          CallSent{.call = 1,
                   .stage = 2,
                   .request = {3},
                   .items = {{Ordinal(4), "four"}, {Ordinal(5).Then(1).Under(2), ""}}},
          CallCancelled{.call = int64_t{1} << 40},
          RankResized{.cpus = {1, 4}, .inter = 2, .intra = 3, .home = {0, 1}},
          RanksClosed{},
          RankFailed{.why = "no such file", .bad_input = true}};
}

TEST(RankMessageTest, ComesBackAsItWas) {
  for (const RankMessage& message : OneOfEachKind()) {
    const std::string bytes = Encode(message);
    const RankMessage again = DecodeRankMessage(bytes);
    EXPECT_EQ(again.index(), message.index());
    EXPECT_EQ(Encode(again), bytes);
  }
  const auto work = std::get<CallSent>(DecodeRankMessage(Encode(OneOfEachKind()[4])));
  ASSERT_EQ(work.items.size(), 2u);
  EXPECT_EQ(work.items[0].payload, "four");
  EXPECT_EQ(work.items[1].ordinal.ToString(), "2.5.1");
  EXPECT_EQ(work.request.value, 3);
}

TEST(RankMessageTest, RefusesWhatIsCutShortOrTooLong) {
  for (const RankMessage& message : OneOfEachKind()) {
    const std::string bytes = Encode(message);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THROW(DecodeRankMessage(bytes.substr(0, size)), MalformedBytes) << size;
    }
    EXPECT_THROW(DecodeRankMessage(bytes + "x"), MalformedBytes);
  }
  EXPECT_THROW(DecodeRankMessage("\x7f"), MalformedBytes);
}

// A count is believed only as far as bytes are there, before memory is taken for it.
TEST(RankMessageTest, RefusesCountsWithoutBytes) {
  PackedWriter writer;
  writer.Number(static_cast<uint8_t>(RankMessage(CallSent{}).index()));
  writer.Number(int64_t{1});
  writer.Number(int32_t{0});
  writer.Number(int64_t{0});
  writer.Count(size_t{1} << 60);
  EXPECT_THROW(DecodeRankMessage(writer.Take()), MalformedBytes);
}

TEST(RankMessageTest, RefusesOrdinalsThatAreNone) {
  std::string bytes = Encode(CallSent{.request = {0}, .items = {{Ordinal(4), ""}}});
  const std::string ordinal = std::string("\4\0\0\0", 4) + "\xff\xff\xff\xff";
  const size_t at = bytes.find(ordinal);
  ASSERT_NE(at, std::string::npos);
  std::string none = bytes;
  none.replace(at, 4, 4, '\xff');
  EXPECT_THROW(DecodeRankMessage(none), MalformedBytes);
  std::string gap = bytes;
  gap[at + 8] = 0;
  EXPECT_THROW(DecodeRankMessage(gap), MalformedBytes);
}

TEST(RankMessageTest, RefusesNumbersBelowZero) {
  EXPECT_THROW(DecodeRankMessage(Encode(CallCancelled{-1})), MalformedBytes);
  EXPECT_THROW(DecodeRankMessage(Encode(RankResized{{-1}})), MalformedBytes);
  EXPECT_THROW(DecodeRankMessage(Encode(CallsWanted{{0}, -1})), MalformedBytes);
}

}  // namespace
}  // namespace cosched
