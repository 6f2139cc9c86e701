#include "experiments/hosts/agent_links.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "engine/base/error.h"
#include "experiments/wire/shared_counters.h"

namespace cosched {
namespace {

constexpr int kClockPings = 16;
constexpr Duration kLivenessPeriod = std::chrono::seconds(1);
// A clock that is known no better, or has moved by more, is worth a mark.
constexpr Duration kClockDoubt = std::chrono::milliseconds(1);

void Shift(Duration by, ObservedReport* report) {
  for (StepSample& step : report->steps) step.finished += by;
  for (ResizeSample& resize : report->resizes) resize.time += by;
  for (ActuationSample& actuation : report->actuations) actuation.time += by;
  for (MemoryMove& move : report->memory_moves) move.time += by;
  for (RequestSample& request : report->requests) {
    for (TimePoint* time :
         {&request.scheduled, &request.received, &request.started, &request.finished})
      *time += by;
  }
}

}  // namespace

AgentLinks::AgentLinks(Options options, Listener* listener)
    : options_(std::move(options)), listener_(listener) {
  for (AgentConnection& connection : ConnectAgents(options_.launches)) {
    Agent& agent = agents_.emplace_back();
    agent.process = std::move(connection.process);
    agent.socket = std::move(connection.socket);
  }
  Begin();
  for (size_t agent = 0; agent < size(); ++agent) SetClock(agent);
  clock_.emplace();
  epoch_ = MonotonicNow() - clock_->Now().time_since_epoch();
}

AgentLinks::~AgentLinks() {
  for (Agent& agent : agents_) agent.socket.reset();  // All at once.
}

void AgentLinks::Begin() {
  const Duration limit = MonotonicNow() + options_.launches.patience;
  for (size_t i = 0; i < size(); ++i) Send(i, options_.begins[i]);
  for (size_t i = 0; i < size(); ++i) {
    const Agent& agent = agents_[i];
    while (agent.socket && !agent.begun && MonotonicNow() < limit) PumpUntil(limit);
    if (agent.socket && agent.begun == "") continue;
    Refuse(i, agent.begun.value_or("its agent said nothing, or was lost"));
  }
}

void AgentLinks::Refuse(size_t agent, const std::string& problem) {
  for (Agent& one : agents_) one.socket.reset();
  throw InputError({.file = "node " + Name(agent),
                    .problem = problem,
                    .allowed = "a node that has the experiment's cores and what it needs"});
}

void AgentLinks::SetClock(size_t agent) {
  std::tie(agents_[agent].zero, agents_[agent].doubt) = MeasureClock(agent);
  if (IsLost(agent)) Refuse(agent, "its agent was lost as soon as it had begun");
}

// When its clock was 0, and how exactly that is known.
std::pair<Duration, Duration> AgentLinks::MeasureClock(size_t agent) {
  Duration zero{0}, shortest = kClockPings * options_.answer_timeout;
  for (int i = 0; i < kClockPings && !IsLost(agent); ++i) {
    const Duration before = MonotonicNow();
    const std::optional<AnswerReport> answer = Ask(agent, "ping");
    const Duration taken = MonotonicNow() - before;
    if (!answer || taken >= shortest) continue;
    shortest = taken;
    zero = before + taken / 2 - answer->now.time_since_epoch();
  }
  return {zero, shortest / 2};
}

void AgentLinks::Send(size_t agent, HostCall call) {
  if (IsLost(agent)) return;
  if (auto* send = std::get_if<SendCall>(&call)) {
    for (Request& request : send->requests) request.scheduled -= ShiftOf(agents_[agent]);
  }
  agents_[agent].socket->Send(Encode(call));
}

bool AgentLinks::Pump(TimePoint until) { return PumpUntil(epoch_ + until.time_since_epoch()); }

bool AgentLinks::PumpUntil(Duration monotonic) {
  std::vector<pollfd> descriptors;
  for (Agent& agent : agents_) {
    if (!agent.socket) continue;
    agent.socket->Flush();
    const int wanted = agent.socket->HasUnsent() ? POLLIN | POLLOUT : POLLIN;
    descriptors.push_back({agent.socket->fd(), static_cast<short>(wanted), 0});
  }
  const Duration left = std::max(monotonic - MonotonicNow(), Duration(0));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const timespec timeout{static_cast<time_t>(seconds.count()),
                         static_cast<long>((left - seconds).count())};
  const int ready = ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr);
  if (ready < 0) return errno != EINTR;
  for (size_t agent = 0; agent < size(); ++agent) ReadFrom(agent);
  return true;
}

