#include "experiments/hosts/tenant_protocol.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "engine/base/check.h"

namespace cosched {
namespace {

using nlohmann::json;

constexpr size_t kMaxReason = 2000;
constexpr size_t kMaxOp = 100;
constexpr int64_t kMaxThreads = CpuSet::kMaxCpu + 1;
constexpr int64_t kMaxCount = std::numeric_limits<int64_t>::max();

constexpr std::pair<ResizeCause, std::string_view> kCauses[] = {
    {ResizeCause::kGrant, "grant"},   {ResizeCause::kHalving, "halving"},
    {ResizeCause::kCpuset, "cpuset"}, {ResizeCause::kSignal, "signal"},
    {ResizeCause::kControl, "ctl"},   {ResizeCause::kCounter, "counter"},
};

// Why a packet is refused; never leaves this file.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const json& Field(const json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end()) throw Refused(std::string("no \"") + key + "\"");
  return *found;
}

int64_t Integer(const json& object, const char* key, int64_t low, int64_t high = kMaxCount) {
  const json& value = Field(object, key);
  const bool fits = value.is_number_unsigned()
                        ? value.get<uint64_t>() <= static_cast<uint64_t>(kMaxCount)
                        : value.is_number_integer();
  if (!fits || value.get<int64_t>() < low || value.get<int64_t>() > high) {
    throw Refused(std::string("\"") + key + "\" must be an integer from " + std::to_string(low) +
                  " to " + std::to_string(high));
  }
  return value.get<int64_t>();
}

std::string Text(const json& object, const char* key) {
  const json& value = Field(object, key);
  if (!value.is_string()) throw Refused(std::string("\"") + key + "\" must be a string");
  return value.get<std::string>();
}

CpuSet Cores(const json& object) {
  std::optional<CpuSet> cores = CpuSet::Parse(Text(object, "cores"));
  if (!cores) throw Refused("\"cores\" must be an interval set such as \"0-3,5\"");
  return *cores;
}

// {0, 0} exactly when there are no cores.
Split Threads(const json& object, bool none, const char* inter = "inter",
              const char* intra = "intra") {
  const int64_t low = none ? 0 : 1;
  const int64_t high = none ? 0 : kMaxThreads;
  return {static_cast<int>(Integer(object, inter, low, high)),
          static_cast<int>(Integer(object, intra, low, high))};
}

std::chrono::microseconds Microseconds(const json& object) {
  constexpr int64_t kLongest = kMaxCount / 1000;  // So that it fits in nanoseconds.
  return std::chrono::microseconds(Integer(object, "microseconds", 0, kLongest));
}

ResizedMessage ReadResized(const json& object) {
  const std::optional<ResizeCause> cause = ParseResizeCause(Text(object, "cause"));
  if (!cause) throw Refused("unknown cause \"" + Text(object, "cause") + "\"");
  ResizedMessage resized;
  resized.cause = *cause;
  resized.cores = Cores(object);
  const bool was_paused = Integer(object, "inter_before", 0, kMaxThreads) == 0;
  resized.before = Threads(object, was_paused, "inter_before", "intra_before");
  resized.after = Threads(object, resized.cores.Empty(), "inter_after", "intra_after");
  resized.op = Text(object, "op").substr(0, kMaxOp);
  resized.time = Microseconds(object);
  resized.finished = std::chrono::nanoseconds(Integer(object, "finished", 0));
  return resized;
}

HostMessage ReadHostMessage(const json& object, const std::string& type) {
  if (type == "welcome") return WelcomeMessage{};
  if (type != "grant") throw Refused("unknown type \"" + type + "\"");
  GrantMessage grant{Integer(object, "sequence", 1), Cores(object), {}};
  grant.threads = Threads(object, grant.cores.Empty());
  return grant;
}

TenantMessage ReadTenantMessage(const json& object, const std::string& type) {
  if (type == "hello") return HelloMessage{JobId{Integer(object, "job", 0)}};
  if (type == "finished") {
    return FinishedMessage{Integer(object, "steps", 0), Integer(object, "images", 0)};
  }
  if (type == "resized") return ReadResized(object);
  if (type == "error") return ErrorMessage{Text(object, "reason").substr(0, kMaxReason)};
  if (type != "settled") throw Refused("unknown type \"" + type + "\"");
  SettledMessage settled{Integer(object, "sequence", 1), Cores(object), {}, {}};
  settled.threads = Threads(object, settled.cores.Empty());
  settled.time = Microseconds(object);
  return settled;
}

template <typename Message, typename Reader>
Parsed<Message> Parse(std::string_view text, Reader read) {
  try {
    if (text.size() > kMaxTenantMessage) throw Refused("longer than a message may be");
    const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object()) throw Refused("not a JSON object");
    const int64_t version = Integer(object, "version", 0);
    if (version != kTenantProtocolVersion) {
      throw Refused("protocol version " + std::to_string(version) + ", this side speaks " +
                    std::to_string(kTenantProtocolVersion));
    }
    return {read(object, Text(object, "type")), ""};
  } catch (const Refused& refused) {
    return {std::nullopt, refused.what()};
  }
}

