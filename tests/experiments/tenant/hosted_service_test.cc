// A service's end of the socket: several lanes answer on it at once, to a host that reads slowly,
// while the pools are resized. No request is lost, or answered twice.

#include "experiments/tenant/hosted_service.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "experiments/hosts/tenant_requests.h"
#include "experiments/wire/packet_socket.h"
#include "experiments/wire/tenant_protocol.h"

namespace cosched {
namespace {

class HostedServiceTest : public ::testing::Test {
 protected:
  void Open(Split lanes) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    host_ = UniqueFd(ends[0]);
    tenant_ = UniqueFd(ends[1]);
    // Room for a few packets only: the lanes come to wait for it.
    const int little = 1;
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
    ServiceSettings settings;
    settings.model = "empty";
    settings.batch = 256;
    settings.session.inter_op_parallelism_threads = lanes.inter;
    settings.session.intra_op_parallelism_threads = lanes.intra;
    service_ = std::make_unique<HostedService>(settings, tenant_.get(), &counters_, &meter_);
    service_->Pools().Resize({0}, lanes);
    service_->Begin();
  }

  // What the control thread does, until the drain.
  void TakeUntilDrained() {
    std::string text;
    while (true) {
      pollfd readable{tenant_.get(), POLLIN, 0};
      poll(&readable, 1, -1);
      const Receipt receipt = ReceivePacket(tenant_.get(), &text);
      if (receipt == Receipt::kClosed) return;
      if (receipt != Receipt::kPacket) continue;
      if (!IsRequestPacket(text)) return service_->Drain();
      service_->Take(*ParseRequestPacket(text).message);
    }
  }

  UniqueFd host_, tenant_;
  SharedCounters counters_ = SharedCounters::Create();
  StepMeter meter_;
  std::unique_ptr<HostedService> service_;
};

TEST_F(HostedServiceTest, LanesAnswerEveryRequestOnceToAHostThatReadsSlowly) {
  constexpr int kRounds = 60, kEach = 1000;
  Open({8, 1});
  std::thread control([this] { TakeUntilDrained(); });
  std::thread resizer([this] {
    for (int round = 0; round < kRounds; ++round) {
      service_->Pools().Resize({0}, {round % 8 + 1, 1});
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    service_->Pools().Resize({0}, {8, 1});
  });
  TenantRequests requests(JobId{7});
  const auto now = [] { return TimePoint(MonotonicNow()); };
  std::vector<RequestSample> answered;
  const auto take_one = [&](int milliseconds) {
    pollfd readable{host_.get(), POLLIN, 0};
    if (poll(&readable, 1, milliseconds) <= 0) return false;
    std::string text;
    EXPECT_EQ(ReceivePacket(host_.get(), &text), Receipt::kPacket);
    EXPECT_EQ(requests.Take(*ParseAnswerPacket(text).message, Duration(0), now()), "");
    requests.TakeAnswered(&answered);
    return true;
  };
  int64_t id = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kEach; ++i) requests.Send({.id = id++, .scheduled = now()}, now());
    requests.Flush(host_.get());
    take_one(0);  // Far less than it sends.
  }
  requests.Drain();
  // Ends when nothing came for so long that nothing will.
  while (!requests.AllAnswered() || !requests.Flushed()) {
    requests.Flush(host_.get());
    if (!take_one(20'000)) break;
  }
  resizer.join();
  control.join();
  EXPECT_TRUE(requests.AllAnswered());
  std::set<int64_t> ids;
  for (const RequestSample& sample : answered) ids.insert(sample.id);
  EXPECT_EQ(ids.size(), static_cast<size_t>(id));
  EXPECT_EQ(answered.size(), static_cast<size_t>(id));
  if (requests.AllAnswered()) service_->WaitUntilOver();
  EXPECT_EQ(counters_.Read().requests_answered, id);
}

}  // namespace
}  // namespace cosched
