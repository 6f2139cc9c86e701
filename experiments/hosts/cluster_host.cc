#include "experiments/hosts/cluster_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "engine/base/check.h"
#include "experiments/hosts/agent_links.h"
#include "experiments/hosts/host_protocol.h"

namespace cosched {
namespace {

// The liveness of agents is looked at as often.
constexpr Duration kLongestWait = std::chrono::seconds(1);
// Requests: a message has a largest size.
constexpr size_t kMostInOneCall = 10'000;

template <typename Rows>
void AppendRows(Rows* rows, Rows* to) {
  std::move(rows->begin(), rows->end(), std::back_inserter(*to));
}

JobId JobOfEvent(const HostEvent& event) {
  return std::visit(
      [](const auto& about) {
        if constexpr (requires { about.job; }) return about.job;
        return JobId();
      },
      event);
}

AgentLinks::Options LinksOf(const ClusterHost::Options& options) {
  const ProcessHost::Options& tenants = options.tenants;
  AgentLinks::Options links{.launches = {.agents = {},
                                         .local = options.local,
                                         .binary = tenants.binary.string(),
                                         .folder = tenants.log_directory,
                                         .patience = options.connect_timeout},
                            .begins = {},
                            .answer_timeout = options.answer_timeout};
  for (const ClusterHost::Node& node : options.nodes) {
    links.launches.agents.push_back({node.name, node.launcher});
    links.begins.push_back({.cores = node.cores,
                            .binary = tenants.binary.string(),
                            .log_directory = tenants.log_directory.string(),
                            .run = tenants.run,
                            .actuator = tenants.actuator,
                            .memory = tenants.memory,
                            .shares = tenants.shares,
                            .quota_period = tenants.quota_period,
                            .timeouts = tenants.timeouts,
                            .sample_threads = tenants.sample_threads});
  }
  return links;
}

}  // namespace

struct ClusterHost::Impl final : AgentLinks::Listener {
  struct Entry {
    TenantSpec spec;
    std::optional<size_t> agent;  // Once it is started, if that is possible.
    bool started = false;
    bool over = false;  // Its end is known here, though perhaps not yet to the caller.
    int64_t order = 0;
    double progress = 0;
    Duration cpu_time{0};
    PipelineCounters pipeline;
  };

  explicit Impl(const Options& options) : links(LinksOf(options), this) {}

  void OnObserved(size_t agent, ObservedReport report) override;
  void OnEvent(size_t agent, const EventReport& report) override;
  void OnLost(size_t agent, const std::string& why) override;
  template <typename Rows>
  bool AreOf(size_t agent, const Rows& rows) const;
  bool IsOf(size_t agent, JobId job) const;

  const Entry& Find(JobId job) const;
  Entry& FindStarted(JobId job);
  std::optional<size_t> AgentOf(const CpuSet& cores) const;
  void Forget(JobId job, bool settled_only);
  void Fail(JobId job, Entry* entry, const std::string& reason);
  void FlushRequests();

  std::map<JobId, Entry> entries;
  std::deque<HostEvent> events;
  ObservedReport observed;                          // Not yet taken.
  std::vector<std::pair<size_t, SendCall>> unsent;  // Requests, and to which agent.
  std::vector<std::string> marks;
  bool wakes_at_answers = false;
  AgentLinks links;  // Last: it calls.
};

bool ClusterHost::Impl::IsOf(size_t agent, JobId job) const {
  const auto found = entries.find(job);
  return found != entries.end() && found->second.agent == agent;
}

template <typename Rows>
bool ClusterHost::Impl::AreOf(size_t agent, const Rows& rows) const {
  return std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
    if constexpr (requires { row.server; }) {
      return IsOf(agent, std::get<JobId>(row.server));
    } else {
      return IsOf(agent, row.job);
    }
  });
}

void ClusterHost::Impl::OnObserved(size_t agent, ObservedReport report) {
  if (!AreOf(agent, report.steps) || !AreOf(agent, report.resizes) ||
      !AreOf(agent, report.actuations) || !AreOf(agent, report.memory_moves) ||
      !AreOf(agent, report.requests) || !AreOf(agent, report.progress))
    return links.Lose(agent, "it told of a job that is not its");
  for (const JobProgress& now : report.progress) {
    Entry& entry = entries.at(now.job);
    entry.progress = now.progress;
    entry.cpu_time = now.cpu_time;
    entry.pipeline = now.pipeline;
  }
  AppendRows(&report.steps, &observed.steps);
  AppendRows(&report.resizes, &observed.resizes);
  AppendRows(&report.actuations, &observed.actuations);
  AppendRows(&report.memory_moves, &observed.memory_moves);
  AppendRows(&report.requests, &observed.requests);
}

