#include "experiments/hosts/node_agent.h"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "experiments/hosts/host_protocol.h"
#include "experiments/hosts/process_host.h"
#include "experiments/wire/frame_socket.h"

namespace cosched {
namespace {

// What tenants did is told as often, at least, if there is anything to tell.
constexpr Duration kReportPeriod = std::chrono::milliseconds(20);
constexpr Duration kIdlePeriod = std::chrono::seconds(1);
// Steps and requests in a frame: a few megabytes.
constexpr size_t kMostReportedRows = 10'000;

std::string ReadToken(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string token;
  if (!std::getline(stream, token) || token.empty()) {
    throw InputError({.file = file.string(),
                      .key = "--token-file",
                      .problem = "holds no token",
                      .allowed = "the file that the harness has written"});
  }
  return token;
}

// Why a host can't be what the harness wants; "" if it can.
std::string WhyNotBegin(const BeginCall& begin, const Topology& topology) {
  if (!topology.Cpus().Contains(begin.cores)) {
    return fmt::format("the node is to have cores {}, but may use {}", begin.cores.ToString(),
                       topology.Cpus().ToString());
  }
  const Actuator actuator = begin.shares ? Actuator::kQuota : begin.actuator;
  const std::string why_not = WhyNot(actuator);
  if (why_not.empty()) return "";
  return fmt::format("the actuator {} is not permitted there: {}", ToString(actuator), why_not);
}

// The job that must have been started before.
std::optional<JobId> StartedJobOf(const HostCall& call) {
  if (const auto* grant = std::get_if<GrantCall>(&call)) return grant->job;
  if (const auto* send = std::get_if<SendCall>(&call)) return send->job;
  if (const auto* drain = std::get_if<DrainCall>(&call)) return drain->job;
  const auto* question = std::get_if<QuestionCall>(&call);
  if (question != nullptr && question->what == "stop") return question->job;
  return std::nullopt;
}

class NodeAgent {
 public:
  explicit NodeAgent(const NodeAgentOptions& options) : socket_(ConnectTcp(options.connect)) {
    socket_.Send(Encode(HelloReport{.token = ReadToken(options.token_file), .node = options.node}));
  }

  int Run() {
    while (!socket_.closed() && problem_.empty()) {
      const std::optional<HostEvent> event = Wait();
      Report();
      if (event) Tell(*event);
      socket_.Flush();
      socket_.Receive();
      HandleAll();
    }
    if (problem_.empty() && !host_)
      fmt::print(stderr, "cosched node: the harness closed the connection before it began\n");
    host_.reset();  // Kills what still runs.
    if (problem_.empty()) return 0;
    fmt::print(stderr, "cosched node: the harness sent what is no message: {}\n", problem_);
    return 1;
  }

 private:
  // A job that was started and has not ended.
  struct Living {
    int64_t order = 0;
    double progress = -1;  // As it was told last.
    Duration cpu_time{-1};
  };

  // Until something happened to a tenant, or the harness has said something, or it is time.
  std::optional<HostEvent> Wait() {
    const bool hurry = !living_.empty() || socket_.HasUnsent();
    const Duration patience = hurry ? kReportPeriod : kIdlePeriod;
    if (host_) return host_->NextEvent(host_->GetClock().Now() + patience);
    pollfd descriptor{socket_.fd(), POLLIN, 0};
    poll(&descriptor, 1,
         static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(patience).count()));
    return std::nullopt;
  }

  void HandleAll() {
    for (std::string text; problem_.empty() && socket_.Take(&text);) {
      const Parsed<HostCall> call = ParseHostCall(text);
      problem_ = call.message ? WhyNotNow(*call.message) : call.error;
      if (problem_.empty()) std::visit([this](const auto& one) { Handle(one); }, *call.message);
    }
  }

  // What would be the harness's own mistake; "" if it is none.
  std::string WhyNotNow(const HostCall& call) const {
    const bool begins = std::holds_alternative<BeginCall>(call);
    if (begins == (host_ != nullptr)) return begins ? "begin, twice" : "nothing has begun";
    if (const auto* describe = std::get_if<DescribeCall>(&call))
      return started_.contains(describe->job) ? "a job is described that was started" : "";
    if (const auto* start = std::get_if<StartCall>(&call)) {
      const bool can = serves_.contains(start->job) && !started_.contains(start->job);
      return can ? "" : "the start of a job that is not described, or was started";
    }
    const std::optional<JobId> job = StartedJobOf(call);
    return job && !started_.contains(*job) ? "a call about a job that was not started" : "";
  }