json Headed(const char* type) { return {{"version", kTenantProtocolVersion}, {"type", type}}; }

void PutPlace(json* object, int64_t sequence, const CpuSet& cores, Split threads) {
  (*object)["sequence"] = sequence;
  (*object)["cores"] = cores.ToString();
  (*object)["inter"] = threads.inter;
  (*object)["intra"] = threads.intra;
}

struct Writer {
  json operator()(const WelcomeMessage&) const { return Headed("welcome"); }
  json operator()(const GrantMessage& grant) const {
    json object = Headed("grant");
    PutPlace(&object, grant.sequence, grant.cores, grant.threads);
    return object;
  }
  json operator()(const HelloMessage& hello) const {
    json object = Headed("hello");
    object["job"] = hello.job.value;
    return object;
  }
  json operator()(const SettledMessage& settled) const {
    json object = Headed("settled");
    PutPlace(&object, settled.sequence, settled.cores, settled.threads);
    object["microseconds"] = settled.time.count();
    return object;
  }
  json operator()(const ResizedMessage& resized) const {
    json object = Headed("resized");
    object["cause"] = ToString(resized.cause);
    object["inter_before"] = resized.before.inter;
    object["intra_before"] = resized.before.intra;
    object["inter_after"] = resized.after.inter;
    object["intra_after"] = resized.after.intra;
    object["cores"] = resized.cores.ToString();
    object["op"] = resized.op.substr(0, kMaxOp);
    object["microseconds"] = resized.time.count();
    object["finished"] = resized.finished.count();
    return object;
  }
  json operator()(const FinishedMessage& finished) const {
    json object = Headed("finished");
    object["steps"] = finished.steps;
    object["images"] = finished.images;
    return object;
  }
  json operator()(const ErrorMessage& error) const {
    json object = Headed("error");
    object["reason"] = error.reason.substr(0, kMaxReason);
    return object;
  }
};

// A reason may hold any bytes (a path, a library's message): what is not UTF-8 is replaced, not
// thrown over.
std::string Dump(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string_view ToString(ResizeCause cause) {
  for (const auto& [known, name] : kCauses) {
    if (known == cause) return name;
  }
  CHECK(false) << "no such cause";
  return "";
}

std::optional<ResizeCause> ParseResizeCause(std::string_view text) {
  for (const auto& [cause, name] : kCauses) {
    if (name == text) return cause;
  }
  return std::nullopt;
}

std::string Encode(const HostMessage& message) { return Dump(std::visit(Writer{}, message)); }
std::string Encode(const TenantMessage& message) { return Dump(std::visit(Writer{}, message)); }

Parsed<HostMessage> ParseHostMessage(std::string_view text) {
  return Parse<HostMessage>(text, ReadHostMessage);
}

Parsed<TenantMessage> ParseTenantMessage(std::string_view text) {
  return Parse<TenantMessage>(text, ReadTenantMessage);
}

bool SendPacket(int socket, std::string_view text, int descriptor) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  if (descriptor >= 0) {
    packet.msg_control = control;
    packet.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&packet);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(text.size());
}

Receipt ReceivePacket(int socket, std::string* text, UniqueFd* descriptor) {
  text->resize(kMaxTenantMessage);
  iovec part{text->data(), text->size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  if (descriptor != nullptr) {
    packet.msg_control = control;
    packet.msg_controllen = sizeof control;
  }
  ssize_t length;
  do {
    length = recvmsg(socket, &packet, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
  } while (length < 0 && errno == EINTR);
  const cmsghdr* const header = length >= 0 ? CMSG_FIRSTHDR(&packet) : nullptr;
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int received;
    std::memcpy(&received, CMSG_DATA(header), sizeof received);
    *descriptor = UniqueFd(received);
  }
  if (length > static_cast<ssize_t>(kMaxTenantMessage)) return Receipt::kTooLong;
  text->resize(length > 0 ? static_cast<size_t>(length) : 0);
  if (length > 0) return Receipt::kPacket;
  return length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? Receipt::kNothing
                                                                 : Receipt::kClosed;
}

}  // namespace cosched