void ClusterHost::Impl::OnEvent(size_t agent, const EventReport& report) {
  if (!IsOf(agent, report.job)) return links.Lose(agent, "it told of a job that is not its");
  Entry& entry = entries.at(report.job);
  if (entry.over) return;
  if (report.what == "failed") return Fail(report.job, &entry, report.reason);
  if (report.what == "settled") {
    if (report.order == entry.order) events.push_back(HostSettled{report.job});
    return;
  }
  entry.over = true;
  events.push_back(HostFinished{report.job});
}

void ClusterHost::Impl::OnLost(size_t agent, const std::string& why) {
  marks.push_back(fmt::format("at {:.3f} s {}", ToSeconds(links.clock().Now()), why));
  for (auto& [job, entry] : entries) {
    if (entry.agent == agent && !entry.over) Fail(job, &entry, why);
  }
}

const ClusterHost::Impl::Entry& ClusterHost::Impl::Find(JobId job) const {
  const auto found = entries.find(job);
  CHECK(found != entries.end()) << "job " << job.value << " was never described";
  return found->second;
}

ClusterHost::Impl::Entry& ClusterHost::Impl::FindStarted(JobId job) {
  CHECK(Find(job).started) << "job " << job.value << " was never started";
  return entries.at(job);
}

// Nullopt if these cores are of several nodes.
std::optional<size_t> ClusterHost::Impl::AgentOf(const CpuSet& cores) const {
  for (size_t agent = 0; agent < links.size(); ++agent) {
    if (links.Cores(agent).Contains(cores)) return agent;
  }
  return std::nullopt;
}

// Takes back what the caller has not heard of the job yet.
void ClusterHost::Impl::Forget(JobId job, bool settled_only) {
  std::erase_if(events, [&](const HostEvent& event) {
    return JobOfEvent(event) == job &&
           (!settled_only || std::holds_alternative<HostSettled>(event));
  });
}

void ClusterHost::Impl::Fail(JobId job, Entry* entry, const std::string& reason) {
  entry->over = true;
  Forget(job, /*settled_only=*/true);
  events.push_back(HostFailed{job, reason});
}

void ClusterHost::Impl::FlushRequests() {
  for (auto& [agent, call] : std::exchange(unsent, {})) links.Send(agent, std::move(call));
}

