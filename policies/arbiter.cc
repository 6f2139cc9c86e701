#include "policies/arbiter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/check.h"
#include "policies/allocation_check.h"

namespace cosched {
namespace {

// A job that has not ended. Three places matter and differ only while something is in transition:
//   target    where the latest decision wants it (view.cores),
//   asked     where the host was last told to put it,
//   occupied  every core its threads may still be on: the last settled place and all asked for
//   since.
struct Entry {
  JobView view;
  bool at_host = false;    // Host::Start was called.
  bool in_flight = false;  // The host has not answered the latest Start, Grant or Pause.
  bool told =
      true;  // The host knows the target. Each new target is told, so that each is answered.
  CpuSet asked;
  CpuSet occupied;
  int64_t decision = 0;  // That gave the target.
  TimePoint decided;
};

std::string Describe(const Event& event) {
  struct Visitor {
    std::string operator()(const JobArrived& e) {
      return fmt::format("job-arrived {}", e.job.value);
    }
    std::string operator()(const JobFinished& e) {
      return fmt::format("job-finished {}", e.job.value);
    }
    std::string operator()(const JobFailed& e) { return fmt::format("job-failed {}", e.job.value); }
    std::string operator()(const GrantSettled& e) {
      return fmt::format("grant-settled {}", e.job.value);
    }
    std::string operator()(const cosched::Tick&) { return "tick"; }
  };
  return std::visit(Visitor{}, event);
}

// What a job computes with if it runs on `cores` and the policy wants `split`.
Split ThreadsFor(const JobView& job, Split split) {
  if (job.elasticity == Elasticity::kRigid)
    return job.threads.value_or(DefaultSplit(job.request.preferred));
  return split;
}

}  // namespace

struct Arbiter::Impl {
  Policy& policy;
  const bool oversubscribes;
  Host& host;
  const Topology& topology;
  const CpuSet cores;
  ArbiterObserver& observer;

  std::vector<Entry> entries;  // In order of submission.
  std::set<JobId> ended;
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
    const auto it = std::find_if(entries.begin(), entries.end(),
                                 [&](const Entry& entry) { return entry.view.id == id; });
    return it == entries.end() ? nullptr : &*it;
  }

  CpuSet OccupiedByOthers(const Entry& self) const {
    CpuSet result;
    for (const Entry& entry : entries) {
      if (&entry != &self) result = result | entry.occupied;
    }
    return result;
  }

  MachineView View(TimePoint now) const {
    MachineView view{.topology = &topology, .now = now, .cores = cores, .vacating = {}, .jobs = {}};
    for (const Entry& entry : entries) {
      view.jobs.push_back(entry.view);
      if (entry.at_host) view.jobs.back().progress = host.Progress(entry.view.id);
      if (!oversubscribes) view.vacating = view.vacating | (entry.occupied - entry.view.cores);
    }
    return view;
  }

  void End(JobId id, JobEnd end, const std::string& reason) {
    CHECK(ended.insert(id).second) << "job " << id.value << " ended twice";
    std::erase_if(entries, [&](const Entry& entry) { return entry.view.id == id; });
    observer.OnEnded(Now(), id, end, reason);
  }

  // Asks the policy, then brings the world towards the answer.
  void Decide(const Event& event) {
    const TimePoint now = Now();
    const MachineView view = View(now);
    const int64_t decision = decisions++;
    Allocation allocation;
    std::map<JobId, Target> targets;
    std::string error;
    const auto start = std::chrono::steady_clock::now();
    try {
      allocation = policy.Decide(view, event);
    } catch (const std::exception& e) {
      error = fmt::format("the policy threw: {}", e.what());
    }
    const Duration took = std::chrono::steady_clock::now() - start;
    try {
      if (error.empty()) targets = ResolveAllocation(view, allocation, oversubscribes);
    } catch (const PolicyError& e) {
      error = e.what();
    }
    if (!error.empty()) {
      observer.OnDecision(now, decision, Describe(event), "", took);
      throw PolicyError(fmt::format("policy broke its contract at {}: {}", Describe(event), error));
    }
    KeepChanges(&targets);
    observer.OnDecision(now, decision, Describe(event), DescribeAllocation(allocation, targets),
                        took);
    Apply(allocation, targets, decision, now);
    Advance();
  }

  // Drops the targets that jobs have already; gives rigid and moldable jobs the threads they must
  // have.
  void KeepChanges(std::map<JobId, Target>* targets) {
    for (auto it = targets->begin(); it != targets->end();) {
      const Entry& entry = *Find(it->first);
      Target& target = it->second;
      const bool fixed = entry.at_host && entry.view.elasticity != Elasticity::kMalleable;
      target.split = fixed ? entry.view.split : ThreadsFor(entry.view, target.split);
      const bool same = entry.view.IsActive() && entry.view.cores == target.cores &&
                        entry.view.split == target.split;
      it = same ? targets->erase(it) : std::next(it);
    }
  }

  void Apply(const Allocation& allocation, const std::map<JobId, Target>& targets, int64_t decision,
             TimePoint now) {
    for (const auto& [id, target] : targets) {
      Entry& entry = *Find(id);
      JobView& view = entry.view;
      entry.decision = decision;
      entry.decided = now;
      entry.told = false;
      if (target.cores.Empty() && !entry.at_host) {
        view.state = JobState::kWaiting;  // Its start is called off.
        view.started.reset();
        entry.told = true;
      } else if (target.cores.Empty()) {
        view.state = JobState::kPaused;
        view.last_cores = view.cores;
      } else {
        view.state = JobState::kRunning;
        if (!view.started) view.started = now;
        view.last_cores = CpuSet();
      }
      view.cores = target.cores;
      view.split = target.split;
    }
    for (const auto& [id, decided] : allocation.jobs) {
      const Reject* reject = std::get_if<Reject>(&decided);
      if (reject == nullptr) continue;
      End(id, JobEnd::kRejected,
          reject->reason.empty() ? "rejected by the policy" : reject->reason);
    }
  }

