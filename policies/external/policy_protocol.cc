#include "policies/external/policy_protocol.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "policies/event_text.h"

namespace cosched {
namespace {

using PlainJson = nlohmann::json;

constexpr int kProtocol = 1;
constexpr double kLongestTickMs = 3'600'000;
constexpr int kMostOpenToSay = 1'000'000'000;  // What the job allows is for the arbiter to check.

PlainJson Message(const char* kind) { return {{"protocol", kProtocol}, {"kind", kind}}; }

std::string_view StateName(JobState state) {
  switch (state) {
    case JobState::kWaiting: return "waiting";
    case JobState::kRunning: return "running";
    case JobState::kPaused: break;
  }
  return "paused";
}

PlainJson JobJson(const MachineView& view, const JobView& job, bool with_speed) {
  PlainJson json = {{"id", job.id.value},
                    {"workload", job.workload},
                    {"state", StateName(job.state)},
                    {"elasticity", ToString(job.elasticity)},
                    {"priority", job.priority},
                    {"min", job.request.min},
                    {"preferred", job.request.preferred},
                    {"max", job.request.max},
                    {"submitted_s", ToSeconds(job.submitted)},
                    {"started_s", job.started ? PlainJson(ToSeconds(*job.started)) : PlainJson()},
                    {"cores", job.cores.ToString()},
                    {"amount", job.amount.Cores()},
                    {"last_cores", job.last_cores.ToString()},
                    {"split", {job.split.inter, job.split.intra}},
                    {"steps", job.steps},
                    {"progress", view.Progress(job)}};
  if (job.node) json["node"] = *job.node;
  if (job.response_objective) json["objective_s"] = ToSeconds(*job.response_objective);
  if (job.service) json["service"] = job.service->value;
  if (job.open_range) {
    json["open_requests"] = job.open_requests;
    json["most_open_requests"] = job.open_range->most;
  }
  if (with_speed && job.speed) {
    PlainJson& speed = json["speed"] = PlainJson::array();
    for (int k = 1; k <= std::min(job.speed->Size(), view.cores.Count()); ++k)
      speed.push_back(job.speed->At(k));
  }
  return json;
}

PlainJson NodesJson(const MachineView& view) {
  PlainJson nodes = PlainJson::array();
  for (const CpuSet& node : view.nodes) nodes.push_back(node.ToString());
  return nodes;
}

PlainJson StagesJson(const ServerWindow& window) {
  PlainJson stages = PlainJson::array();
  for (const StageWindow& stage : window.stages) {
    stages.push_back({{"ready", stage.ready},
                      {"running", stage.running},
                      {"parked", stage.parked},
                      {"items", stage.items},
                      {"calls", stage.calls},
                      {"taken", stage.taken},
                      {"busy_s", ToSeconds(stage.busy)},
                      {"lasted_s", ToSeconds(stage.lasted)},
                      {"waits", stage.waits}});
  }
  return stages;
}

PlainJson ServersJson(const ServiceView& service) {
  PlainJson servers = PlainJson::array();
  for (const auto& [id, window] : service.servers) {
    PlainJson& server =
        servers.emplace_back(PlainJson{{"dispatched", window.dispatched},
                                       {"answered", window.answered},
                                       {"in_flight", window.in_flight},
                                       {"mean_in_flight", window.mean_in_flight},
                                       {"mean_response_s", ToSeconds(window.mean_response)},
                                       {"mean_process_s", ToSeconds(window.mean_process)}});
    if (const DeviceId* device = std::get_if<DeviceId>(&id)) server["device"] = device->value;
    const JobId* const job = std::get_if<JobId>(&id);
    if (job == nullptr) continue;
    server["job"] = job->value;
    server["cpu_time_s"] = ToSeconds(window.cpu_time);
    if (window.stages.empty()) continue;
    server["open"] = window.open;
    server["stages"] = StagesJson(window);
  }
  return servers;
}

PlainJson ServicesJson(const MachineView& view) {
  PlainJson services = PlainJson::array();
  for (const ServiceView& service : view.services) {
    services.push_back({{"id", service.id.value},
                        {"name", service.name},
                        {"objective_s", ToSeconds(service.objective)},
                        {"length_s", ToSeconds(service.length)},
                        {"arrived", service.arrived},
                        {"answered", service.answered},
                        {"queued", service.queued},
                        {"mean_response_s", ToSeconds(service.mean_response)},
                        {"mean_work", service.mean_work},
                        {"servers", ServersJson(service)}});
  }
  return services;
}

PlainJson DevicesJson(const MachineView& view) {
  PlainJson devices = PlainJson::array();
  for (const DeviceView& device : view.devices) {
    devices.push_back({{"id", device.id.value},
                       {"name", device.name},
                       {"node", device.node},
                       {"slots", device.slots},
                       {"busy", device.busy}});
  }
  return devices;
}

PlainJson EventJson(const Event& event) {
  PlainJson json = {{"kind", KindOf(event)}};
  if (const std::optional<JobId> job = JobOf(event)) json["job"] = job->value;
  if (const auto* changed = std::get_if<ObjectiveChanged>(&event))
    json["service"] = changed->service.value;
  return json;
}

PlainJson TopologyJson(const MachineView& view) {
  PlainJson cpus = PlainJson::array();
  for (int cpu : view.cores.ToVector()) {
    const Topology::Location at = view.topology->Locate(cpu);
    cpus.push_back({cpu, at.core, at.l3, at.numa, at.package});
  }
  return cpus;
}

[[noreturn]] void RefuseAnswer(const std::string& problem) { throw std::runtime_error(problem); }

std::string ShortenedAnswer(const std::string& text) {
  constexpr size_t kShown = 120;
  return text.size() <= kShown ? text : text.substr(0, kShown) + "…";
}

PlainJson ParseObject(const std::string& answer) {
  PlainJson json = PlainJson::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    RefuseAnswer(fmt::format("it is no JSON object: {}", ShortenedAnswer(answer)));
  if (const auto error = json.find("error"); error != json.end())
    RefuseAnswer(error->is_string() ? error->get<std::string>() : error->dump());
  return json;
}

void AllowOnlyKeys(const PlainJson& json, const std::set<std::string_view>& keys) {
  for (const auto& [key, value] : json.items()) {
    if (!keys.contains(key)) RefuseAnswer(fmt::format("there is no key \"{}\"", key));
  }
}

template <typename Value>
Value Get(const PlainJson& json, const char* key, const char* what,
          std::optional<Value> fallback = {}) {
  const auto found = json.find(key);
  if (found == json.end() && fallback) return *fallback;
  if (found == json.end()) RefuseAnswer(fmt::format("\"{}\" is missing", key));
  bool fits = false;
  if constexpr (std::is_same_v<Value, bool>) fits = found->is_boolean();
  if constexpr (std::is_same_v<Value, double>) fits = found->is_number();
  if constexpr (std::is_same_v<Value, std::string>) fits = found->is_string();
  if (!fits) RefuseAnswer(fmt::format("\"{}\" is {}, not {}", key, found->dump(), what));
  return found->get<Value>();
}

std::string TextOf(const PlainJson& json, const char* key,
                   std::optional<std::string> fallback = {}) {
  return Get<std::string>(json, key, "a text", std::move(fallback));
}

std::variant<int, CpuSet, Share> ParseCores(const PlainJson& json) {
  if (json.is_number_integer() && json >= 0 && json <= CpuSet::kMaxCpu + 1) return json.get<int>();
  if (json.is_string()) {
    if (const auto cores = CpuSet::Parse(json.get<std::string>())) return *cores;
  }
  RefuseAnswer(fmt::format("cores are {}, not a number or a text such as \"0-3,5\"", json.dump()));
}

Share ParseShare(const PlainJson& share, const PlainJson* node) {
  if (!share.is_number() || share <= 0 || share > CpuSet::kMaxCpu + 1)
    RefuseAnswer(fmt::format("share is {}, not a number of cores such as 0.7", share.dump()));
  Share parsed = {.amount = {std::llround(share.get<double>() * 1000)}};
  if (node == nullptr) return parsed;
  if (!node->is_number_integer() || *node < 0 || *node > CpuSet::kMaxCpu)
    RefuseAnswer(fmt::format("node is {}, not one of the view's, counted from 0", node->dump()));
  parsed.node = node->get<int>();
  return parsed;
}

Split ParseSplit(const PlainJson& json) {
  const auto is_count = [](const PlainJson& count) {
    return count.is_number_integer() && count >= 0 && count <= CpuSet::kMaxCpu + 1;
  };
  if (!json.is_array() || json.size() != 2 || !is_count(json[0]) || !is_count(json[1]))
    RefuseAnswer(fmt::format("split is {}, not [inter, intra]", json.dump()));
  return {json[0].get<int>(), json[1].get<int>()};
}

int ParseOpenRequests(const PlainJson& json) {
  if (!json.is_number_integer() || json < 1 || json > kMostOpenToSay)
    RefuseAnswer(
        fmt::format("open_requests is {}, not a number of requests from 1 on", json.dump()));
  return json.get<int>();
}

JobDecision ParseJobDecision(const PlainJson& json) {
  if (json == "pause") return Pause{};
  if (!json.is_object()) return Run{.cores = ParseCores(json), .split = {}};
  if (json.contains("reject")) {
    AllowOnlyKeys(json, {"reject"});
    return Reject{TextOf(json, "reject")};
  }
  AllowOnlyKeys(json, {"cores", "share", "node", "split", "open_requests"});
  if (json.contains("cores") == json.contains("share"))
    RefuseAnswer("it has both \"cores\" and \"share\", or neither");
  Run run{.cores = 0, .split = {}};
  if (json.contains("share")) {
    const auto node = json.find("node");
    run.cores = ParseShare(json["share"], node == json.end() ? nullptr : &*node);
  } else if (json.contains("node")) {
    RefuseAnswer("it has a \"node\" without a \"share\"");
  } else {
    run.cores = ParseCores(json["cores"]);
  }
  if (json.contains("split")) run.split = ParseSplit(json["split"]);
  if (json.contains("open_requests")) run.open_requests = ParseOpenRequests(json["open_requests"]);
  return run;
}

JobId ParseJobId(const std::string& text) {
  JobId id;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id.value);
  if (error != std::errc() || end != text.data() + text.size())
    RefuseAnswer(fmt::format("\"{}\" is no job's id", text));
  return id;
}

}  // namespace

