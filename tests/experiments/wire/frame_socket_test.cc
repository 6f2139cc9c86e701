// Frames come out as they went in, however the stream was cut; what is no frame ends it.

#include "experiments/wire/frame_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace cosched {
namespace {

using Next = FrameReader::Next;

TEST(FrameReader, FramesComeOutHoweverTheyWereCut) {
  const std::vector<std::string> texts = {"", "a", std::string(300, 'x'), std::string("\0\n", 2)};
  std::string stream;
  for (const std::string& text : texts) stream += Framed(text);
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameReader reader;
    std::vector<std::string> taken;
    for (size_t begin = 0; begin < stream.size(); begin += piece) {
      reader.Add(stream.substr(begin, piece));
      for (std::string text; reader.Take(&text) == Next::kFrame;) taken.push_back(text);
    }
    EXPECT_EQ(taken, texts) << "pieces of " << piece;
  }
}

TEST(FrameReader, TooLongIsToldBeforeItHasArrived) {
  FrameReader reader(10);
  std::string text;
  reader.Add(Framed(std::string(10, 'x')));
  EXPECT_EQ(reader.Take(&text), Next::kFrame);
  reader.Add(Framed(std::string(11, 'x')).substr(0, 4));
  EXPECT_EQ(reader.Take(&text), Next::kTooLong);
  reader.SetMost(11);
  EXPECT_EQ(reader.Take(&text), Next::kNothing);
  reader.Add(std::string("\xFF\xFF\xFF\xFF", 4));
  FrameReader whole;
  whole.Add(std::string("\xFF\xFF\xFF\xFF", 4));
  EXPECT_EQ(whole.Take(&text), Next::kTooLong);
}

class FrameSocketTest : public testing::Test {
 protected:
  FrameSocketTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    one_ = std::make_unique<FrameSocket>(UniqueFd(ends[0]));
    other_ = std::make_unique<FrameSocket>(UniqueFd(ends[1]), 1 << 20);
  }

  std::unique_ptr<FrameSocket> one_, other_;
};

TEST_F(FrameSocketTest, KeepsWhatThePeerDoesNotTakeYet) {
  const std::string large(1 << 20, 'y');
  for (int i = 0; i < 8; ++i) one_->Send(large);
  EXPECT_TRUE(one_->HasUnsent());
  int taken = 0;
  for (std::string text; taken < 8;) {
    one_->Flush();
    other_->Receive();
    ASSERT_FALSE(other_->closed()) << other_->problem();
    while (other_->Take(&text)) {
      EXPECT_EQ(text, large);
      ++taken;
    }
  }
  EXPECT_FALSE(one_->HasUnsent());
}

TEST_F(FrameSocketTest, WhatWasSaidBeforeTheEndIsThere) {
  one_->Send("last words");
  one_.reset();
  other_->Send("to nobody");
  other_->Receive();
  EXPECT_TRUE(other_->closed());
  std::string text;
  ASSERT_TRUE(other_->Take(&text));
  EXPECT_EQ(text, "last words");
  EXPECT_FALSE(other_->Take(&text));
}

TEST_F(FrameSocketTest, TooLongEndsIt) {
  one_->Send(std::string((1 << 20) + 1, 'y'));
  std::string text;
  other_->Receive();
  EXPECT_FALSE(other_->Take(&text));
  EXPECT_TRUE(other_->closed());
  EXPECT_NE(other_->problem().find("longer"), std::string::npos);
}

TEST(Tcp, ConnectsByAddress) {
  const TcpListener listener = ListenOnTcp(/*local=*/true);
  EXPECT_FALSE(AcceptTcp(listener.fd.get()));
  FrameSocket client(ConnectTcp("127.0.0.1:" + std::to_string(listener.port)));
  FrameSocket server(AcceptTcp(listener.fd.get()));
  client.Send("hello");
  std::string text;
  while (!server.Take(&text) && !server.closed()) server.Receive();
  EXPECT_EQ(text, "hello");
}

TEST(Tcp, EverybodyCanConnectWhereItIsNotLocal) {
  const TcpListener listener = ListenOnTcp(/*local=*/false);
  EXPECT_TRUE(ConnectTcp("127.0.0.1:" + std::to_string(listener.port)));
}

TEST(Tcp, WhatIsNoAddressIsRefused) {
  int free_port = 0;
  { free_port = ListenOnTcp(/*local=*/true).port; }
  for (const std::string& address :
       {std::string(), std::string("127.0.0.1"), std::string(":80"),
        "127.0.0.1:" + std::to_string(free_port), std::string("no host:80")}) {
    try {
      ConnectTcp(address);
      ADD_FAILURE() << address << " was taken";
    } catch (const InputError& error) {
      EXPECT_EQ(error.details().key, "--connect");
    }
  }
}

}  // namespace
}  // namespace cosched