  void Handle(const BeginCall& begin) {
    const Topology topology = Topology::ThisMachine();
    BegunReport begun{.problem = WhyNotBegin(begin, topology)};
    if (begun.problem.empty()) {
      try {
        Begin(begin, topology);
      } catch (const std::exception& error) {
        begun.problem = error.what();
      }
    }
    socket_.Send(Encode(begun));
  }
  void Begin(const BeginCall& begin, const Topology& topology) {
    host_ =
        std::make_unique<ProcessHost>(ProcessHost::Options{.binary = begin.binary,
                                                           .log_directory = begin.log_directory,
                                                           .run = begin.run,
                                                           .topology = topology,
                                                           .actuator = begin.actuator,
                                                           .memory = begin.memory,
                                                           .shares = begin.shares,
                                                           .quota_period = begin.quota_period,
                                                           .cores = begin.cores,
                                                           .timeouts = begin.timeouts,
                                                           .sample_threads = begin.sample_threads,
                                                           .wake = socket_.fd()});
  }

  void Handle(const DescribeCall& call) {
    serves_[call.job] = call.spec.serves;
    host_->Describe(call.job, call.spec);
  }
  void Handle(const StartCall& call) {
    Job job;
    job.id = call.job;
    job.workload = call.workload;
    job.request = call.request;
    job.elasticity = call.elasticity;
    job.threads = call.threads;
    job.steps = call.steps;
    started_.insert(call.job);
    living_[call.job].order = call.order;
    host_->Start(job, call.place);
  }
  void Handle(const GrantCall& call) {
    const auto living = living_.find(call.job);
    if (living == living_.end()) return;  // Its end is on its way to the harness.
    living->second.order = call.order;
    if (call.place.Pauses()) {
      host_->Pause(call.job);
    } else {
      host_->Grant(call.job, call.place);
    }
  }
  void Handle(const SendCall& call) {
    if (!serves_[call.job]) return;
    for (const Request& request : call.requests) host_->Send(call.job, request);
  }
  void Handle(const DrainCall& call) {
    if (serves_[call.job]) host_->Drain(call.job);
  }
  void Handle(const WakeAtAnswersCall& call) { host_->WakeAtAnswers(call.wanted); }
  void Handle(const QuestionCall& question) {
    AnswerReport answer;
    answer.id = question.id;
    if (question.what == "stop") Stop(question.job);
    if (question.what == "sample") answer.samples = host_->Sample();
    if (question.what == "marks") answer.marks = host_->TakeMarks();
    if (question.what == "busy") {
      for (const auto& [cpu, busy] : host_->BusyTimes()) answer.busy.push_back({cpu, busy});
    }
    answer.now = host_->GetClock().Now();
    socket_.Send(Encode(answer));
  }
  void Stop(JobId job) {
    host_->Stop(job);
    Report();
    living_.erase(job);
  }

  // What was seen of the tenants since the last time.
  void Report() {
    if (!host_) return;
    ObservedReport report{.steps = host_->TakeSteps(),
                          .resizes = host_->TakeResizes(),
                          .actuations = host_->TakeActuations(),
                          .memory_moves = host_->TakeMemoryMoves(),
                          .requests = host_->TakeRequests(),
                          .progress = {}};
    for (auto& [job, living] : living_) {
      const JobProgress now{job, host_->Progress(job), host_->CpuTime(job), host_->Pipeline(job)};
      if (now.progress == living.progress && now.cpu_time == living.cpu_time) continue;
      living.progress = now.progress;
      living.cpu_time = now.cpu_time;
      report.progress.push_back(now);
    }
    if (report.Empty()) return;
    for (const ObservedReport& part : InParts(std::move(report), kMostReportedRows))
      socket_.Send(Encode(part));
  }

  void Tell(const HostEvent& event) {
    EventReport report;
    if (const auto* settled = std::get_if<HostSettled>(&event)) {
      report.what = "settled";
      report.job = settled->job;
      report.order = living_[settled->job].order;
    } else if (const auto* finished = std::get_if<HostFinished>(&event)) {
      report.what = "finished";
      report.job = finished->job;
    } else if (const auto* failed = std::get_if<HostFailed>(&event)) {
      report.what = "failed";
      report.job = failed->job;
      report.reason = failed->reason;
    } else {
      return;  // The host has no devices.
    }
    if (report.what != "settled") living_.erase(report.job);
    socket_.Send(Encode(report));
  }

  FrameSocket socket_;
  std::unique_ptr<ProcessHost> host_;  // Once it has begun.
  std::map<JobId, bool> serves_;       // Those that were described.
  std::set<JobId> started_;
  std::map<JobId, Living> living_;
  std::string problem_;  // Of what the harness said; "" = none.
};

}  // namespace

int RunNodeAgent(const NodeAgentOptions& options) { return NodeAgent(options).Run(); }

}  // namespace cosched
