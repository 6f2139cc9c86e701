#include "policies/arbiter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/check.h"
#include "policies/allocation_check.h"
#include "policies/event_text.h"
#include "policies/occupancy.h"

namespace cosched {
namespace {

// What a job that has not ended is about to be. Three places matter and differ only while something
// is in transition:
//   target    where the latest decision wants it (view.cores, view.amount),
//   asked     where the host was last told to put it,
//   occupied  all that its threads may still use: the last settled place and all asked for since.
struct Entry {
  const JobView* view = nullptr;  // In the table; never null.
  bool untold = false;            // The host has not been told the target yet.
  bool at_host = false;           // Host::Start was called.
  bool in_flight = false;         // The host has not answered the latest Start, Grant or Pause.
  int waits_for_node = -1;        // Untold, and wants a share of that node.
  Place asked;
  Hold occupied;
  int64_t decision = 0;  // That gave the target.
  TimePoint decided;

  Place Target() const { return {view->cores, view->amount, view->split, view->open_requests}; }
};

// What a job computes with if it runs on `cores` and the policy wants `split`.
Split ThreadsFor(const JobView& job, Split split) {
  if (job.elasticity == Elasticity::kRigid)
    return job.threads.value_or(job.SplitOn(job.request.preferred));
  return split;
}

}  // namespace

struct Arbiter::Impl {
  Impl(Policy& decider, bool may_oversubscribe, bool asked_when_settled, Host& world,
       const Topology& machine, CpuSet usable, std::vector<CpuSet> nodes, ArbiterObserver& witness)
      : policy(decider),
        oversubscribes(may_oversubscribe),
        on_settled(asked_when_settled),
        host(world),
        observer(witness),
        topology(machine.Within(usable)),
        occupancy(nodes),
        waiting_sharers(nodes.size()) {
    view.topology = &topology;
    view.cores = std::move(usable);
    view.nodes = std::move(nodes);
    view.progress_of = [this](JobId id) {
      const Entry* entry = Find(id);
      return entry && entry->at_host ? host.Progress(id) : 0;
    };
  }

  Policy& policy;
  const bool oversubscribes;
  const bool on_settled;
  Host& host;
  ArbiterObserver& observer;

  const Topology topology;
  MachineView view;
  std::unordered_map<int64_t, Entry> entries;  // The entry of each job of the view, by id.
  // Entries whose target the host has not been told yet. Each new target is told, so that each is
  // answered.
  int untold = 0;
  // Untold entries that may be told something now: their target is new, or a core of it was
  // left. All others still wait for the same cores.
  std::vector<JobId> to_advance;
  std::vector<JobId> wanted_by;  // By CPU: whose latest target owns it. May have ended since.
  int in_flight = 0;             // Entries whose latest question is not answered.
  Occupancy occupancy;           // By all entries.
  CoreCounter vacating;          // Occupied by entries that want to be elsewhere.
  // By node: untold entries that want a share there.
  std::vector<std::set<JobId>> waiting_sharers;
  int sharers_wait = 0;  // On all nodes.
  JobId last_submitted{-1};
  int64_t decisions = 0;
  TimePoint last_time;

  TimePoint Now() {
    const TimePoint now = host.GetClock().Now();
    CHECK(now >= last_time) << "the host's clock went back from " << ToSeconds(last_time) << " to "
                            << ToSeconds(now);
    last_time = now;
    return now;
  }

  Entry* Find(JobId id) {
    const auto found = entries.find(id.value);
    return found == entries.end() ? nullptr : &found->second;
  }

  const MachineView& View() {
    view.now = Now();
    if (!oversubscribes) view.vacating = vacating.Held();
    return view;
  }

  void Add(const Job& job) {
    JobView added;
    static_cast<Job&>(added) = job;
    if (job.open_range) added.open_requests = job.open_range->at_start;
    added.submitted = job.arrival.value_or(Now());
    CHECK(added.submitted <= Now()) << "job " << job.id.value << " is submitted before it arrives";
    entries[job.id.value].view = &view.jobs.Add(std::move(added));
  }

  // Changes what the entry occupies and where it wants to be, keeping the counts.
  template <typename Change>
  void Move(Entry* entry, Change change) {
    const Hold before = entry->occupied;
    const CpuSet was_vacating = occupancy.CoresOf(before) - entry->view->cores;
    change();
    const Hold& now = entry->occupied;
    occupancy.Replace(before, now);
    vacating.Replace(was_vacating, occupancy.CoresOf(now) - entry->view->cores);
    if (untold == 0) return;
    const CpuSet left = occupancy.CoresOf(before) - occupancy.CoresOf(now);
    for (const int cpu : left) {
      const auto at = static_cast<size_t>(cpu);
      if (at < wanted_by.size()) to_advance.push_back(wanted_by[at]);
    }
    if (sharers_wait > 0) WakeSharers(before, now);
  }