  // Tells the host everything that can be told now. A grant waits until all its cores are vacated
  // by others; a job that must leave cores while it waits for its new ones leaves them first, or
  // two jobs that swap would wait for each other. One pass is enough: what is asked here lies
  // within the asker's own target, and targets are disjoint.
  void Advance() {
    for (Entry& entry : entries) {
      if (entry.told) continue;
      const CpuSet& target = entry.view.cores;
      if (oversubscribes || (target & OccupiedByOthers(entry)).Empty()) {
        entry.told = true;
        Ask(entry, target, entry.view.split);
      } else if (!target.Contains(entry.asked)) {
        const CpuSet kept = entry.asked & target;
        const bool can_run = kept.Count() >= entry.view.request.min;
        const bool malleable = entry.view.elasticity == Elasticity::kMalleable;
        Ask(entry, can_run ? kept : CpuSet(),
            malleable ? DefaultSplit(kept.Count()) : entry.view.split);
      }
    }
  }

  void Ask(Entry& entry, const CpuSet& where, Split split) {
    const JobView& view = entry.view;
    CHECK(oversubscribes || (where & OccupiedByOthers(entry)).Empty())
        << "cores " << where.ToString() << " of job " << view.id.value << " have another owner";
    const TimePoint now = Now();
    entry.asked = where;
    entry.occupied = entry.occupied | where;
    entry.in_flight = true;
    if (!std::exchange(entry.at_host, true)) {
      observer.OnStarted(now, view.id, where, split);
      host.Start(view, where, split);
      return;
    }
    observer.OnGrant(now, view.id, where, split);
    if (where.Empty()) {
      host.Pause(view.id);
    } else {
      host.Grant(view.id, where, split);
    }
  }

  void Settled(JobId id) {
    Entry* entry = Find(id);
    // Nothing under way: the host repeats what is known.
    if (entry == nullptr || !entry->in_flight) return;
    entry->in_flight = false;
    entry->occupied = entry->asked;
    if (!entry->told) {  // It has made room, or was overtaken by a decision that still waits.
      Advance();
      return;
    }
    const TimePoint now = Now();
    observer.OnSettled(now, id, entry->asked, entry->decision, now - entry->decided);
    Decide(GrantSettled{id});
  }
};

Arbiter::Arbiter(Policy& policy, bool oversubscribes, Host& host, const Topology& topology,
                 CpuSet cores, ArbiterObserver& observer)
    : impl_(new Impl{
          policy, oversubscribes, host, topology, std::move(cores), observer, {}, {}, 0, {}}) {
  CHECK(!impl_->cores.Empty() && topology.Cpus().Contains(impl_->cores))
      << "cores " << impl_->cores.ToString() << " of " << topology.Cpus().ToString();
}

Arbiter::~Arbiter() = default;

void Arbiter::Submit(const Job& job) {
  const CoreRequest& request = job.request;
  CHECK(1 <= request.min && request.min <= request.preferred && request.preferred <= request.max)
      << "job " << job.id.value << " asks for " << request.min << " <= " << request.preferred
      << " <= " << request.max << " cores";
  CHECK(impl_->Find(job.id) == nullptr && !impl_->ended.contains(job.id))
      << "job " << job.id.value << " was submitted before";
  const TimePoint now = impl_->Now();
  Entry entry;
  static_cast<Job&>(entry.view) = job;
  entry.view.submitted = now;
  impl_->entries.push_back(std::move(entry));
  impl_->observer.OnSubmitted(now, job);
  const int machine = impl_->cores.Count();
  if (request.min > machine) {
    impl_->End(job.id, JobEnd::kRejected,
               fmt::format("needs at least {} cores, the machine has {}", request.min, machine));
    return;
  }
  impl_->Decide(JobArrived{job.id});
}

void Arbiter::Handle(const HostEvent& event) {
  if (const auto* settled = std::get_if<HostSettled>(&event)) {
    impl_->Settled(settled->job);
    return;
  }
  const auto* failed = std::get_if<HostFailed>(&event);
  const JobId id = failed ? failed->job : std::get<HostFinished>(event).job;
  const Entry* entry = impl_->Find(id);
  if (entry == nullptr) {
    CHECK(impl_->ended.contains(id))
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

void Arbiter::EndAll(JobEnd end, const std::string& reason) {
  while (!impl_->entries.empty()) {
    const Entry& entry = impl_->entries.front();
    const JobId id = entry.view.id;
    if (entry.at_host) impl_->host.Stop(id);
    impl_->End(id, end, reason);
  }
}

int Arbiter::Waiting() const {
  return static_cast<int>(
      std::count_if(impl_->entries.begin(), impl_->entries.end(),
                    [](const Entry& e) { return e.view.state == JobState::kWaiting; }));
}

int Arbiter::Started() const { return static_cast<int>(impl_->entries.size()) - Waiting(); }

bool Arbiter::InTransition() const {
  return std::any_of(impl_->entries.begin(), impl_->entries.end(),
                     [](const Entry& e) { return e.in_flight || !e.told; });
}

MachineView Arbiter::View() const { return impl_->View(impl_->Now()); }

}  // namespace cosched