void AgentLinks::ReadFrom(size_t agent) {
  if (IsLost(agent)) return;
  agents_[agent].socket->Receive();
  for (std::string text; !IsLost(agent) && agents_[agent].socket->Take(&text);) {
    Parsed<AgentReport> report = ParseAgentReport(text);
    if (!report.message) return Lose(agent, "it sent what is no message: " + report.error);
    Handle(agent, std::move(*report.message));
  }
  if (!IsLost(agent) && agents_[agent].socket->closed())
    Lose(agent, std::string(agents_[agent].socket->problem()));
}

void AgentLinks::Handle(size_t agent, AgentReport report) {
  Agent& from = agents_[agent];
  if (auto* observed = std::get_if<ObservedReport>(&report)) {
    Shift(ShiftOf(from), observed);
    listener_->OnObserved(agent, std::move(*observed));
  } else if (const auto* event = std::get_if<EventReport>(&report)) {
    listener_->OnEvent(agent, *event);
  } else if (auto* answer = std::get_if<AnswerReport>(&report)) {
    for (TenantSample& sample : answer->samples) sample.time += ShiftOf(from);
    if (answer->id == from.liveness) {
      from.liveness = 0;
    } else {
      from.answers[answer->id] = std::move(*answer);
    }
  } else if (const auto* begun = std::get_if<BegunReport>(&report)) {
    from.begun = begun->problem;
  } else {
    Lose(agent, "it said hello twice");
  }
}

int64_t AgentLinks::Pose(size_t agent, const std::string& what, JobId job) {
  Send(agent, QuestionCall{.id = ++last_question_, .what = what, .job = job});
  return last_question_;
}

std::optional<AnswerReport> AgentLinks::Await(size_t agent, int64_t question) {
  const Duration limit = MonotonicNow() + options_.answer_timeout;
  while (!IsLost(agent) && !agents_[agent].answers.contains(question)) {
    if (MonotonicNow() >= limit) {
      Lose(agent,
           fmt::format("it did not answer for {:.0f} s", ToSeconds(options_.answer_timeout)));
    } else {
      PumpUntil(limit);
    }
  }
  auto answer = agents_[agent].answers.extract(question);
  return answer ? std::optional(std::move(answer.mapped())) : std::nullopt;
}

std::optional<AnswerReport> AgentLinks::Ask(size_t agent, const std::string& what, JobId job) {
  return Await(agent, Pose(agent, what, job));
}

std::map<size_t, AnswerReport> AgentLinks::AskAll(const std::string& what) {
  std::map<size_t, int64_t> questions;
  for (size_t agent = 0; agent < size(); ++agent) {
    if (!IsLost(agent)) questions[agent] = Pose(agent, what, {});
  }
  std::map<size_t, AnswerReport> answers;
  for (const auto& [agent, question] : questions) {
    if (auto answer = Await(agent, question)) answers[agent] = std::move(*answer);
  }
  return answers;
}

// What has arrived was read before: a harness that was stopped for a while is no sign.
void AgentLinks::CheckLiveness() {
  for (size_t i = 0; i < size(); ++i) {
    Agent& agent = agents_[i];
    if (!agent.socket) continue;
    const Duration since = MonotonicNow() - agent.liveness_sent;
    if (agent.liveness != 0 && since >= options_.answer_timeout) {
      Lose(i, fmt::format("it did not answer for {:.0f} s", ToSeconds(since)));
    } else if (agent.liveness == 0 && since >= kLivenessPeriod) {
      agent.liveness = Pose(i, "ping", {});
      agent.liveness_sent = MonotonicNow();
    }
  }
}

void AgentLinks::Lose(size_t agent, const std::string& reason) {
  if (IsLost(agent)) return;
  agents_[agent].socket.reset();
  agents_[agent].process->Terminate();
  if (!clock_) return;  // Refuse() tells.
  listener_->OnLost(agent, fmt::format("the agent of node {} was lost: {}", Name(agent), reason));
}

std::vector<std::string> AgentLinks::ClockMarks() {
  std::vector<std::string> marks;
  for (size_t i = 0; i < size(); ++i) {
    if (IsLost(i)) continue;
    const auto [zero, doubt] = MeasureClock(i);
    const Duration moved = std::chrono::abs(zero - agents_[i].zero);
    if (IsLost(i) || std::max(agents_[i].doubt, moved - doubt) <= kClockDoubt) continue;
    marks.push_back(fmt::format(
        "the times of node {} were known to {:.1f} ms, and its clock moved by {:.1f} ms", Name(i),
        ToSeconds(agents_[i].doubt) * 1e3, ToSeconds(moved) * 1e3));
  }
  return marks;
}

}  // namespace cosched