  // Those that may have room now that somebody holds `now` in place of `before`.
  void WakeSharers(const Hold& before, const Hold& now) {
    const auto wake = [this](const std::set<JobId>& waiting) {
      to_advance.insert(to_advance.end(), waiting.begin(), waiting.end());
    };
    const bool shrank = now.amount < before.amount;
    if (shrank && before.node != -1) wake(waiting_sharers[static_cast<size_t>(before.node)]);
    const CpuSet disowned = before.cores - now.cores;  // Though it may share them now.
    if (disowned.Empty()) return;
    for (size_t node = 0; node < waiting_sharers.size(); ++node) {
      const std::set<JobId>& waiting = waiting_sharers[node];
      if (!waiting.empty() && disowned.Intersects(view.nodes[node])) wake(waiting);
    }
  }

  void SetUntold(Entry* entry, bool value) {
    untold += static_cast<int>(value) - static_cast<int>(entry->untold);
    entry->untold = value;
    const JobView& job = *entry->view;
    if (const int node = std::exchange(entry->waits_for_node, -1); node != -1) {
      waiting_sharers[static_cast<size_t>(node)].erase(job.id);
      --sharers_wait;
    }
    if (!value) return;
    to_advance.push_back(job.id);
    if (job.Shares()) {
      entry->waits_for_node = occupancy.NodeOf(job.cores);
      waiting_sharers[static_cast<size_t>(entry->waits_for_node)].insert(job.id);
      ++sharers_wait;
      return;
    }
    for (const int cpu : job.cores) {
      const auto at = static_cast<size_t>(cpu);
      if (at >= wanted_by.size()) wanted_by.resize(at + 1);
      wanted_by[at] = job.id;
    }
  }

  void SetInFlight(Entry* entry, bool value) {
    in_flight += static_cast<int>(value) - static_cast<int>(entry->in_flight);
    entry->in_flight = value;
  }

  void End(JobId id, JobEnd end, const std::string& reason) {
    Entry* entry = Find(id);
    CHECK(entry) << "job " << id.value << " ended twice";
    SetInFlight(entry, false);
    SetUntold(entry, false);
    Move(entry, [&] { entry->occupied = Hold(); });
    entries.erase(id.value);
    view.jobs.Remove(id);
    observer.OnEnded(Now(), id, end, reason);
  }

  // Asks the policy, then brings the world towards the answer.
  void Decide(const Event& event) {
    const TimePoint now = View().now;
    const int64_t decision = decisions++;
    Allocation allocation;
    Targets targets;
    std::string error;
    const auto start = std::chrono::steady_clock::now();
    try {
      allocation = policy.Decide(view, event);
    } catch (const std::exception& e) {
      error = fmt::format("the policy threw: {}", e.what());
    }
    const Duration took = host.ChargeDecision(std::chrono::steady_clock::now() - start);
    try {
      if (error.empty()) targets = ResolveAllocation(view, allocation, oversubscribes);
    } catch (const PolicyError& e) {
      error = e.what();
    }
    if (!error.empty()) {
      if (observer.WantsDecisions()) {
        observer.OnDecision(now, decision, ToString(event), "", took);
      }
      throw PolicyError(fmt::format("policy broke its contract at {}: {}", ToString(event), error));
    }
    KeepChanges(&targets);
    if (observer.WantsDecisions()) {
      observer.OnDecision(now, decision, ToString(event),
                          DescribeAllocation(view, allocation, targets), took);
    }
    Apply(allocation, targets, decision, now);
    Advance();
  }

  // Drops the targets that jobs have already; gives rigid and moldable jobs the threads they must
  // have.
  void KeepChanges(Targets* targets) {
    std::erase_if(*targets, [this](auto& id_and_target) {
      auto& [id, target] = id_and_target;
      const Entry& entry = *Find(id);
      const JobView& job = *entry.view;
      const bool fixed = entry.at_host && job.elasticity != Elasticity::kMalleable;
      target.threads = fixed ? job.split : ThreadsFor(job, target.threads);
      return job.IsActive() && entry.Target() == target;
    });
  }

  void Apply(const Allocation& allocation, const Targets& targets, int64_t decision,
             TimePoint now) {
    for (const auto& id_and_target : targets) {
      const JobId id = id_and_target.first;
      const Place& target = id_and_target.second;
      Entry& entry = *Find(id);
      entry.decision = decision;
      entry.decided = now;
      Move(&entry, [&] {
        view.jobs.Update(id, [&](JobView& job) { SetTarget(target, entry.at_host, now, &job); });
      });
      SetUntold(&entry, entry.at_host || !target.Pauses());
    }
    for (const auto& [id, decided] : allocation.jobs) {
      const Reject* reject = std::get_if<Reject>(&decided);
      if (reject == nullptr) continue;
      End(id, RefusalOf(id), reject->reason.empty() ? "rejected by the policy" : reject->reason);
    }
  }