std::string DescribeRequest() { return Message("describe").dump(); }

std::string StartRequest(const PolicyParameters& parameters) {
  PlainJson request = Message("start");
  request["parameters"] = PlainJson::object();
  for (const auto& [name, value] : parameters) request["parameters"][name] = value;
  return request.dump();
}

std::string DecideRequest(const MachineView& view, const Event& event, bool needs_speed,
                          bool with_topology) {
  PlainJson request = Message("decide");
  request["event"] = EventJson(event);
  PlainJson jobs = PlainJson::array();
  for (const JobView& job : view.jobs) jobs.push_back(JobJson(view, job, needs_speed));
  request["view"] = {{"now_s", ToSeconds(view.now)},
                     {"cores", view.cores.ToString()},
                     {"free", view.FreeCores().ToString()},
                     {"vacating", view.vacating.ToString()},
                     {"nodes", NodesJson(view)},
                     {"services", ServicesJson(view)},
                     {"devices", DevicesJson(view)},
                     {"jobs", std::move(jobs)}};
  if (with_topology) request["topology"] = TopologyJson(view);
  return request.dump();
}

ProgramDescription ParseDescription(const std::string& answer) {
  const PlainJson json = ParseObject(answer);
  const auto protocol = json.find("protocol");
  if (protocol == json.end() || *protocol != kProtocol) {
    RefuseAnswer(fmt::format("it speaks protocol {}, not {}",
                             protocol == json.end() ? "(none given)" : protocol->dump(),
                             kProtocol));
  }
  AllowOnlyKeys(json, {"protocol", "name", "summary", "source", "oversubscribes", "needs_speed",
                       "shares", "on_settled", "parameters"});
  ProgramDescription description{
      .name = TextOf(json, "name"),
      .summary = TextOf(json, "summary"),
      .source = TextOf(json, "source", ""),
      .oversubscribes = Get<bool>(json, "oversubscribes", "true or false", false),
      .needs_speed = Get<bool>(json, "needs_speed", "true or false", false),
      .shares = Get<bool>(json, "shares", "true or false", false),
      .on_settled = Get<bool>(json, "on_settled", "true or false", false),
      .parameters = {}};
  const PlainJson parameters = json.value("parameters", PlainJson::array());
  if (!parameters.is_array()) RefuseAnswer("\"parameters\" is not a list");
  for (const PlainJson& parameter : parameters) {
    if (!parameter.is_object()) RefuseAnswer("a parameter is no object");
    AllowOnlyKeys(parameter, {"name", "default", "help"});
    description.parameters.push_back(
        {TextOf(parameter, "name"), TextOf(parameter, "default"), TextOf(parameter, "help", "")});
  }
  return description;
}

Duration ParseStarted(const std::string& answer) {
  const PlainJson json = ParseObject(answer);
  AllowOnlyKeys(json, {"tick_ms"});
  const double tick_ms = Get<double>(json, "tick_ms", "a number", 0);
  const bool is_period = tick_ms == 0 || (tick_ms >= 1 && tick_ms <= kLongestTickMs);
  if (!is_period)
    RefuseAnswer(fmt::format("\"tick_ms\" is {}, not 0 or from 1 to 3600000", tick_ms));
  return FromSeconds(tick_ms * 1e-3);
}

Allocation ParseDecision(const std::string& answer) {
  const PlainJson json = ParseObject(answer);
  AllowOnlyKeys(json, {"jobs"});
  const PlainJson jobs = json.value("jobs", PlainJson::object());
  if (!jobs.is_object()) RefuseAnswer("\"jobs\" is no object");
  Allocation allocation;
  for (const auto& [id, decision] : jobs.items()) {
    try {
      allocation.jobs[ParseJobId(id)] = ParseJobDecision(decision);
    } catch (const std::runtime_error& error) {
      RefuseAnswer(fmt::format("job {}: {}", id, error.what()));
    }
  }
  return allocation;
}

}  // namespace cosched
