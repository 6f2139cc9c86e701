#include "experiments/wire/tenant_protocol.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "engine/base/random.h"
#include "engine/base/unique_fd.h"

namespace cosched {
namespace {

using nlohmann::json;

struct Sockets {
  Sockets() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    first = UniqueFd(ends[0]);
    second = UniqueFd(ends[1]);
  }
  UniqueFd first, second;
};

CpuSet WidestSet() {
  CpuSet cpus;
  for (int cpu = 0; cpu <= CpuSet::kMaxCpu; cpu += 2) cpus.Add(cpu);
  return cpus;
}

std::string GrantWith(const char* key, const json& value) {
  json grant = {{"version", 1},   {"type", "grant"}, {"sequence", 2},
                {"cores", "0-1"}, {"inter", 1},      {"intra", 2}};
  grant[key] = value;
  return grant.dump();
}

TEST(TenantProtocolTest, HostMessagesComeBackAsTheyWere) {
  for (const HostMessage& message : std::vector<HostMessage>{
           GrantMessage{2, {0, 1, 5}, {2, 3}}, GrantMessage{INT64_MAX, {}, {0, 0}},
           GrantMessage{1, WidestSet(), {4096, 4096}}, WelcomeMessage{}}) {
    const std::string text = Encode(message);
    EXPECT_LE(text.size(), kMaxTenantMessage);
    const Parsed<HostMessage> parsed = ParseHostMessage(text);
    ASSERT_TRUE(parsed.message) << text << ": " << parsed.error;
    EXPECT_EQ(*parsed.message, message);
  }
}

TEST(TenantProtocolTest, TenantMessagesComeBackAsTheyWere) {
  for (const TenantMessage& message : std::vector<TenantMessage>{
           HelloMessage{JobId{7}}, SettledMessage{3, {1}, {1, 1}, std::chrono::microseconds(83)},
           SettledMessage{4, {}, {0, 0}, {}},
           ResizedMessage{ResizeCause::kControl,
                          {1, 2},
                          {2, 3},
                          {0, 5},
                          "Conv2D",
                          std::chrono::microseconds(83),
                          std::chrono::nanoseconds(1234567)},
           ResizedMessage{ResizeCause::kCpuset, {0, 0}, {0, 0}, {}, "", {}, {}},
           FinishedMessage{50, 1600}, FinishedMessage{0, 0, "it kept \"2\""},
           ErrorMessage{"no \"x\"\n"}}) {
    const Parsed<TenantMessage> parsed = ParseTenantMessage(Encode(message));
    ASSERT_TRUE(parsed.message) << parsed.error;
    EXPECT_EQ(*parsed.message, message);
  }
}

TEST(TenantProtocolTest, ControlMessagesComeBackAsTheyWere) {
  using Verb = ControlRequest::Verb;
  for (const ControlRequest& request :
       std::vector<ControlRequest>{{1, Verb::kStatus},
                                   {INT64_MAX, Verb::kPause},
                                   {2, Verb::kResume},
                                   {3, Verb::kStop},
                                   {4, Verb::kSet, CpuSet{0, 1, 5}, 2, 3},
                                   {5, Verb::kSet, std::nullopt, 0}}) {
    const Parsed<ControlRequest> parsed = ParseControlRequest(Encode(request));
    ASSERT_TRUE(parsed.message) << parsed.error;
    EXPECT_EQ(*parsed.message, request);
  }
  StatusReply status;
  status.id = 9;
  status.program = "resnet20 train batch 32";
  status.job = 7;
  status.ready = true;
  status.step = 5;
  status.images_per_second = 150.25;
  status.cores = {0, 1};
  status.may_use = {0, 1, 2};
  status.threads = status.capacity = {2, 4};
  status.wanted = {3, 4};
  status.grow = {3, std::chrono::microseconds(1), std::chrono::microseconds(2),
                 std::chrono::microseconds(3), std::chrono::microseconds(4)};
  for (const ControlReply& reply :
       std::vector<ControlReply>{OkReply{2, {0, 1}, {1, 2}, std::chrono::microseconds(83)}, status,
                                 ErrorReply{0, "can't be read"}}) {
    const Parsed<ControlReply> parsed = ParseControlReply(Encode(reply));
    ASSERT_TRUE(parsed.message) << parsed.error;
    EXPECT_EQ(*parsed.message, reply);
  }
}

TEST(TenantProtocolTest, SaysWhatIsWrongWithAControlRequest) {
  const struct {
    std::string text, error;
  } cases[] = {
      {R"({"version":1,"type":"pause"})", "no \"id\""},
      {R"({"version":1,"type":"pause","id":0})", "\"id\" must be an integer from 1"},
      {R"({"version":1,"type":"set","id":1})", "nothing to set"},
      {R"({"version":1,"type":"set","id":1,"intra":-1})", "\"intra\" must be an integer from 0"},
      {R"({"version":1,"type":"set","id":1,"cores":"x"})", "\"cores\" must be an interval set"},
      {R"({"version":1,"type":"grant","id":1})", "unknown type"},
  };
  for (const auto& [text, error] : cases) {
    const Parsed<ControlRequest> parsed = ParseControlRequest(text);
    EXPECT_FALSE(parsed.message) << text;
    EXPECT_NE(parsed.error.find(error), std::string::npos) << parsed.error;
  }
}

TEST(TenantProtocolTest, LongAndBinaryReasonsAreCutAndCleaned) {
  const std::string text = Encode(TenantMessage(ErrorMessage{std::string(100000, '\xff')}));
  EXPECT_LE(text.size(), kMaxTenantMessage);
  EXPECT_TRUE(ParseTenantMessage(text).message);
}

TEST(TenantProtocolTest, UnknownKeysAreIgnored) {
  EXPECT_TRUE(ParseHostMessage(GrantWith("colour", {1, 2})).message);
}

TEST(TenantProtocolTest, SaysWhatIsWrong) {
  const struct {
    std::string text, error;
  } cases[] = {
      {"", "not a JSON object"},
      {"[1]", "not a JSON object"},
      {"{\"version\":1", "not a JSON object"},
      {std::string("{\0}", 3), "not a JSON object"},
      {"{}", "no \"version\""},
      {GrantWith("version", 2), "protocol version 2, this side speaks 1"},
      {GrantWith("version", "1"), "\"version\" must be an integer"},
      {GrantWith("type", "gift"), "unknown type \"gift\""},
      {GrantWith("type", 3), "\"type\" must be a string"},
      {GrantWith("sequence", 0), "\"sequence\" must be an integer from 1"},
      {GrantWith("sequence", 1.5), "\"sequence\" must be an integer"},
      {GrantWith("sequence", UINT64_MAX), "\"sequence\" must be an integer"},
      {GrantWith("cores", "3-1"), "\"cores\" must be an interval set"},
      {GrantWith("cores", "0-99999999"), "\"cores\" must be an interval set"},
      {GrantWith("cores", ""), "\"inter\" must be an integer from 0 to 0"},
      {GrantWith("inter", 0), "\"inter\" must be an integer from 1"},
      {GrantWith("intra", 1000000), "\"intra\" must be an integer"},
      {GrantWith("intra", nullptr), "\"intra\" must be an integer"},
      {std::string(kMaxTenantMessage + 1, ' '), "longer than a message may be"},
      {std::string(kMaxTenantMessage, '['), "not a JSON object"},
  };
  for (const auto& [text, error] : cases) {
    const Parsed<HostMessage> parsed = ParseHostMessage(text);
    EXPECT_FALSE(parsed.message) << text.substr(0, 100);
    EXPECT_NE(parsed.error.find(error), std::string::npos)
        << parsed.error << " for " << text.substr(0, 100);
  }
}

TEST(TenantProtocolTest, EachSideRefusesTheOthersMessages) {
  EXPECT_FALSE(ParseTenantMessage(Encode(HostMessage(WelcomeMessage{}))).message);
  EXPECT_FALSE(ParseHostMessage(Encode(TenantMessage(HelloMessage{JobId{1}}))).message);
}

TEST(TenantProtocolTest, SurvivesDamagedMessages) {
  Random random(7);
  const std::string good = Encode(TenantMessage(SettledMessage{3, {0, 1}, {1, 2}, {}}));
  for (int i = 0; i < 20000; ++i) {
    std::string bad =
        good.substr(0, random.Below(2) == 0 ? good.size() : random.Below(good.size()));
    for (uint64_t j = random.Below(4); j > 0 && !bad.empty(); --j) {
      bad[random.Below(bad.size())] = static_cast<char>(random.Below(256));
    }
    const Parsed<TenantMessage> parsed = ParseTenantMessage(bad);
    EXPECT_NE(parsed.message.has_value(), !parsed.error.empty());
  }
}

TEST(TenantProtocolTest, PacketsArriveWholeAndInOrder) {
  const Sockets sockets;
  std::string text;
  EXPECT_EQ(ReceivePacket(sockets.second.get(), &text), Receipt::kNothing);
  EXPECT_TRUE(SendPacket(sockets.first.get(), "one"));
  EXPECT_TRUE(SendPacket(sockets.first.get(), std::string(kMaxTenantMessage, 'x')));
  EXPECT_EQ(ReceivePacket(sockets.second.get(), &text), Receipt::kPacket);
  EXPECT_EQ(text, "one");
  EXPECT_EQ(ReceivePacket(sockets.second.get(), &text), Receipt::kPacket);
  EXPECT_EQ(text.size(), kMaxTenantMessage);
}

TEST(TenantProtocolTest, DescriptorTravelsWithItsPacketToWhoWantsIt) {
  const Sockets sockets;
  const UniqueFd file(memfd_create("travels", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(file.get(), 4711), 0);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(SendPacket(sockets.first.get(), "with", file.get()));
  ASSERT_TRUE(SendPacket(sockets.first.get(), "without"));
  std::string text;
  EXPECT_EQ(ReceivePacket(sockets.second.get(), &text), Receipt::kPacket);  // Not wanted.
  UniqueFd got;
  EXPECT_EQ(ReceivePacket(sockets.second.get(), &text, &got), Receipt::kPacket);
  EXPECT_EQ(text, "with");
  struct stat status {};
  ASSERT_EQ(fstat(got.get(), &status), 0);
  EXPECT_EQ(status.st_size, 4711);
  EXPECT_EQ(fcntl(got.get(), F_GETFD), FD_CLOEXEC);
  got.Reset();
  EXPECT_EQ(ReceivePacket(sockets.second.get(), &text, &got), Receipt::kPacket);
  EXPECT_FALSE(got);
}

TEST(TenantProtocolTest, OversizedPacketIsThrownAwayAlone) {
  const Sockets sockets;
  const std::string big(kMaxTenantMessage + 1, 'x');
  ASSERT_EQ(send(sockets.first.get(), big.data(), big.size(), 0), static_cast<ssize_t>(big.size()));
  EXPECT_TRUE(SendPacket(sockets.first.get(), "next"));
  std::string text;
  EXPECT_EQ(ReceivePacket(sockets.second.get(), &text), Receipt::kTooLong);
  EXPECT_EQ(ReceivePacket(sockets.second.get(), &text), Receipt::kPacket);
  EXPECT_EQ(text, "next");
}

TEST(TenantProtocolTest, PeerThatIsGoneOrDeafIsNoticed) {
  Sockets sockets;
  int sent = 0;
  while (SendPacket(sockets.first.get(), std::string(1000, 'x'))) ++sent;
  EXPECT_GT(sent, 0);  // Full, and the call did not block.
  sockets.second.Reset();
  EXPECT_FALSE(SendPacket(sockets.first.get(), "x"));
  std::string text;
  EXPECT_EQ(ReceivePacket(sockets.first.get(), &text), Receipt::kClosed);
}

}  // namespace
}  // namespace cosched