  // Nothing is lost with an instance for which a device answers.
  JobEnd RefusalOf(JobId id) const {
    const JobView* job = view.jobs.Find(id);
    const ServiceView* service =
        job != nullptr && job->service ? view.FindService(*job->service) : nullptr;
    const bool is_answered =
        service != nullptr &&
        std::any_of(service->servers.begin(), service->servers.end(), [](const auto& server) {
          return std::holds_alternative<DeviceId>(server.first);
        });
    return is_answered ? JobEnd::kDeclined : JobEnd::kRejected;
  }

  static void SetTarget(const Place& target, bool at_host, TimePoint now, JobView* job) {
    if (target.Pauses() && !at_host) {
      job->state = JobState::kWaiting;  // The job's start is called off.
      job->started.reset();
    } else if (target.Pauses()) {
      job->state = JobState::kPaused;
      job->last_cores = job->cores;
    } else {
      job->state = JobState::kRunning;
      if (!job->started) job->started = now;
      job->last_cores = CpuSet();
    }
    job->cores = target.cores;
    job->amount = target.amount;
    job->split = target.threads;
    job->open_requests = target.open_requests;
  }

  // Tells the host everything that can be told now, in order of submission. A grant waits until all
  // its cores are vacated by others, and until others' amounts leave room for its own; a job that
  // must leave cores while it waits for its new ones leaves them first, or two jobs that swap would
  // wait for each other. One pass is enough: what is asked here lies within the asker's own target,
  // and targets are disjoint or fit beside each other.
  void Advance() {
    std::vector<JobId> ids = std::exchange(to_advance, {});
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (const JobId id : ids) {
      Entry* entry = Find(id);
      if (entry != nullptr && entry->untold) AdvanceOne(entry);
    }
    ids.clear();
    to_advance = std::move(ids);  // Keeps the memory.
  }

  void AdvanceOne(Entry* entry) {
    const JobView& job = *entry->view;
    const Place target = entry->Target();
    const bool joins = occupancy.MayJoin(target, entry->occupied);
    if (joins && (oversubscribes || occupancy.HasRoom(target, entry->occupied))) {
      SetUntold(entry, false);
      Ask(*entry, target);
      return;
    }
    // A share that waits for room keeps what it has, which is less; also where it becomes all of
    // its node.
    const bool owns = target.Owns() && entry->asked.Owns();
    const bool grows = !entry->asked.Owns() && entry->asked.cores == target.cores;
    if (entry->asked.Pauses() || grows) return;
    if (owns && target.cores.Contains(entry->asked.cores)) return;
    const CpuSet kept = owns ? entry->asked.cores & target.cores : CpuSet();
    const bool can_run = kept.Count() >= job.request.min;
    const bool malleable = job.elasticity == Elasticity::kMalleable;
    const Split split = malleable ? job.SplitOn(kept.Count()) : job.split;
    Place place = Place::Whole(can_run ? kept : CpuSet(), split);
    place.open_requests = target.open_requests;
    Ask(*entry, place);
  }

  void Ask(Entry& entry, const Place& place) {
    const JobView& job = *entry.view;
    CHECK(oversubscribes || occupancy.HasRoom(place, entry.occupied))
        << "cores " << place.cores.ToString() << " of job " << job.id.value
        << " have another owner";
    const TimePoint now = Now();
    entry.asked = place;
    Move(&entry, [&] { entry.occupied = occupancy.Joined(entry.occupied, place); });
    SetInFlight(&entry, true);
    if (!std::exchange(entry.at_host, true)) {
      observer.OnStarted(now, job.id, place);
      host.Start(job, place);
      return;
    }
    observer.OnGrant(now, job.id, place);
    if (place.Pauses()) {
      host.Pause(job.id);
    } else {
      host.Grant(job.id, place);
    }
  }

