#include "experiments/hosts/host_protocol.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>

#include "experiments/wire/member_json.h"

namespace cosched {

using member_json::Of;

template <Of<Split> S, typename Visitor>
void VisitMembers(S& split, const Visitor& member) {
  auto& [inter, intra] = split;
  member("inter", inter);
  member("intra", intra);
}

template <Of<CoreRequest> R, typename Visitor>
void VisitMembers(R& request, const Visitor& member) {
  auto& [min, preferred, max] = request;
  member("min", min);
  member("preferred", preferred);
  member("max", max);
}

template <Of<Place> P, typename Visitor>
void VisitMembers(P& place, const Visitor& member) {
  auto& [cores, amount, threads, open_requests] = place;
  member("cores", cores);
  member("amount_milli", amount);
  member("threads", threads);
  member("open_requests", open_requests);
}

template <Of<Request> R, typename Visitor>
void VisitMembers(R& request, const Visitor& member) {
  auto& [id, scheduled, work, service] = request;
  member("id", id);
  member("scheduled", scheduled);
  member("work", work);
  member("service", service);
}

template <Of<StepSample> S, typename Visitor>
void VisitMembers(S& step, const Visitor& member) {
  auto& [job, number, finished, duration, threads, loss] = step;
  member("job", job);
  member("step", number);
  member("finished", finished);
  member("duration", duration);
  member("threads", threads);
  member("loss", loss);
}

template <Of<ResizeSample> R, typename Visitor>
void VisitMembers(R& resize, const Visitor& member) {
  auto& [job, time, cause, before, after, cores, op, taken] = resize;
  member("job", job);
  member("time", time);
  member("cause", cause);
  member("before", before);
  member("after", after);
  member("cores", cores);
  member("op", op);
  member("taken", taken);
}

template <Of<ActuationSample> A, typename Visitor>
void VisitMembers(A& actuation, const Visitor& member) {
  auto& [job, time, cores, actuator, fast, runtime] = actuation;
  member("job", job);
  member("time", time);
  member("cores", cores);
  member("actuator", actuator);
  member("fast", fast);
  member("runtime", runtime);
}

template <Of<NumaNodes> N, typename Visitor>
void VisitMembers(N& nodes, const Visitor& member) {
  auto& [numbers] = nodes;
  member("numbers", numbers);
}

template <Of<MemoryMove> M, typename Visitor>
void VisitMembers(M& move, const Visitor& member) {
  auto& [job, time, from, to, outcome, bytes, left, taken] = move;
  member("job", job);
  member("time", time);
  member("from", from);
  member("to", to);
  member("outcome", outcome);
  member("bytes", bytes);
  member("left", left);
  member("taken", taken);
}

// The host of an agent has no devices.
template <Of<ServerId> S, typename Visitor>
void VisitMembers(S& server, const Visitor& member) {
  JobId job;
  if constexpr (std::is_const_v<S>) {
    job = std::get<JobId>(server);
    member("job", job);
  } else {
    member("job", job);
    server = job;
  }
}

template <Of<RequestSample> R, typename Visitor>
void VisitMembers(R& request, const Visitor& member) {
  auto& [server, id, scheduled, received, started, finished, batch, failed] = request;
  member("server", server);
  member("id", id);
  member("scheduled", scheduled);
  member("received", received);
  member("started", started);
  member("finished", finished);
  member("batch", batch);
  member("failed", failed);
}

template <Of<StageCounters> C, typename Visitor>
void VisitMembers(C& counters, const Visitor& member) {
  auto& [ready, running, parked, items, bytes, calls, taken, dropped, busy, lasted, waits] =
      counters;
  member("ready", ready);
  member("running", running);
  member("parked", parked);
  member("items", items);
  member("bytes", bytes);
  member("calls", calls);
  member("taken", taken);
  member("dropped", dropped);
  member("busy", busy);
  member("lasted", lasted);
  member("waits", waits);
}

template <Of<PipelineCounters> C, typename Visitor>
void VisitMembers(C& counters, const Visitor& member) {
  auto& [stages, open, open_requests] = counters;
  member("stages", stages);
  member("open", open);
  member("open_requests", open_requests);
}

template <Of<ThreadSample> T, typename Visitor>
void VisitMembers(T& thread, const Visitor& member) {
  auto& [tid, compute, cpu, cores, run_time, run_queue_wait] = thread;
  member("tid", tid);
  member("compute", compute);
  member("cpu", cpu);
  member("cores", cores);
  member("run_time", run_time);
  member("run_queue_wait", run_queue_wait);
}

template <Of<TenantSample> T, typename Visitor>
void VisitMembers(T& sample, const Visitor& member) {
  auto& [job, time, granted, amount, runnable_threads, compute_threads, settling, run_time,
         run_queue_wait, involuntary_switches, migrations, throttled, pressure, steps, images,
         spin_time, pipeline, threads] = sample;
  member("job", job);
  member("time", time);
  member("granted", granted);
  member("amount_milli", amount);
  member("runnable_threads", runnable_threads);
  member("compute_threads", compute_threads);
  member("settling", settling);
  member("run_time", run_time);
  member("run_queue_wait", run_queue_wait);
  member("involuntary_switches", involuntary_switches);
  member("migrations", migrations);
  member("throttled", throttled);
  member("pressure", pressure);
  member("steps", steps);
  member("images", images);
  member("spin_time", spin_time);
  member("pipeline", pipeline);
  member("threads", threads);
}

template <Of<BeginCall> C, typename Visitor>
void VisitMembers(C& call, const Visitor& member) {
  auto& [cores, binary, log_directory, run, actuator, memory, shares, quota_period, timeouts,
         sample_threads] = call;
  member("cores", cores);
  member("binary", binary);
  member("log_directory", log_directory);
  member("run", run);
  member("actuator", actuator);
  member("memory", memory);
  member("shares", shares);
  member("quota_period_us", quota_period);
  member("heartbeat_timeout", timeouts.heartbeat);
  member("start_timeout", timeouts.start);
  member("settle_timeout", timeouts.settle);
  member("revocation_deadline", timeouts.revocation);
  member("sample_threads", sample_threads);
}

template <Of<DescribeCall> C, typename Visitor>
void VisitMembers(C& call, const Visitor& member) {
  auto& [job, spec] = call;
  member("job", job);
  member("spec", spec);
}

template <Of<StartCall> C, typename Visitor>
void VisitMembers(C& call, const Visitor& member) {
  auto& [job, workload, request, elasticity, threads, steps, place, order] = call;
  member("job", job);
  member("workload", workload);
  member("request", request);
  member("elasticity", elasticity);
  member("threads", threads);
  member("steps", steps);
  member("place", place);
  member("order", order);
}

template <Of<GrantCall> C, typename Visitor>
void VisitMembers(C& call, const Visitor& member) {
  auto& [job, place, order] = call;
  member("job", job);
  member("place", place);
  member("order", order);
}

template <Of<SendCall> C, typename Visitor>
void VisitMembers(C& call, const Visitor& member) {
  auto& [job, requests] = call;
  member("job", job);
  member("requests", requests);
}

template <Of<DrainCall> C, typename Visitor>
void VisitMembers(C& call, const Visitor& member) {
  auto& [job] = call;
  member("job", job);
}

template <Of<WakeAtAnswersCall> C, typename Visitor>
void VisitMembers(C& call, const Visitor& member) {
  auto& [wanted] = call;
  member("wanted", wanted);
}

template <Of<QuestionCall> C, typename Visitor>
void VisitMembers(C& call, const Visitor& member) {
  auto& [id, what, job] = call;
  member("id", id);
  member("what", what);
  member("job", job);
}

template <Of<HelloReport> R, typename Visitor>
void VisitMembers(R& report, const Visitor& member) {
  auto& [version, token, node] = report;
  member("version", version);
  member("token", token);
  member("node", node);
}

template <Of<BegunReport> R, typename Visitor>
void VisitMembers(R& report, const Visitor& member) {
  auto& [problem] = report;
  member("problem", problem);
}

template <Of<EventReport> R, typename Visitor>
void VisitMembers(R& report, const Visitor& member) {
  auto& [what, job, reason, order] = report;
  member("what", what);
  member("job", job);
  member("reason", reason);
  member("order", order);
}

template <Of<JobProgress> P, typename Visitor>
void VisitMembers(P& progress, const Visitor& member) {
  auto& [job, done, cpu_time, pipeline] = progress;
  member("job", job);
  member("progress", done);
  member("cpu_time", cpu_time);
  member("pipeline", pipeline);
}

template <Of<ObservedReport> R, typename Visitor>
void VisitMembers(R& report, const Visitor& member) {
  auto& [steps, resizes, actuations, memory_moves, requests, progress] = report;
  member("steps", steps);
  member("resizes", resizes);
  member("actuations", actuations);
  member("memory_moves", memory_moves);
  member("requests", requests);
  member("progress", progress);
}

template <Of<CoreTime> T, typename Visitor>
void VisitMembers(T& time, const Visitor& member) {
  auto& [cpu, busy] = time;
  member("cpu", cpu);
  member("busy", busy);
}

template <Of<AnswerReport> R, typename Visitor>
void VisitMembers(R& report, const Visitor& member) {
  auto& [id, now, samples, marks, busy] = report;
  member("id", id);
  member("now", now);
  member("samples", samples);
  member("marks", marks);
  member("busy", busy);
}

namespace {

using member_json::Json;
using member_json::Unreadable;

// By the index in the variant.
constexpr std::array<const char*, std::variant_size_v<HostCall>> kCallTypes = {
    "begin", "describe", "start", "grant", "send", "drain", "wake_at_answers", "question"};
constexpr std::array<const char*, std::variant_size_v<AgentReport>> kReportTypes = {
    "hello", "begun", "event", "observed", "answer"};
constexpr auto kQuestions =
    std::to_array<std::string_view>({"ping", "stop", "sample", "marks", "busy"});
constexpr auto kEvents = std::to_array<std::string_view>({"settled", "finished", "failed"});

template <typename Message, size_t kCount>
std::string EncodeTyped(const Message& message, const std::array<const char*, kCount>& types) {
  Json json = {{"type", types[message.index()]}};
  std::visit([&json](const auto& one) { json.update(member_json::WriteMembers(one)); }, message);
  // A reason may hold any bytes: what is not UTF-8 is replaced.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename Message, size_t kIndex = 0, size_t kCount>
Message ReadTyped(const Json& json, const std::string& type,
                  const std::array<const char*, kCount>& types) {
  if constexpr (kIndex == kCount) {
    throw Unreadable("unknown type \"" + type + "\"");
  } else {
    if (type != types[kIndex]) return ReadTyped<Message, kIndex + 1>(json, type, types);
    std::variant_alternative_t<kIndex, Message> message{};
    member_json::ReadMembers(json, &message);
    return message;
  }
}

template <size_t kCount>
void RequireOneOf(const std::string& word, const std::array<std::string_view, kCount>& words) {
  if (std::find(words.begin(), words.end(), word) == words.end())
    throw Unreadable("\"what\": is unknown");
}

void CheckPlaced(const Place& place, bool may_pause) {
  const bool pauses = place.Pauses() && may_pause;
  const bool whole = place.amount.milli > 0 && place.threads.inter > 0 && place.threads.intra > 0 &&
                     place.amount <= CpuShare::OfCores(place.cores.Count());
  if (!pauses && !whole) throw Unreadable("\"place\": is none");
}

// What the types do not say.
void CheckMessage(const HostCall& call) {
  if (const auto* begin = std::get_if<BeginCall>(&call)) {
    if (begin->cores.Empty()) throw Unreadable("\"cores\": are none");
    if (begin->quota_period.count() <= 0) throw Unreadable("\"quota_period_us\": is none");
  }
  if (const auto* start = std::get_if<StartCall>(&call)) CheckPlaced(start->place, false);
  if (const auto* grant = std::get_if<GrantCall>(&call)) CheckPlaced(grant->place, true);
  if (const auto* question = std::get_if<QuestionCall>(&call))
    RequireOneOf(question->what, kQuestions);
}
void CheckMessage(const AgentReport& report) {
  if (const auto* event = std::get_if<EventReport>(&report)) RequireOneOf(event->what, kEvents);
}

template <typename Message, size_t kCount>
Parsed<Message> ParseTyped(std::string_view text, const std::array<const char*, kCount>& types) {
  try {
    Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) throw Unreadable("not a JSON object");
    const auto type = json.find("type");
    if (type == json.end() || !type->is_string()) throw Unreadable("no \"type\"");
    const auto name = type->get<std::string>();
    json.erase(type);
    Message message = ReadTyped<Message>(json, name, types);
    CheckMessage(message);
    return {std::move(message), ""};
  } catch (const Unreadable& unreadable) {
    return {std::nullopt, unreadable.what()};
  }
}

// Moves the rows from `begin` on, at most `count` of them.
template <typename Row>
void TakeRows(std::vector<Row>& from, size_t begin, size_t count, std::vector<Row>* to) {
  const size_t first = std::min(begin, from.size()), last = std::min(begin + count, from.size());
  std::move(from.begin() + static_cast<std::ptrdiff_t>(first),
            from.begin() + static_cast<std::ptrdiff_t>(last), std::back_inserter(*to));
}

}  // namespace

std::string Encode(const HostCall& call) { return EncodeTyped(call, kCallTypes); }
std::string Encode(const AgentReport& report) { return EncodeTyped(report, kReportTypes); }

Parsed<HostCall> ParseHostCall(std::string_view text) {
  return ParseTyped<HostCall>(text, kCallTypes);
}
Parsed<AgentReport> ParseAgentReport(std::string_view text) {
  return ParseTyped<AgentReport>(text, kReportTypes);
}

std::vector<ObservedReport> InParts(ObservedReport report, size_t rows) {
  const size_t most =
      std::max({report.steps.size(), report.resizes.size(), report.actuations.size(),
                report.memory_moves.size(), report.requests.size(), report.progress.size()});
  if (most <= rows) return {std::move(report)};
  std::vector<ObservedReport> parts;
  for (size_t begin = 0; begin < most; begin += rows) {
    ObservedReport& part = parts.emplace_back();
    TakeRows(report.steps, begin, rows, &part.steps);
    TakeRows(report.resizes, begin, rows, &part.resizes);
    TakeRows(report.actuations, begin, rows, &part.actuations);
    TakeRows(report.memory_moves, begin, rows, &part.memory_moves);
    TakeRows(report.requests, begin, rows, &part.requests);
    TakeRows(report.progress, begin, rows, &part.progress);
  }
  return parts;
}

}  // namespace cosched
