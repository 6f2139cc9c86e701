#include "engine/gates/queue_link.h"

#include <gtest/gtest.h>

#include <thread>

namespace cosched {
namespace {

constexpr auto kLong = std::chrono::seconds(100);

TEST(QueueLinkTest, MessagesOfARankComeInTheirOrder) {
  QueueLinks links(3);
  EXPECT_EQ(links.Of(2).Rank(), 2);
  EXPECT_EQ(links.Of(2).Size(), 3);
  for (int64_t i = 0; i < 10; ++i) links.Of(2).Send(0, Encode(CallCancelled{i}));
  for (int64_t i = 0; i < 10; ++i) {
    const auto received = links.Of(0).Receive(kLong);
    ASSERT_TRUE(received);
    EXPECT_EQ(received->from, 2);
    EXPECT_EQ(std::get<CallCancelled>(received->message).call, i);
  }
  EXPECT_FALSE(links.Of(0).Receive(std::chrono::microseconds(1)));
}

TEST(QueueLinkTest, AReceiverIsWoken) {
  QueueLinks links(2);
  std::thread waker([&] { links.Of(0).Wake(); });
  EXPECT_FALSE(links.Of(0).Receive(kLong));
  waker.join();
}

TEST(QueueLinkTest, ARankThatIsGoneIsToldAfterWhatItSent) {
  QueueLinks links(3);
  links.Of(2).Send(0, Encode(RanksClosed{}));
  links.Kill(2);
  EXPECT_TRUE(links.Of(0).Receive(kLong));
  for (int i = 0; i < 2; ++i) {
    try {
      links.Of(0).Receive(kLong);
      FAIL() << "rank 2 is there";
    } catch (const LinkError& error) {
      EXPECT_STREQ(error.what(), "rank 2 is gone");
    }
  }
  EXPECT_THROW(links.Of(1).Receive(kLong), LinkError);
}

TEST(QueueLinkTest, BytesThatAreNoMessageAreALinkError) {
  QueueLinks links(2);
  links.Of(1).Send(0, "nonsense");
  EXPECT_THROW(links.Of(0).Receive(kLong), LinkError);
}

}  // namespace
}  // namespace cosched