  void Settled(JobId id) {
    Entry* entry = Find(id);
    // Nothing under way: the host repeats what is known.
    if (entry == nullptr || !entry->in_flight) return;
    SetInFlight(entry, false);
    // What kept its share from another node was its own hold, which wakes nobody there.
    const bool was_elsewhere =
        entry->untold && !occupancy.MayJoin(entry->Target(), entry->occupied);
    Move(entry, [&] { entry->occupied = occupancy.At(entry->asked); });
    if (was_elsewhere) to_advance.push_back(id);
    if (entry->untold) {  // The job has made room, or was overtaken by a decision that still waits.
      Advance();
      return;
    }
    const TimePoint now = Now();
    observer.OnSettled(now, id, entry->asked, entry->decision, now - entry->decided);
    if (on_settled) {
      Decide(GrantSettled{id});
    } else {
      Advance();
    }
  }
};

Arbiter::Arbiter(Policy& policy, bool oversubscribes, Host& host, const Topology& topology,
                 CpuSet cores, ArbiterObserver& observer, bool on_settled,
                 std::vector<CpuSet> nodes) {
  CHECK(!cores.Empty() && topology.Cpus().Contains(cores))
      << "cores " << cores.ToString() << " of " << topology.Cpus().ToString();
  if (nodes.empty()) nodes = {cores};
  CpuSet in_nodes;
  for (const CpuSet& node : nodes) {
    CHECK(!node.Empty() && cores.Contains(node) && !in_nodes.Intersects(node))
        << "node " << node.ToString() << " of cores " << cores.ToString();
    in_nodes |= node;
  }
  impl_ = std::make_unique<Impl>(policy, oversubscribes, on_settled, host, topology,
                                 std::move(cores), std::move(nodes), observer);
}

Arbiter::~Arbiter() = default;

void Arbiter::Submit(const Job& job) {
  const CoreRequest& request = job.request;
  CHECK(1 <= request.min && request.min <= request.preferred && request.preferred <= request.max)
      << "job " << job.id.value << " asks for " << request.min << " <= " << request.preferred
      << " <= " << request.max << " cores";
  CHECK(job.id > impl_->last_submitted)
      << "job " << job.id.value << " comes after " << impl_->last_submitted.value;
  impl_->last_submitted = job.id;
  impl_->Add(job);
  impl_->observer.OnSubmitted(impl_->Now(), job);
  const MachineView& view = impl_->view;
  const bool bound = job.node.has_value();
  CHECK(!bound || static_cast<size_t>(*job.node) < view.nodes.size())
      << "job " << job.id.value << " wants node " << *job.node;
  const int most = (bound ? view.nodes[static_cast<size_t>(*job.node)] : view.cores).Count();
  if (request.min > most) {
    impl_->End(job.id, JobEnd::kRejected,
               fmt::format("needs at least {} cores, {} has {}", request.min,
                           bound ? "its node" : "the machine", most));
    return;
  }
  impl_->Decide(JobArrived{job.id});
}

void Arbiter::Handle(const HostEvent& event) {
  CHECK(!std::holds_alternative<HostLostDevice>(event)) << "a device is no job";
  if (const auto* settled = std::get_if<HostSettled>(&event)) {
    impl_->Settled(settled->job);
    return;
  }
  const auto* failed = std::get_if<HostFailed>(&event);
  const JobId id = failed ? failed->job : std::get<HostFinished>(event).job;
  const Entry* entry = impl_->Find(id);
  if (entry == nullptr) {
    CHECK(id <= impl_->last_submitted)
        << "the host speaks of job " << id.value << ", never submitted";
    return;  // The first end counts: it was stopped, or failed, with this on its way.
  }
  CHECK(entry->at_host || failed) << "job " << id.value << " finished and was never started";
  if (failed) {
    impl_->End(id, JobEnd::kFailed, failed->reason);
    impl_->Decide(JobFailed{id});
  } else {
    impl_->End(id, JobEnd::kFinished, "");
    impl_->Decide(JobFinished{id});
  }
}

void Arbiter::Tick() { impl_->Decide(cosched::Tick{}); }

void Arbiter::SetServices(std::vector<ServiceView> services, std::vector<DeviceView> devices) {
  impl_->view.services = std::move(services);
  impl_->view.devices = std::move(devices);
}

void Arbiter::WindowOver() { impl_->Decide(cosched::WindowOver{}); }

void Arbiter::ObjectiveChanged(ServiceId service) {
  impl_->Decide(cosched::ObjectiveChanged{service});
}

void Arbiter::EndAll(JobEnd end, const std::string& reason) {
  while (impl_->view.jobs.size() > 0) {
    const JobId id = impl_->view.jobs.begin()->id;
    if (impl_->Find(id)->at_host) impl_->host.Stop(id);
    impl_->End(id, end, reason);
  }
}

int Arbiter::Waiting() const { return static_cast<int>(impl_->view.jobs.Waiting().size()); }

int Arbiter::Running() const { return static_cast<int>(impl_->view.jobs.Running().size()); }

int Arbiter::Started() const { return static_cast<int>(impl_->view.jobs.size()) - Waiting(); }

bool Arbiter::InTransition() const { return impl_->in_flight > 0 || impl_->untold > 0; }

bool Arbiter::IsAtHost(JobId job) const {
  const Entry* entry = impl_->Find(job);
  return entry != nullptr && entry->at_host;
}

const MachineView& Arbiter::View() const { return impl_->View(); }

}  // namespace cosched
