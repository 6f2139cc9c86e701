#include "experiments/tenant/control_server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "engine/base/error.h"
#include "experiments/os/owner.h"
#include "experiments/wire/control_socket.h"
#include "tests/experiments/os/other_owners.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

constexpr int kNobody = 2'000'000'000;  // No process has such a number.

std::string Complaint(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// The private directory is below a folder of the test's own.
class ControlServerTest : public ::testing::Test {
 protected:
  ControlServerTest() { setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
  ~ControlServerTest() override { unsetenv("XDG_RUNTIME_DIR"); }

  // The answer, serving until it is there; "" if the server hung up.
  static std::string AnswerTo(ControlServer* server, int client, const std::string& text) {
    EXPECT_TRUE(text.empty() || SendPacket(client, text));
    std::string answer;
    while (true) {
      server->Serve([server](ControlServer::Client who, const ControlRequest& request) {
        server->Reply(who, OkReply{request.id, {0}, {1, 1}, {}});
      });
      switch (ReceivePacket(client, &answer)) {
        case Receipt::kPacket: return answer;
        case Receipt::kClosed: return "";
        default: std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }
  static std::string Pause(int64_t id) {
    return Encode(ControlRequest{.id = id, .verb = ControlRequest::Verb::kPause});
  }
  static std::string Ok(int64_t id) { return Encode(ControlReply(OkReply{id, {0}, {1, 1}, {}})); }

  TemporaryFolder folder_;
};

TEST_F(ControlServerTest, DirectoryAndSocketAreTheUsersOwn) {
  const ControlListener listener(ControlDirectory() / ControlName(7));
  struct stat status {};
  ASSERT_EQ(stat((folder_.path() / "cosched").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(listener.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(ControlServerTest, DirectoryThatCantBeTrustedIsRefused) {
  const fs::path directory = folder_.path() / "cosched";
  fs::create_directory_symlink(folder_.path(), directory);
  EXPECT_NE(Complaint([] { ControlDirectory(); }).find("is no directory"), std::string::npos);
  fs::remove(directory);
  fs::create_directory(directory);
  fs::permissions(directory, fs::perms::all);
  EXPECT_NE(Complaint([] { ControlDirectory(); }).find("is open to others"), std::string::npos);
  fs::permissions(directory, fs::perms::owner_all);
  EXPECT_EQ(Complaint([] { ControlDirectory(); }), "");
  if (geteuid() == 0) {
    ASSERT_EQ(chown(directory.c_str(), 65534, 65534), 0);
    EXPECT_NE(Complaint([] { ControlDirectory(); }).find("belongs to user 65534"),
              std::string::npos);
  }
}

TEST_F(ControlServerTest, TargetsArePidsPathsAndRuns) {
  const fs::path directory = ControlDirectory();
  EXPECT_EQ(ControlPath("42"), directory / ControlName(42));
  EXPECT_EQ(ControlPath("./x"), "./x");
  EXPECT_EQ(ControlPath("20260101T1-ab:3"), directory / "20260101T1-ab-3.sock");
  for (const char* text : {"", "x", "run:", ":3", "run:x", "-1"}) {
    EXPECT_NE(Complaint([text] { ControlPath(text); }), "") << text;
  }
}

TEST_F(ControlServerTest, StaleSocketIsTakenOverAndALiveOneIsNot) {
  const fs::path path = ControlDirectory() / ControlName(7);
  {
    const ControlListener dead(path);
    fs::rename(path, path.string() + ".kept");  // As after SIGKILL: the file stays.
  }
  fs::rename(path.string() + ".kept", path);
  EXPECT_NE(Complaint([] { ConnectToTenant("7"); }).find("is stale; none is running"),
            std::string::npos);
  const ControlListener listener(path);
  EXPECT_TRUE(ConnectToTenant("7"));
  EXPECT_NE(Complaint([&path] { ControlListener{path}; }).find("another tenant listens there"),
            std::string::npos);
  EXPECT_NE(Complaint([] { ConnectToTenant("8"); }).find("no such tenant"), std::string::npos);
  EXPECT_NE(Complaint([] { ConnectToTenant("8"); }).find("running are 7"), std::string::npos);
}

TEST_F(ControlServerTest, CleaningRemovesDeadSocketsOnly) {
  const fs::path dead = ControlDirectory() / ControlName(7), kept = dead.string() + ".kept";
  {
    const ControlListener listener(dead);
    fs::rename(dead, kept);  // As after SIGKILL: the file stays.
  }
  fs::rename(kept, dead);
  const ControlListener living(ControlDirectory() / ControlName(8));
  fs::create_symlink(ControlName(8), ControlDirectory() / "run-1.sock");
  fs::create_symlink(ControlName(kNobody), ControlDirectory() / "run-2.sock");
  EXPECT_EQ(CleanControlDirectory(),
            (std::vector<fs::path>{dead, ControlDirectory() / "run-2.sock"}));
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(ConnectToTenant("8"));
  EXPECT_TRUE(ConnectToTenant("run:1"));
  EXPECT_TRUE(CleanControlDirectory().empty());
}

// A tenant that starts has a name before it listens, and one of a container can't be looked for.
TEST_F(ControlServerTest, CleaningLeavesNamesOfTenantsThatStart) {
  const fs::path of_pid = ControlDirectory() / "run-1.sock",
                 elsewhere = ControlDirectory() / "run-2.sock",
                 contained = ControlDirectory() / "run-3.sock",
                 dead = ControlDirectory() / "run-4.sock";
  fs::create_symlink(ControlName(getpid()), of_pid);
  fs::create_symlink("1.1.sock", elsewhere);
  fs::create_symlink("/run/cosched/" + OwnerName() + "-1/3/control/tenant", contained);
  fs::create_symlink("/run/cosched/" + EndedOwner() + "-1/3/control/tenant", dead);
  EXPECT_EQ(CleanControlDirectory(), std::vector<fs::path>{dead});
}

// Containers that share a directory have the same small process numbers.
TEST_F(ControlServerTest, EqualProcessNumbersOfTwoNamespacesDoNotCollide) {
  const ControlListener theirs(ControlDirectory() / "7.1.sock"),
      ours(ControlDirectory() / ControlName(7));
  EXPECT_TRUE(ConnectToTenant("7"));
  EXPECT_TRUE(ConnectToTenant(theirs.path().string()));
  const std::string complaint = Complaint([] { ConnectToTenant("8"); });
  EXPECT_NE(complaint.find("running are " + theirs.path().string() + ", 7"), std::string::npos)
      << complaint;
}

TEST_F(ControlServerTest, NoSocketIsThereBeforeSomebodyListens) {
  const fs::path path = ControlDirectory() / ControlName(7);
  const ControlListener listener(path);
  int files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(ControlDirectory())) ++files;
  EXPECT_EQ(files, 1);  // The name it was bound to is gone.
  EXPECT_EQ(Complaint([] { ControlListener{fs::path("/nonexistent/x")}; }).find("/nonexistent/x"),
            0u);
}

TEST_F(ControlServerTest, NameOfAnothersLivingTenantIsLeftToIt) {
  const ControlListener first(ControlDirectory() / ControlName(7)),
      second(ControlDirectory() / ControlName(8));
  const fs::path name = ControlDirectory() / ControlName("run", 3);
  {
    const ControlLink theirs(ControlName("run", 3), ControlName(7));
    { const ControlLink ours(ControlName("run", 3), ControlName(8)); }
    EXPECT_EQ(fs::read_symlink(name), ControlName(7));
  }
  EXPECT_FALSE(fs::exists(fs::symlink_status(name)));
}

TEST_F(ControlServerTest, HostsNameLeadsToTheTenantAndGoesWithIt) {
  const ControlListener listener(ControlDirectory() / ControlName(7));
  {
    const ControlLink link(ControlName("run", 3), ControlName(7));
    EXPECT_TRUE(ConnectToTenant("run:3"));
  }
  EXPECT_NE(Complaint([] { ConnectToTenant("run:3"); }), "");
  EXPECT_FALSE(fs::exists(listener.path()));
}

TEST_F(ControlServerTest, BadMessagesAreAnsweredAndChangeNothing) {
  const ControlListener listener(ControlDirectory() / ControlName(7));
  ControlServer server(listener.fd());
  const UniqueFd client = ConnectToTenant("7");
  EXPECT_EQ(AnswerTo(&server, client.get(), Pause(5)), Ok(5));
  const struct {
    std::string text, reason;
  } cases[] = {
      {"{nonsense", "not a JSON object"},
      {std::string(kMaxPacket + 1, ' '), "longer than a message may be"},
      {R"({"version":2,"type":"pause","id":6})", "protocol version 2"},
      {R"({"version":1,"type":"fly","id":6})", "unknown type"},
      {R"({"version":1,"type":"set","id":6})", "nothing to set"},
      {Pause(5), "replayed"},
      {Pause(4), "replayed"},
  };
  for (const auto& [text, reason] : cases) {
    if (text.size() > kMaxPacket) {
      EXPECT_EQ(send(client.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    }
    const std::string sent = text.size() > kMaxPacket ? "" : text;
    const auto reply = ParseControlReply(AnswerTo(&server, client.get(), sent));
    ASSERT_TRUE(reply.message) << reason;
    const auto* error = std::get_if<ErrorReply>(&*reply.message);
    ASSERT_NE(error, nullptr) << reason;
    EXPECT_NE(error->reason.find(reason), std::string::npos) << error->reason;
  }
  EXPECT_EQ(AnswerTo(&server, client.get(), Pause(6)), Ok(6));
}

TEST_F(ControlServerTest, FloodOfOneIsReadInSharesAndOthersAreServed) {
  const ControlListener listener(ControlDirectory() / ControlName(7));
  ControlServer server(listener.fd());
  const UniqueFd flooder = ConnectToTenant("7"), other = ConnectToTenant("7");
  int sent = 0;
  while (SendPacket(flooder.get(), Pause(sent + 1))) ++sent;
  ASSERT_GT(sent, ControlServer::kMessagesPerPeriod);
  int handled = 0;
  server.Serve([&handled](ControlServer::Client, const ControlRequest&) { ++handled; });
  EXPECT_EQ(handled, ControlServer::kMessagesPerPeriod);
  std::vector<pollfd> waits;
  server.AddTo(&waits);
  EXPECT_EQ(waits.size(), 2u);  // The listener and the other client.
  EXPECT_EQ(AnswerTo(&server, other.get(), Pause(1)), Ok(1));
}

TEST_F(ControlServerTest, ClientThatNeverReadsIsLetGo) {
  const ControlListener listener(ControlDirectory() / ControlName(7));
  ControlServer server(listener.fd());
  const UniqueFd deaf = ConnectToTenant("7");
  const std::string reason(1900, 'x');
  ASSERT_TRUE(SendPacket(deaf.get(), Pause(1)));
  ControlServer::Client number = 0;
  server.Serve([&number](ControlServer::Client client, const ControlRequest&) { number = client; });
  ASSERT_NE(number, 0);
  for (int i = 0; i < 10000; ++i) server.Reply(number, ErrorReply{1, reason});  // Does not block.
  server.Serve([](ControlServer::Client, const ControlRequest&) {});
  std::vector<pollfd> waits;
  server.AddTo(&waits);
  EXPECT_EQ(waits.size(), 1u);
}

TEST_F(ControlServerTest, TooManyClientsAreToldSo) {
  const ControlListener listener(ControlDirectory() / ControlName(7));
  ControlServer server(listener.fd());
  std::vector<UniqueFd> clients;
  for (size_t i = 0; i < ControlServer::kMostClients; ++i) {
    clients.push_back(ConnectToTenant("7"));
    EXPECT_EQ(AnswerTo(&server, clients.back().get(), Pause(1)), Ok(1));
  }
  const UniqueFd late = ConnectToTenant("7");
  EXPECT_NE(AnswerTo(&server, late.get(), "").find("too many others"), std::string::npos);
}

}  // namespace
}  // namespace cosched