ClusterHost::ClusterHost(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
ClusterHost::~ClusterHost() = default;

void ClusterHost::Describe(JobId job, const TenantSpec& spec) { impl_->entries[job].spec = spec; }

const Clock& ClusterHost::GetClock() const { return impl_->links.clock(); }

void ClusterHost::Start(const Job& job, const Place& place) {
  CHECK(!place.Pauses()) << "job " << job.id.value << " is started on no cores";
  CHECK(!impl_->Find(job.id).started) << "job " << job.id.value << " is started twice";
  Impl::Entry& entry = impl_->entries.at(job.id);
  entry.started = true;
  entry.agent = impl_->AgentOf(place.cores);
  if (!entry.agent) {
    return impl_->Fail(
        job.id, &entry,
        fmt::format("it was given cores {}, which are of several nodes", place.cores.ToString()));
  }
  if (impl_->links.IsLost(*entry.agent)) {
    return impl_->Fail(
        job.id, &entry,
        fmt::format("the agent of node {} was lost before", impl_->links.Name(*entry.agent)));
  }
  impl_->links.Send(*entry.agent, DescribeCall{job.id, entry.spec});
  impl_->links.Send(*entry.agent, StartCall{.job = job.id,
                                            .workload = job.workload,
                                            .request = job.request,
                                            .elasticity = job.elasticity,
                                            .threads = job.threads,
                                            .steps = job.steps,
                                            .place = place,
                                            .order = ++entry.order});
}

void ClusterHost::Grant(JobId job, const Place& place) {
  CHECK(!place.Pauses()) << "no cores for job " << job.value << ": that is Pause";
  Impl::Entry& entry = impl_->FindStarted(job);
  impl_->Forget(job, /*settled_only=*/true);
  if (entry.over) return;
  if (impl_->AgentOf(place.cores) == entry.agent)
    return impl_->links.Send(*entry.agent, GrantCall{job, place, ++entry.order});
  Stop(job);
  impl_->Fail(job, &entry,
              fmt::format("it was given cores {}, but it runs on node {}, which has {}",
                          place.cores.ToString(), impl_->links.Name(*entry.agent),
                          impl_->links.Cores(*entry.agent).ToString()));
}

void ClusterHost::Pause(JobId job) {
  Impl::Entry& entry = impl_->FindStarted(job);
  impl_->Forget(job, /*settled_only=*/true);
  if (!entry.over) impl_->links.Send(*entry.agent, GrantCall{job, Place::Paused(), ++entry.order});
}

void ClusterHost::Stop(JobId job) {
  Impl::Entry& entry = impl_->FindStarted(job);
  impl_->Forget(job, /*settled_only=*/false);
  if (std::exchange(entry.over, true)) return;
  impl_->FlushRequests();
  impl_->links.Ask(*entry.agent, "stop", job);
}

// A job that is over gets no more: whoever sends will learn of it, and drop what it had.
void ClusterHost::Send(const ServerId& server, const Request& request) {
  const JobId job = std::get<JobId>(server);
  const Impl::Entry& entry = impl_->FindStarted(job);
  if (entry.over) return;
  auto& unsent = impl_->unsent;
  if (unsent.empty() || unsent.back().second.job != job ||
      unsent.back().second.requests.size() >= kMostInOneCall)
    unsent.emplace_back(*entry.agent, SendCall{job, {}});
  unsent.back().second.requests.push_back(request);
}

void ClusterHost::Drain(JobId job) {
  const Impl::Entry& entry = impl_->FindStarted(job);
  if (entry.over) return;
  impl_->FlushRequests();
  impl_->links.Send(*entry.agent, DrainCall{job});
}

double ClusterHost::Progress(JobId job) const { return impl_->Find(job).progress; }
Duration ClusterHost::CpuTime(JobId job) { return impl_->Find(job).cpu_time; }

PipelineCounters ClusterHost::Pipeline(JobId job) { return impl_->Find(job).pipeline; }

void ClusterHost::WakeAtAnswers(bool wanted) {
  if (std::exchange(impl_->wakes_at_answers, wanted) == wanted) return;
  for (size_t agent = 0; agent < impl_->links.size(); ++agent)
    impl_->links.Send(agent, WakeAtAnswersCall{wanted});
}

std::optional<HostEvent> ClusterHost::NextEvent(TimePoint deadline) {
  impl_->FlushRequests();
  bool goes_on = impl_->links.Pump(TimePoint());
  while (true) {
    impl_->links.CheckLiveness();
    if (!impl_->events.empty()) {
      HostEvent event = std::move(impl_->events.front());
      impl_->events.pop_front();
      return event;
    }
    if (impl_->wakes_at_answers && !impl_->observed.requests.empty()) return std::nullopt;
    const TimePoint now = GetClock().Now();
    if (!goes_on || now >= deadline) return std::nullopt;
    goes_on = impl_->links.Pump(std::min(deadline, now + kLongestWait));
  }
}

std::vector<TenantSample> ClusterHost::Sample() {
  std::vector<TenantSample> samples;
  for (auto& [agent, answer] : impl_->links.AskAll("sample")) {
    if (impl_->AreOf(agent, answer.samples)) {
      AppendRows(&answer.samples, &samples);
    } else {
      impl_->links.Lose(agent, "it told of a job that is not its");
    }
  }
  return samples;
}

std::vector<StepSample> ClusterHost::TakeSteps() {
  return std::exchange(impl_->observed.steps, {});
}
std::vector<ResizeSample> ClusterHost::TakeResizes() {
  return std::exchange(impl_->observed.resizes, {});
}
std::vector<ActuationSample> ClusterHost::TakeActuations() {
  return std::exchange(impl_->observed.actuations, {});
}
std::vector<MemoryMove> ClusterHost::TakeMemoryMoves() {
  return std::exchange(impl_->observed.memory_moves, {});
}
std::vector<RequestSample> ClusterHost::TakeRequests() {
  return std::exchange(impl_->observed.requests, {});
}

std::vector<std::string> ClusterHost::TakeMarks() {
  for (auto& [agent, answer] : impl_->links.AskAll("marks")) {
    for (const std::string& mark : answer.marks)
      impl_->marks.push_back(fmt::format("node {}: {}", impl_->links.Name(agent), mark));
  }
  std::ranges::move(impl_->links.ClockMarks(), std::back_inserter(impl_->marks));
  return std::exchange(impl_->marks, {});
}

TimeByCore ClusterHost::BusyTimes() const {
  TimeByCore times;
  for (const auto& [agent, answer] : impl_->links.AskAll("busy")) {
    for (const CoreTime& time : answer.busy) times[time.cpu] = time.busy;
  }
  return times;
}

}  // namespace cosched
