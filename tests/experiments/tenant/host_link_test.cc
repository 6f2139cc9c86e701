#include "experiments/tenant/host_link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>

#include "experiments/wire/shared_counters.h"
#include "experiments/wire/tenant_protocol.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

// A host that accepts one tenant and does `greet` with its socket.
class FakeHost {
 public:
  explicit FakeHost(std::function<void(int socket)> greet)
      : listener_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 1), 0);
    thread_ = std::thread([this, greet = std::move(greet)] {
      tenant_ = UniqueFd(accept(listener_.get(), nullptr, nullptr));
      greet(tenant_.get());
    });
  }
  ~FakeHost() {
    if (thread_.joinable()) thread_.join();
  }

  HostLink Connect() {
    HostLink link;
    try {
      link = ConnectToHost(path_);
    } catch (...) {
      thread_.join();
      throw;
    }
    thread_.join();
    return link;
  }
  int tenant() const { return tenant_.get(); }

 private:
  const TemporaryFolder folder_;
  const std::string path_ = (folder_.path() / "host").string();
  UniqueFd listener_, tenant_;
  std::thread thread_;
};

std::string Complaint(std::function<void(int socket)> greet) {
  try {
    FakeHost(std::move(greet)).Connect();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(HostLinkTest, ConnectedTenantSharesThePageAndTalks) {
  SharedCounters page = SharedCounters::Create();
  FakeHost host([&page](int socket) {
    EXPECT_TRUE(SendPacket(socket, Encode(HostMessage(WelcomeMessage{})), page.fd()));
  });
  HostLink link = host.Connect();
  SharedCounters::Map(std::move(link.counters)).SetThreads(3);
  EXPECT_EQ(page.Read().active_threads, 3);
  EXPECT_TRUE(SendPacket(link.socket.get(), "hello"));
  std::string text;
  EXPECT_EQ(ReceivePacket(host.tenant(), &text), Receipt::kPacket);
  EXPECT_EQ(text, "hello");
}

TEST(HostLinkTest, WrongWelcomesAreTold) {
  const std::string welcome = Encode(HostMessage(WelcomeMessage{}));
  const auto says = [](const std::string& text) {
    return [text](int socket) { SendPacket(socket, text); };
  };
  EXPECT_NE(Complaint(says(welcome)).find("gave no page of counters"), std::string::npos);
  EXPECT_NE(Complaint(says("{}")).find("can't be read: no \"version\""), std::string::npos);
  EXPECT_NE(Complaint([](int socket) { shutdown(socket, SHUT_RDWR); }).find("hung up"),
            std::string::npos);
}

TEST(HostLinkTest, NoHostIsTold) {
  EXPECT_THROW(ConnectToHost("/nowhere/host"), std::runtime_error);
  EXPECT_THROW(ConnectToHost(std::string(200, 'x')), std::runtime_error);
}

}  // namespace
}  // namespace cosched
