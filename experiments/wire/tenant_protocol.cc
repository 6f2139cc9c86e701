#include "experiments/wire/tenant_protocol.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "engine/base/check.h"

namespace cosched {
namespace {

using nlohmann::json;

constexpr size_t kMaxReason = 2000;
constexpr size_t kMaxRemark = 200;
constexpr size_t kMaxOp = 100;
constexpr int64_t kMaxThreads = CpuSet::kMaxCpu + 1;
constexpr int64_t kMaxCount = std::numeric_limits<int64_t>::max();

constexpr std::pair<ResizeCause, std::string_view> kCauses[] = {
    {ResizeCause::kGrant, "grant"},     {ResizeCause::kHalving, "halving"},
    {ResizeCause::kCpuset, "cpuset"},   {ResizeCause::kQuota, "quota"},
    {ResizeCause::kSignal, "signal"},   {ResizeCause::kControl, "ctl"},
    {ResizeCause::kCounter, "counter"}, {ResizeCause::kAuto, "auto"},
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

constexpr int64_t kMostOpenToldByHosts = 1'000'000;

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

CpuSet Cores(const json& object, const char* key = "cores") {
  std::optional<CpuSet> cores = CpuSet::Parse(Text(object, key));
  if (!cores)
    throw Refused(std::string("\"") + key + "\" must be an interval set such as \"0-3,5\"");
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

constexpr std::pair<ControlRequest::Verb, std::string_view> kVerbs[] = {
    {ControlRequest::Verb::kStatus, "status"}, {ControlRequest::Verb::kSet, "set"},
    {ControlRequest::Verb::kPause, "pause"},   {ControlRequest::Verb::kResume, "resume"},
    {ControlRequest::Verb::kStop, "stop"},
};

std::optional<int> OptionalThreads(const json& object, const char* key) {
  if (!object.contains(key)) return std::nullopt;
  return static_cast<int>(Integer(object, key, 0, kMaxThreads));
}

ControlRequest ReadControlRequest(const json& object, const std::string& type) {
  ControlRequest request;
  const auto verb = std::find_if(std::begin(kVerbs), std::end(kVerbs),
                                 [&type](const auto& known) { return known.second == type; });
  if (verb == std::end(kVerbs)) throw Refused("unknown type \"" + type + "\"");
  request.verb = verb->first;
  request.id = Integer(object, "id", 1);
  if (request.verb != ControlRequest::Verb::kSet) return request;
  if (object.contains("cores")) request.cores = Cores(object);
  request.inter = OptionalThreads(object, "inter");
  request.intra = OptionalThreads(object, "intra");
  if (!request.cores && !request.inter && !request.intra) {
    throw Refused("nothing to set: \"cores\", \"inter\" or \"intra\"");
  }
  return request;
}

bool Boolean(const json& object, const char* key) {
  const json& value = Field(object, key);
  if (!value.is_boolean()) throw Refused(std::string("\"") + key + "\" must be true or false");
  return value.get<bool>();
}

double Rate(const json& object, const char* key) {
  const json& value = Field(object, key);
  if (!value.is_number() || !(value.get<double>() >= 0)) {
    throw Refused(std::string("\"") + key + "\" must be a number from 0");
  }
  return value.get<double>();
}

StatusReply::Latencies ReadLatencies(const json& object, const char* key) {
  const json& latencies = Field(object, key);
  if (!latencies.is_object()) throw Refused(std::string("\"") + key + "\" must be an object");
  const auto time = [&latencies](const char* name) {
    return std::chrono::microseconds(Integer(latencies, name, 0, kMaxCount / 1000));
  };
  return {Integer(latencies, "count", 0), time("p50_us"), time("p90_us"), time("p99_us"),
          time("max_us")};
}

Split AnyThreads(const json& object, const char* inter, const char* intra) {
  return {static_cast<int>(Integer(object, inter, 0, kMaxThreads)),
          static_cast<int>(Integer(object, intra, 0, kMaxThreads))};
}

StatusReply ReadStatus(const json& object) {
  StatusReply status;
  status.id = Integer(object, "id", 1);
  status.program = Text(object, "program");
  status.job = Integer(object, "job", -1);
  status.ready = Boolean(object, "ready");
  status.step = Integer(object, "step", 0);
  status.steps = Integer(object, "steps", 0);
  status.images = Integer(object, "images", 0);
  status.images_per_second = Rate(object, "images_per_second");
  status.paused = Boolean(object, "paused");
  status.cores = Cores(object);
  status.may_use = Cores(object, "may_use");
  status.threads = AnyThreads(object, "inter", "intra");
  status.wanted = AnyThreads(object, "wanted_inter", "wanted_intra");
  status.active_threads = static_cast<int>(Integer(object, "active_threads", 0, 2 * kMaxThreads));
  status.capacity = AnyThreads(object, "capacity_inter", "capacity_intra");
  status.grow = ReadLatencies(object, "grow");
  status.shrink = ReadLatencies(object, "shrink");
  status.signals_ignored = Integer(object, "signals_ignored", 0);
  return status;
}

ControlReply ReadControlReply(const json& object, const std::string& type) {
  if (type == "status") return ReadStatus(object);
  if (type == "error") {
    return ErrorReply{Integer(object, "id", 0), Text(object, "reason").substr(0, kMaxReason)};
  }
  if (type != "ok") throw Refused("unknown type \"" + type + "\"");
  OkReply ok{Integer(object, "id", 1), Cores(object), {}, {}};
  ok.threads = AnyThreads(object, "inter", "intra");
  ok.time = Microseconds(object);
  return ok;
}

HostMessage ReadHostMessage(const json& object, const std::string& type) {
  if (type == "welcome") return WelcomeMessage{};
  if (type == "drain") return DrainMessage{};
  if (type != "grant") throw Refused("unknown type \"" + type + "\"");
  GrantMessage grant{Integer(object, "sequence", 1), Cores(object), {}};
  grant.threads = Threads(object, grant.cores.Empty());
  if (object.contains("open_requests"))
    grant.open_requests =
        static_cast<int>(Integer(object, "open_requests", 1, kMostOpenToldByHosts));
  return grant;
}

TenantMessage ReadTenantMessage(const json& object, const std::string& type) {
  if (type == "hello") return HelloMessage{JobId{Integer(object, "job", 0)}};
  if (type == "finished") {
    return FinishedMessage{
        Integer(object, "steps", 0), Integer(object, "images", 0),
        object.contains("remark") ? Text(object, "remark").substr(0, kMaxRemark) : ""};
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
Parsed<Message> ParseMessage(std::string_view text, Reader read) {
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
    if (grant.open_requests > 0) object["open_requests"] = grant.open_requests;
    return object;
  }
  json operator()(const DrainMessage&) const { return Headed("drain"); }
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
    if (!finished.remark.empty()) object["remark"] = finished.remark.substr(0, kMaxRemark);
    return object;
  }
  json operator()(const ErrorMessage& error) const {
    json object = Headed("error");
    object["reason"] = error.reason.substr(0, kMaxReason);
    return object;
  }
  json operator()(const OkReply& ok) const {
    json object = Headed("ok");
    object["id"] = ok.id;
    object["cores"] = ok.cores.ToString();
    object["inter"] = ok.threads.inter;
    object["intra"] = ok.threads.intra;
    object["microseconds"] = ok.time.count();
    return object;
  }
  json operator()(const StatusReply& status) const;
  json operator()(const ErrorReply& error) const {
    json object = Headed("error");
    object["id"] = error.id;
    object["reason"] = error.reason.substr(0, kMaxReason);
    return object;
  }
};

json LatenciesObject(const StatusReply::Latencies& latencies) {
  return {{"count", latencies.count},
          {"p50_us", latencies.p50.count()},
          {"p90_us", latencies.p90.count()},
          {"p99_us", latencies.p99.count()},
          {"max_us", latencies.max.count()}};
}

json Writer::operator()(const StatusReply& status) const {
  json object = Headed("status");
  object["id"] = status.id;
  object["program"] = status.program;
  object["job"] = status.job;
  object["ready"] = status.ready;
  object["step"] = status.step;
  object["steps"] = status.steps;
  object["images"] = status.images;
  object["images_per_second"] = status.images_per_second;
  object["paused"] = status.paused;
  object["cores"] = status.cores.ToString();
  object["may_use"] = status.may_use.ToString();
  object["inter"] = status.threads.inter;
  object["intra"] = status.threads.intra;
  object["wanted_inter"] = status.wanted.inter;
  object["wanted_intra"] = status.wanted.intra;
  object["active_threads"] = status.active_threads;
  object["capacity_inter"] = status.capacity.inter;
  object["capacity_intra"] = status.capacity.intra;
  object["grow"] = LatenciesObject(status.grow);
  object["shrink"] = LatenciesObject(status.shrink);
  object["signals_ignored"] = status.signals_ignored;
  return object;
}

json RequestObject(const ControlRequest& request) {
  const auto verb =
      std::find_if(std::begin(kVerbs), std::end(kVerbs),
                   [&request](const auto& known) { return known.first == request.verb; });
  json object = Headed(std::string(verb->second).c_str());
  object["id"] = request.id;
  if (request.cores) object["cores"] = request.cores->ToString();
  if (request.inter) object["inter"] = *request.inter;
  if (request.intra) object["intra"] = *request.intra;
  return object;
}

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

std::string Encode(const ControlRequest& request) { return Dump(RequestObject(request)); }
std::string Encode(const ControlReply& reply) { return Dump(std::visit(Writer{}, reply)); }

Parsed<HostMessage> ParseHostMessage(std::string_view text) {
  return ParseMessage<HostMessage>(text, ReadHostMessage);
}

Parsed<TenantMessage> ParseTenantMessage(std::string_view text) {
  return ParseMessage<TenantMessage>(text, ReadTenantMessage);
}

Parsed<ControlRequest> ParseControlRequest(std::string_view text) {
  return ParseMessage<ControlRequest>(text, ReadControlRequest);
}

Parsed<ControlReply> ParseControlReply(std::string_view text) {
  return ParseMessage<ControlReply>(text, ReadControlReply);
}

}  // namespace cosched
