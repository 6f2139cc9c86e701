#include "experiments/wire/packet_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

namespace cosched {
namespace {

class PacketSocketTest : public ::testing::Test {
 protected:
  PacketSocketTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = UniqueFd(ends[0]);
    theirs_ = UniqueFd(ends[1]);
  }

  UniqueFd ours_, theirs_;
  std::string text_;
};

TEST_F(PacketSocketTest, PacketsArriveWholeAndInOrder) {
  EXPECT_EQ(ReceivePacket(ours_.get(), &text_), Receipt::kNothing);
  ASSERT_TRUE(SendPacket(theirs_.get(), "first"));
  ASSERT_TRUE(SendPacket(theirs_.get(), std::string(kMaxPacket + 1, 'x')));
  ASSERT_TRUE(SendPacket(theirs_.get(), std::string(kMaxPacket, 'y')));
  EXPECT_EQ(ReceivePacket(ours_.get(), &text_), Receipt::kPacket);
  EXPECT_EQ(text_, "first");
  EXPECT_EQ(ReceivePacket(ours_.get(), &text_), Receipt::kTooLong);
  EXPECT_EQ(ReceivePacket(ours_.get(), &text_), Receipt::kPacket);
  EXPECT_EQ(text_, std::string(kMaxPacket, 'y'));
  EXPECT_EQ(ReceivePacket(ours_.get(), &text_), Receipt::kNothing);
}

// A tenant that ends while a grant is on its way to it: the kernel tells of the grant's loss before
// what the tenant has said.
TEST_F(PacketSocketTest, LastWordsAreHeardThoughTheirSpeakerDidNotListen) {
  ASSERT_TRUE(SendPacket(ours_.get(), "a grant"));
  ASSERT_TRUE(SendPacket(theirs_.get(), "finished"));
  ASSERT_TRUE(SendPacket(theirs_.get(), "good-bye"));
  theirs_ = UniqueFd();
  EXPECT_EQ(ReceivePacket(ours_.get(), &text_), Receipt::kPacket);
  EXPECT_EQ(text_, "finished");
  EXPECT_EQ(ReceivePacket(ours_.get(), &text_), Receipt::kPacket);
  EXPECT_EQ(text_, "good-bye");
  EXPECT_EQ(ReceivePacket(ours_.get(), &text_), Receipt::kClosed);
  EXPECT_FALSE(SendPacket(ours_.get(), "another grant"));
}

}  // namespace
}  // namespace cosched
