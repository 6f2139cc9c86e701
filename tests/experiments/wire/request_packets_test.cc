#include "experiments/wire/request_packets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/base/random.h"

namespace cosched {
namespace {

using std::chrono::nanoseconds;

AnswerPacket Answers() {
  return {{{nanoseconds(10), nanoseconds(30), 3, {{7, nanoseconds(5)}, {9, nanoseconds(6)}}},
           {nanoseconds(11), nanoseconds(11), 1, {{8, nanoseconds(0)}}}}};
}

HoldPacket Holds() {
  return {{{nanoseconds(10), nanoseconds(30), nanoseconds(31), 1, 2, 3},
           {nanoseconds(5), nanoseconds(5), nanoseconds(5), 0, 65535, 65535}}};
}

TEST(RequestPacketsTest, RoundTrip) {
  const RequestPacket requests{41, {1, 0.25, 7}, 513};
  EXPECT_EQ(*ParseRequestPacket(Encode(requests)).message, requests);
  EXPECT_EQ(*ParseAnswerPacket(Encode(Answers())).message, Answers());
  EXPECT_EQ(*ParseHoldPacket(Encode(Holds())).message, Holds());
  AnswerPacket failed = Answers();
  failed.batches.front().failed = true;
  EXPECT_EQ(*ParseAnswerPacket(Encode(failed)).message, failed);
  EXPECT_NE(failed, Answers());
}

TEST(RequestPacketsTest, LieAsTheSpecificationSays) {
  const std::string packet = Encode(RequestPacket{0x0102, {1.0}, 0x0304});
  EXPECT_EQ(packet, std::string("\xC5Q\3\0\1\0\4\3\2\1\0\0\0\0\0\0\0\0\0\0\0\0\xF0\x3F", 24));
  EXPECT_TRUE(IsRequestPacket(packet));
  EXPECT_FALSE(IsRequestPacket(Encode(HostMessage(DrainMessage{}))));
  EXPECT_FALSE(IsRequestPacket(""));
  EXPECT_TRUE(IsHoldPacket(Encode(Holds())));
  EXPECT_FALSE(IsHoldPacket(packet));
  EXPECT_FALSE(IsHoldPacket("\xC5"));
}

TEST(RequestPacketsTest, TheLargestFitIntoAPacket) {
  EXPECT_LE(Encode(RequestPacket{0, std::vector<double>(kMostRequests, 1)}).size(), kMaxPacket);
  AnsweredBatch batch;
  batch.size = kMostAnswers;
  batch.answers.resize(kMostAnswers);
  EXPECT_LE(Encode(AnswerPacket{{batch}}).size(), kMaxPacket);
}

std::string Damaged(std::string packet, size_t at, char byte) {
  packet[at] = byte;
  return packet;
}

TEST(RequestPacketsTest, SayWhatIsWrong) {
  const std::string requests = Encode(RequestPacket{1, {1, 2}}), answers = Encode(Answers());
  const struct {
    std::string packet, error;
  } bad_requests[] = {
      {"", "not a packet of requests"},
      {"{}", "not a packet of requests"},
      {answers, "mixed up"},
      {Damaged(requests, 2, 9), "version 9, this side speaks 3"},
      {Damaged(requests, 4, 0), "empty"},
      {Damaged(requests, 4, 3), "another length"},
      {requests + "x", "another length"},
      {requests.substr(0, requests.size() - 1), "another length"},
      {Encode(RequestPacket{std::numeric_limits<uint64_t>::max(), {1}}), "beyond all numbers"},
      {Encode(RequestPacket{0, {-1}}), "can't be done"},
      {Encode(RequestPacket{0, {std::nan("")}}), "can't be done"},
      {std::string(kMaxPacket + 1, '\xC5'), "longer than a packet"},
  };
  for (const auto& [packet, error] : bad_requests) {
    const auto parsed = ParseRequestPacket(packet);
    EXPECT_FALSE(parsed.message);
    EXPECT_NE(parsed.error.find(error), std::string::npos) << parsed.error << " for " << error;
  }
  const auto batch = [](int64_t started, int64_t finished, int64_t size, int64_t received) {
    return Encode(AnswerPacket{{{nanoseconds(started),
                                 nanoseconds(finished),
                                 size,
                                 {{0, nanoseconds(received)}, {1, nanoseconds(received)}}}}});
  };
  const struct {
    std::string packet, error;
  } bad_answers[] = {
      {requests, "mixed up"},
      {batch(3, 2, 2, 0), "ends before it begins"},
      {batch(-1, 2, 2, 0), "ends before it begins"},
      {batch(1, 2, 1, 0), "another size"},
      {batch(1, 2, 2, -1), "before all time"},
      {answers + "x", "another length"},
      {answers.substr(0, answers.size() - 1), "cut off"},
      {Damaged(answers, 4, 3), "cut off"},
      {Damaged(answers, 6, 1), "of a service"},
  };
  for (const auto& [packet, error] : bad_answers) {
    const auto parsed = ParseAnswerPacket(packet);
    EXPECT_FALSE(parsed.message);
    EXPECT_NE(parsed.error.find(error), std::string::npos) << parsed.error << " for " << error;
  }
}

TEST(RequestPacketsTest, SayWhatIsWrongWithHolds) {
  const std::string good = Encode(Holds());
  const auto hold = [](int64_t begin, int64_t planned_end, int64_t end, uint16_t batch) {
    return Encode(HoldPacket{
        {{nanoseconds(begin), nanoseconds(planned_end), nanoseconds(end), 0, 0, batch}}});
  };
  const struct {
    std::string packet, error;
  } bad[] = {
      {Encode(Answers()), "mixed up"},
      {good + "x", "another length"},
      {good.substr(0, good.size() - 1), "another length"},
      {Damaged(good, 6, 1), "of a service"},
      {hold(-1, 2, 3, 1), "ends before it should"},
      {hold(2, 1, 3, 1), "ends before it should"},
      {hold(1, 3, 2, 1), "ends before it should"},
      {hold(1, 2, 3, 0), "for nobody"},
  };
  for (const auto& [packet, error] : bad) {
    const auto parsed = ParseHoldPacket(packet);
    EXPECT_FALSE(parsed.message);
    EXPECT_NE(parsed.error.find(error), std::string::npos) << parsed.error << " for " << error;
  }
}

TEST(RequestPacketsTest, SurviveDamage) {
  Random random(7);
  const std::string answered = Encode(Answers()), held = Encode(Holds());
  for (int i = 0; i < 20000; ++i) {
    const std::string& good = i % 2 == 0 ? answered : held;
    std::string bad =
        good.substr(0, random.Below(2) == 0 ? good.size() : random.Below(good.size()));
    for (uint64_t j = random.Below(4); j > 0 && !bad.empty(); --j)
      bad[random.Below(bad.size())] = static_cast<char>(random.Below(256));
    const auto answers = ParseAnswerPacket(bad);
    EXPECT_NE(answers.message.has_value(), !answers.error.empty());
    const auto requests = ParseRequestPacket(bad);
    EXPECT_NE(requests.message.has_value(), !requests.error.empty());
    const auto holds = ParseHoldPacket(bad);
    EXPECT_NE(holds.message.has_value(), !holds.error.empty());
  }
}

}  // namespace
}  // namespace cosched
