#include "experiments/hosts/node_connections.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fstream>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "experiments/hosts/host_protocol.h"

namespace cosched {
namespace {

constexpr size_t kTokenBytes = 32;
// Of those who have not proved who they are.
constexpr size_t kLongestHello = 4096;
constexpr size_t kMostStrangers = 64;
constexpr int kLookMilliseconds = 100;

std::string NewToken() {
  std::array<unsigned char, kTokenBytes> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::system_error(errno, std::generic_category(), "getrandom");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

// As long whatever is different, so that nobody finds a token byte by byte.
bool IsSameToken(const std::string& mine, const std::string& given) {
  unsigned different = mine.size() == given.size() ? 0 : 1;
  for (size_t i = 0; i < mine.size(); ++i)
    different |= static_cast<unsigned char>(mine[i]) ^
                 static_cast<unsigned char>(i < given.size() ? given[i] : 0);
  return different == 0;
}

class TokenFile {
 public:
  TokenFile(std::filesystem::path path, const std::string& token) : path_(std::move(path)) {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    const UniqueFd file(
        open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    const std::string line = token + "\n";
    if (!file || fchmod(file.get(), 0600) != 0 ||
        write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      throw OutputError("writing " + path_.string() + ": " +
                        std::generic_category().message(errno));
  }
  ~TokenFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

 private:
  const std::filesystem::path path_;
};

std::string NameOfThisMachine() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), HOST_NAME_MAX) != 0)
    throw std::system_error(errno, std::generic_category(), "gethostname");
  return name.data();
}

std::string LastSaid(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string last;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

class Gathering {
 public:
  explicit Gathering(const AgentLaunches& launches)
      : launches_(launches),
        token_(NewToken()),
        listener_(ListenOnTcp(launches.local)),
        connections_(launches.agents.size()) {}

  std::vector<AgentConnection> Run() {
    const std::filesystem::path path = launches_.folder / "agents.token";
    const TokenFile file(path, token_);
    for (size_t i = 0; i < connections_.size(); ++i) Start(i, path);
    const auto deadline = std::chrono::steady_clock::now() + launches_.patience;
    while (FirstMissing() < connections_.size()) {
      Look();
      for (size_t i = 0; i < connections_.size(); ++i) {
        if (!connections_[i].socket && connections_[i].process->Ended())
          Refuse(i, "its agent ended before it had connected");
      }
      if (FirstMissing() < connections_.size() && std::chrono::steady_clock::now() >= deadline) {
        Refuse(FirstMissing(), fmt::format("its agent did not connect to {} within {:.0f} s",
                                           Address(), ToSeconds(launches_.patience)));
      }
    }
    return std::move(connections_);
  }

 private:
  std::filesystem::path LogOf(size_t index) const {
    return launches_.folder / ("node-" + launches_.agents[index].node + ".log");
  }
  std::string Address() const {
    return (launches_.local ? "127.0.0.1" : NameOfThisMachine()) + ":" +
           std::to_string(listener_.port);
  }

  void Start(size_t index, const std::filesystem::path& token_file) {
    std::vector<std::string> command = launches_.agents[index].launcher;
    command.insert(command.end(), {launches_.binary, "node", "--connect", Address(), "--token-file",
                                   token_file.string(), "--name", launches_.agents[index].node});
    try {
      connections_[index].process = std::make_unique<AgentProcess>(command, LogOf(index));
    } catch (const std::system_error& error) {
      Refuse(index, error.what());
    }
  }

  size_t FirstMissing() const {
    const auto first = std::find_if(connections_.begin(), connections_.end(),
                                    [](const AgentConnection& one) { return !one.socket; });
    return static_cast<size_t>(first - connections_.begin());
  }

  // The agents that have come so far end with their connections.
  [[noreturn]] void Refuse(size_t index, const std::string& problem) {
    for (AgentConnection& connection : connections_) {
      if (connection.process && !connection.socket) connection.process->Terminate();
      connection.socket.reset();
    }
    connections_.clear();
    const std::string said = LastSaid(LogOf(index));
    throw InputError({.file = "node " + launches_.agents[index].node,
                      .problem = problem + (said.empty() ? "" : ": " + said),
                      .allowed = "a node on which `cosched node` can be started and reach this "
                                 "machine"});
  }

  void Look() {
    std::vector<pollfd> descriptors = {{listener_.fd.get(), POLLIN, 0}};
    for (const auto& stranger : strangers_) descriptors.push_back({stranger->fd(), POLLIN, 0});
    if (poll(descriptors.data(), descriptors.size(), kLookMilliseconds) <= 0) return;
    while (strangers_.size() < kMostStrangers) {
      UniqueFd fd = AcceptTcp(listener_.fd.get());
      if (!fd) break;
      strangers_.push_back(std::make_unique<FrameSocket>(std::move(fd), kLongestHello));
    }
    for (auto& stranger : strangers_) {
      stranger->Receive();
      std::string text;
      if (!stranger->Take(&text)) {
        if (stranger->closed() || strangers_.size() == kMostStrangers) stranger.reset();
        continue;
      }
      Meet(std::move(stranger), text);
    }
    std::erase(strangers_, nullptr);
  }

  // Who is nobody's agent is turned away.
  void Meet(std::unique_ptr<FrameSocket> stranger, const std::string& text) {
    const Parsed<AgentReport> report = ParseAgentReport(text);
    const auto* hello = report.message ? std::get_if<HelloReport>(&*report.message) : nullptr;
    if (hello == nullptr || hello->version != kHostProtocolVersion ||
        !IsSameToken(token_, hello->token))
      return;
    const auto& agents = launches_.agents;
    const auto agent = std::find_if(agents.begin(), agents.end(), [hello](const AgentLaunch& one) {
      return one.node == hello->node;
    });
    if (agent == agents.end()) return;
    auto& place = connections_[static_cast<size_t>(agent - agents.begin())].socket;
    if (place) return;
    place = std::move(stranger);
    place->SetMost(kMaxFrame);
  }

  const AgentLaunches& launches_;
  const std::string token_;
  const TcpListener listener_;
  std::vector<AgentConnection> connections_;
  std::vector<std::unique_ptr<FrameSocket>> strangers_;
};

}  // namespace

std::vector<AgentConnection> ConnectAgents(const AgentLaunches& launches) {
  return Gathering(launches).Run();
}

}  // namespace cosched
