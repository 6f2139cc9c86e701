// The host's side of a service's requests against a tenant that is only a socket.

#include "experiments/hosts/tenant_requests.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "experiments/wire/packet_socket.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

constexpr Duration kEpoch = milliseconds(1000);  // MonotonicNow() at TimePoint zero.

TimePoint At(int64_t ms) { return TimePoint(milliseconds(ms)); }

class TenantRequestsTest : public ::testing::Test {
 protected:
  TenantRequestsTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = UniqueFd(ends[0]);
    theirs_ = UniqueFd(ends[1]);
  }
  void Send(int64_t id, int64_t ms, double work = 1) {
    requests_.Send({.id = id, .scheduled = At(ms - 1), .work = work}, At(ms));
  }
  // The tenant's answer; times of the host's clock.
  static AnswerPacket Answer(const std::vector<uint64_t>& numbers, int64_t received,
                             int64_t started, int64_t finished) {
    AnsweredBatch batch{.started = kEpoch + milliseconds(started),
                        .finished = kEpoch + milliseconds(finished),
                        .size = static_cast<int64_t>(numbers.size()),
                        .answers = {}};
    for (const uint64_t number : numbers)
      batch.answers.push_back({number, kEpoch + milliseconds(received)});
    return {{batch}};
  }
  std::string Take(const AnswerPacket& packet, int64_t now = 1000) {
    return requests_.Take(packet, kEpoch, At(now));
  }
  std::string Packet() {
    std::string text;
    return ReceivePacket(theirs_.get(), &text) == Receipt::kPacket ? text : "";
  }
  std::vector<RequestSample> Answered() {
    std::vector<RequestSample> answered;
    requests_.TakeAnswered(&answered);
    return answered;
  }

  TenantRequests requests_{JobId{3}};
  UniqueFd ours_, theirs_;
};

TEST_F(TenantRequestsTest, TravelTogetherAndTheDrainLast) {
  Send(40, 1);
  Send(50, 2, 0.5);
  EXPECT_FALSE(requests_.Flushed());
  requests_.Flush(ours_.get());
  EXPECT_TRUE(requests_.Flushed());
  EXPECT_EQ(*ParseRequestPacket(Packet()).message, (RequestPacket{0, {1, 0.5}}));
  Send(60, 3);
  requests_.Drain();
  requests_.Flush(ours_.get());
  EXPECT_EQ(*ParseRequestPacket(Packet()).message, (RequestPacket{2, {1}}));
  EXPECT_TRUE(std::holds_alternative<DrainMessage>(*ParseHostMessage(Packet()).message));
  EXPECT_TRUE(requests_.Drained());
  EXPECT_FALSE(requests_.AllAnswered());
}

TEST_F(TenantRequestsTest, AnswersComeInAnyOrder) {
  for (int64_t id : {40, 50, 60}) Send(id, 10);
  requests_.Flush(ours_.get());
  EXPECT_EQ(Take(Answer({1, 2}, 11, 12, 15)), "");
  EXPECT_EQ(Take(Answer({0}, 11, 13, 20)), "");
  EXPECT_TRUE(requests_.AllAnswered());
  const std::vector<RequestSample> answered = Answered();
  ASSERT_EQ(answered.size(), 3u);
  EXPECT_EQ(answered[0].id, 50);
  EXPECT_EQ(answered[0].server, ServerId(JobId{3}));
  EXPECT_EQ(answered[0].scheduled, At(9));
  EXPECT_EQ(answered[0].received, At(11));
  EXPECT_EQ(answered[0].started, At(12));
  EXPECT_EQ(answered[0].finished, At(15));
  EXPECT_EQ(answered[0].batch, 2);
  EXPECT_EQ(answered[2].id, 40);
  EXPECT_EQ(answered[2].batch, 1);
  EXPECT_TRUE(Answered().empty());
}

TEST_F(TenantRequestsTest, TimesAreBelievedAsFarAsTheyCanBe) {
  Send(40, 10);
  requests_.Flush(ours_.get());
  EXPECT_EQ(Take(Answer({0}, 2, 1, 99999), 50), "");
  const RequestSample sample = Answered().at(0);
  EXPECT_EQ(sample.received, At(10));
  EXPECT_EQ(sample.started, At(10));
  EXPECT_EQ(sample.finished, At(50));
}

TEST_F(TenantRequestsTest, NobodyAnswersWhatHeWasNotAsked) {
  Send(40, 10);
  EXPECT_NE(Take(Answer({0}, 11, 12, 13)), "") << "it was not sent";
  requests_.Flush(ours_.get());
  EXPECT_NE(Take(Answer({1}, 11, 12, 13)), "");
  EXPECT_NE(Take(Answer({~uint64_t{0}}, 11, 12, 13)), "");
  EXPECT_EQ(Take(Answer({0}, 11, 12, 13)), "");
  EXPECT_NE(Take(Answer({0}, 11, 12, 13)), "") << "again";
  Send(50, 20);
  Send(60, 20);
  requests_.Flush(ours_.get());
  EXPECT_NE(Take(Answer({2, 2}, 21, 22, 23)), "") << "twice at once";
}

TEST_F(TenantRequestsTest, APacketIsOfOneServiceOfADevice) {
  TenantRequests requests(DeviceId{1});
  for (const int64_t service : {2, 2, 0, 2})
    requests.Send({.id = 40, .scheduled = At(1), .service = {service}}, At(1));
  requests.Flush(ours_.get());
  EXPECT_EQ(*ParseRequestPacket(Packet()).message, (RequestPacket{0, {1, 1}, 2}));
  EXPECT_EQ(*ParseRequestPacket(Packet()).message, (RequestPacket{2, {1}, 0}));
  EXPECT_EQ(*ParseRequestPacket(Packet()).message, (RequestPacket{3, {1}, 2}));
  EXPECT_EQ(requests.Take(Answer({2}, 1, 2, 3), kEpoch, At(1000)), "");
  std::vector<RequestSample> answered;
  requests.TakeAnswered(&answered);
  EXPECT_EQ(answered.at(0).server, ServerId(DeviceId{1}));
}

TEST_F(TenantRequestsTest, ATenantThatDoesNotReadLeavesRoomForItsGrants) {
  constexpr int64_t kRequests = 100'000;
  int64_t sent = 0;
  while (sent < kRequests) {
    Send(sent++, 1);
    requests_.Flush(ours_.get());
  }
  EXPECT_FALSE(requests_.Flushed());
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(SendPacket(ours_.get(), Encode(HostMessage(GrantMessage{i + 2, {0}, {1, 1}}))));
  // The tenant reads again: all arrive, in order, and few of them alone.
  uint64_t next = 0;
  int packets = 0, grants = 0;
  while (next < kRequests) {
    const std::string packet = Packet();
    if (packet.empty()) {
      requests_.Flush(ours_.get());
    } else if (!IsRequestPacket(packet)) {
      ++grants;
    } else {
      const auto parsed = ParseRequestPacket(packet);
      ASSERT_EQ(parsed.message->first, next);
      next += parsed.message->work.size();
      ++packets;
    }
  }
  EXPECT_EQ(grants, 10);
  EXPECT_LT(packets, kRequests / 10);
  EXPECT_TRUE(requests_.Flushed());
}

}  // namespace
}  // namespace cosched
