#include "experiments/hosts/supervised_tenant.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "engine/base/check.h"
#include "experiments/hosts/tenant_arguments.h"
#include "experiments/hosts/tenant_with_descendants.h"
#include "experiments/hosts/within.h"
#include "experiments/os/offline_cpus.h"
#include "experiments/os/thread_affinity.h"

namespace cosched {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kVerifyPeriod = microseconds(500);  // Between looks whether a grant has settled.
constexpr Duration kOverduePeriod = milliseconds(5);   // … whether one that is late can leave.
constexpr Duration kConductPeriod = milliseconds(200);  // Between looks whether it keeps to it.

// Why the kernel has refused cores: what it says, or what it does not.
std::string Refusal(const CpuSet& cores, const std::string& said) {
  const std::string offline = OfflineText(cores);
  return offline.empty() ? said : offline;
}

}  // namespace

SupervisedTenant::SupervisedTenant(const Job& job, const TenantSpec& spec, const Place& place,
                                   const Settings& settings, TenantLauncher* launcher,
                                   TimePoint now, Duration epoch)
    : job_(job),
      spec_(spec),
      settings_(settings),
      epoch_(epoch),
      counters_(SharedCounters::Create()),
      claims_(job.id, spec, now),
      grant_(place),
      ready_deadline_(now + settings.timeouts.start),
      next_check_(ready_deadline_),
      conduct_(&settings_.topology, settings.timeouts.heartbeat),
      reports_(job.id, now, epoch),
      leaving_(WorkingThreads(counters_.InterRecords(), counters_.IntraRecords()),
               settings.timeouts.revocation, settings.timeouts.settle),
      sampling_(job.id, &settings_.topology, counters_, settings.sample_threads) {
  if (spec.serves) requests_.emplace(job.id);
  launched_ = launcher->Launch({.job = job.id,
                                .arguments = TenantArguments(job, spec, place, settings.client,
                                                             /*unbound=*/settings.has_quota),
                                .place = place,
                                .ranks = spec.pipeline.ranks,
                                .counters = counters_.fd(),
                                .log = settings.log,
                                .folders = FoldersOf(spec)});
  if (spec.IsCommand()) launched_ = WithDescendants(std::move(launched_));
  AttachProcess();
}

// Sets up what can be once its process is known.
void SupervisedTenant::AttachProcess() {
  if (sampler_ || launched_->pid() < 0) return;
  sampler_.emplace(launched_->pid(), /*follows_queues=*/settings_.sample_threads);
  if (spec_.IsCommand()) {
    sampler_->FollowDescendants();
  } else {
    for (const pid_t other : launched_->Others()) sampler_->Follow(other);
  }
  if (launched_->Control().empty()) return;
  control_.emplace(settings_.run.empty() ? "" : ControlName(settings_.run, job_.id.value),
                   launched_->Control());
}

std::vector<pid_t> SupervisedTenant::Processes() const {
  if (launched_->pid() < 0) return {};
  std::vector<pid_t> processes = launched_->Others();
  processes.push_back(launched_->pid());
  return processes;
}

// A client that halves takes seconds, and that is what is measured then.
bool SupervisedTenant::SettlesOnAnswer() const {
  return !IsMovedByHost() && (settings_.client == Client::kOn || grant_.Pauses());
}

std::vector<int> SupervisedTenant::Descriptors() const {
  std::vector<int> descriptors = launched_->Descriptors();
  if (!closed_) descriptors.push_back(launched_->socket());
  return descriptors;
}

void SupervisedTenant::Fail(std::string reason) {
  if (failure_.empty()) failure_ = std::move(reason);
}

void SupervisedTenant::Reach(Life next) {
  CHECK(next > life_) << "a tenant's life goes back";
  life_ = next;
}

void SupervisedTenant::Grant(const Place& place, TimePoint now) {
  const bool leaves_already = grant_.RevocationTime().has_value();
  // One that owes an answer gets no more time for it: a policy that changes its mind more often than
  // that would keep one alive that hangs. Stopped, or not up yet, it can't answer.
  const bool can_answer = life_ == Life::kReady && !stop_.Wanted();
  const bool owes_answer = can_answer && grant_.Applied() && !grant_.Settled();
  if (!owes_answer) settle_deadline_ = now + settings_.timeouts.settle;
  grant_.Begin(place, now, settings_.timeouts.revocation);
  if (!leaves_already) BeginLeaving(now);
  conduct_.Excuse();
  next_check_ = now;
  ApplyGrant(now);
}

void SupervisedTenant::BeginLeaving(TimePoint now) {
  if (!grant_.RevocationTime()) return;
  leaving_.Begin(now, CpuTime().value_or(Duration(0)),
                 sampler_ ? sampler_->Threads() : std::vector<ProcessSampler::Thread>());
}

// Whether it could have left by now. The process is gone: whatever holds its cores is not it.
bool SupervisedTenant::HadTimeToLeave(TimePoint now) {
  if (!sampler_ || !sampler_->Read()) return true;
  return leaving_.IsUp(now, CpuTime().value_or(Duration(0)), sampler_->Threads());
}

// Does for the latest grant what a host can do now: the cgroup first, then the message. One that
// has not connected yet is still on its way to the cores of its start.
void SupervisedTenant::ApplyGrant(TimePoint now) {
  if (grant_.Applied() || launched_->socket() < 0) return;
  if (grant_.Pauses()) return ApplyPause(now);
  if (launched_->HasGroup()) {
    if (!MoveGroup(now)) return;
    grant_.Apply();
  } else {
    grant_.Apply();
    MoveThreads(now);
  }
  if (FollowsMessages()) SendGrant(now);
  // With its masks and the message in place: it does nothing before it has seen these.
  if (!stop_.Continue()) return;
  launched_->Signal(SIGCONT);
  ready_deadline_ += now - stopped_;  // Meanwhile it could do nothing.
}

void SupervisedTenant::ApplyPause(TimePoint now) {
  grant_.Apply();
  // Paused anew, before it went on: it has all that it needs, and reads nothing.
  if (stop_.Wanted()) return;
  // A tenant that is not up yet would not hear of a pause in time.
  if (IsMovedByHost() || life_ < Life::kReady) Stop(now);
  if (!IsMovedByHost()) SendGrant(now);
}

// False while the runtime still does it. A move that is refused is over, and the tenant has failed.
bool SupervisedTenant::MoveGroup(TimePoint now) {
  try {
    if (!grant_.Moving()) launched_->Move(grant_.Wanted());
    if (!launched_->Done()) {
      grant_.Move();
      return false;
    }
  } catch (const std::runtime_error& error) {
    Fail("could not be moved to cores " + grant_.Cores().ToString() + ": " +
         Refusal(grant_.Cores(), error.what()));
    return true;
  }
  Record(now, launched_->LastTimes());
  return true;
}

// A tenant that gets messages moves its threads itself, but would not hear of its cores in time
// while it is not up yet, nor do threads that have something else to do than to listen when a
// stopped one goes on.
void SupervisedTenant::MoveThreads(TimePoint now) {
  if (launched_->Starter() >= 0)
    ConfineThreads(launched_->Starter(), grant_.Cores(), settings_.topology);
  if (!IsMovedByHost()) {
    if (life_ < Life::kReady || stop_.Wanted()) Confine();
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  Confine();
  Record(now, {.actuator = "affinity", .fast = std::chrono::steady_clock::now() - start});
}

// Binds all its threads to its cores. Where no answer is awaited, that is one.
void SupervisedTenant::Confine() {
  const Confinement result = ConfineAll(*launched_, grant_.Cores(), settings_.topology);
  if (result == Confinement::kRefused) {
    Fail("the kernel does not allow it on cores " + grant_.Cores().ToString() + ": " +
         Refusal(grant_.Cores(), std::generic_category().message(errno)));
  }
  if (!SettlesOnAnswer() && result == Confinement::kDone) grant_.Answer();
}

void SupervisedTenant::SendGrant(TimePoint now) {
  const auto start = std::chrono::steady_clock::now();
  const GrantMessage grant{grant_.Sequence(), grant_.Cores(), grant_.Wanted().threads,
                           grant_.Wanted().open_requests};
  if (!SendPacket(launched_->socket(), Encode(grant)) && !closed_) {
    // Gone, which the pidfd tells, or its buffer is full of grants that it does not read.
    if (errno == EAGAIN || errno == EWOULDBLOCK) Fail("does not read its grants");
  }
  if (!grant_.Pauses() && !launched_->HasGroup() && !IsMovedByHost()) {
    Record(now, {.actuator = "message", .fast = std::chrono::steady_clock::now() - start});
  }
}

void SupervisedTenant::Stop(TimePoint now) {
  if (!stop_.Begin()) return;
  launched_->Signal(SIGSTOP);
  stopped_ = now;
}

void SupervisedTenant::Record(TimePoint now, const LaunchedTenant::Times& times) {
  reports_.AddActuation(now, grant_.Cores(), times);
}

void SupervisedTenant::SettleGrant(TimePoint now) {
  grant_.Settle();
  stop_.Settle();
  if (!stop_.Wanted()) conduct_.Settle(now);
}

HostEvent SupervisedTenant::Over(const TenantProcess::End& end) const {
  if (!failure_.empty()) return HostFailed{job_.id, failure_};
  if (life_ == Life::kFinished) return HostFinished{job_.id};
  const bool greeted = life_ != Life::kStarting;
  if (greeted) return HostFailed{job_.id, end.how};
  const std::string said = end.said.empty() ? "" : ": " + end.said;
  return HostFailed{job_.id, end.how + " before it said hello" + said};
}

// This host was not scheduled, as on a machine that was suspended; the tenant may not have been
// either, and what it has done in time is only seen now. How long cores may be left after their
// revocation LeavingTime knows.
void SupervisedTenant::AllowForDelay(Duration delay) {
  ready_deadline_ += delay;
  settle_deadline_ += delay;
  leave_deadline_ += delay;
}

std::optional<HostEvent> SupervisedTenant::Advance(TimePoint now) {
  const TimePoint due = std::exchange(next_check_, now + CheckPeriod());
  if (now - due > CheckPeriod()) AllowForDelay(next_check_ - due);  // Until the next look at least.
  try {
    launched_->Advance();
  } catch (const std::runtime_error& error) {
    Fail(error.what());
  }
  AttachProcess();
  // The time to leave begins when it is told, however long the runtime took, or this host was not
  // scheduled. Before it is up, the host's own doing reaches it.
  if (!grant_.Applied()) {
    grant_.DelayRevocation(now, settings_.timeouts.revocation);
    BeginLeaving(now);
  }
  ApplyGrant(now);
  ReadMessages(now);
  if (const std::optional<TenantProcess::End> end = launched_->Ended()) {
    ReadMessages(now);  // The tenant's last words, said since.
    survived_kill_ = !end->all_gone;
    return Over(*end);
  }
  const bool at_work = life_ != Life::kFinished;
  const bool settles = at_work && !grant_.Settled() && failure_.empty() && AtItsPlace(now);
  if (at_work && !settles) CheckDeadlines(now);
  const bool is_up = life_ == Life::kReady || stop_.Wanted();
  if (at_work && is_up && grant_.Settled() && now >= next_conduct_check_) CheckConduct(now);
  if (!failure_.empty() || Overdue(now)) {
    Kill();
    return Over({});
  }
  if (settles) {
    SettleGrant(now);
    return HostSettled{job_.id};
  }
  PlanNextCheck(now);
  FlushRequests(now);
  return std::nullopt;
}

// Until it has answered there is nothing to look at, unless all that is wanted is that it leaves.
void SupervisedTenant::PlanNextCheck(TimePoint now) {
  const std::optional<TimePoint> revocation = grant_.RevocationTime();
  const bool awaits_answer =
      life_ < Life::kReady ? !revocation : SettlesOnAnswer() && !grant_.Answered();
  const bool others_turn = grant_.Moving() || (awaits_answer && !stop_.Wanted());
  if (!grant_.Settled() && life_ != Life::kFinished && !others_turn) {
    next_check_ = now + kVerifyPeriod;
  }
  if (revocation) next_check_ = std::min(next_check_, std::max(*revocation, now + kOverduePeriod));
}

Duration SupervisedTenant::CheckPeriod() const {
  return std::min({kConductPeriod, settings_.timeouts.heartbeat / 4, settings_.timeouts.start / 4,
                   settings_.timeouts.settle / 4});
}

// REQUIRES: a grant is under way, and the tenant has not finished.
bool SupervisedTenant::AtItsPlace(TimePoint now) {
  if (!grant_.Applied() || !sampler_) return false;
  if (stop_.Wanted()) return HasStopped(now);
  const bool ready = life_ == Life::kReady;
  if (!ready && !(grant_.RevocationTime() && HasHeard())) return false;
  if (!SettlesOnAnswer()) {
    // Threads that were born meanwhile are missing, if it is the affinity that holds them.
    if (launched_->HasGroup()) {
      grant_.Answer();
    } else if (!grant_.Answered()) {
      Confine();
    }
  }
  const bool to_answer = ready || !SettlesOnAnswer();
  if ((to_answer && !grant_.Answered()) || !sampler_->Read()) return false;
  const auto& threads = sampler_->Threads();
  if (!grant_.Pauses()) {
    if (AreWithin(grant_.Cores(), threads, settings_.topology)) return true;
    // A process may have been born of one that had not been moved yet.
    if (spec_.IsCommand() && !launched_->HasGroup()) Confine();
    return false;
  }
  if (!IsParked(threads)) return false;
  Stop(now);
  return HasStopped(now);
}

// Whether its own threads bind themselves to nothing older than the latest grant. A tenant that has
// not said hello reads its grants before it has threads to bind; where a cgroup holds them it does
// not matter.
bool SupervisedTenant::HasHeard() const {
  if (life_ == Life::kStarting || IsMovedByHost() || launched_->HasGroup()) return true;
  return counters_.Read().settled_sequence >= grant_.Sequence();
}

bool SupervisedTenant::HasStopped(TimePoint now) {
  if (!sampler_->Read()) return false;
  if (!IsStill(sampler_->Threads())) {
    if (spec_.IsCommand()) launched_->Signal(SIGSTOP);  // To what it has started since.
    return false;
  }
  if (const std::optional<Duration> taken = stop_.SeeStopped()) {
    Record(now, {.actuator = "stop", .fast = taken});
  }
  return true;
}

// REQUIRES: it has not finished, and is not where it should be if a grant is under way.
void SupervisedTenant::CheckDeadlines(TimePoint now) {
  if (closed_ && now >= leave_deadline_) return Fail("closed its control socket");
  if (grant_.RevocationIsDue(now) && HadTimeToLeave(now)) {
    const CpuSet kept = grant_.Held() - grant_.Cores();
    const std::string what = kept.Empty() ? "give up CPU time" : "leave cores " + kept.ToString();
    return Fail("did not " + what + Within(settings_.timeouts.revocation));
  }
  if (life_ < Life::kReady && !stop_.Wanted()) {
    if (now < ready_deadline_) return;
    const std::string what = life_ == Life::kGreeted ? "was not ready" : "did not say hello";
    return Fail(what + Within(settings_.timeouts.start));
  }
  if (!grant_.Settled() && now >= settle_deadline_) {
    Fail("did not follow its grant" + Within(settings_.timeouts.settle));
  }
}

// The tenant has done its work; only its leaving is awaited.
bool SupervisedTenant::Overdue(TimePoint now) const {
  return life_ == Life::kFinished && (now >= leave_deadline_ || grant_.RevocationIsDue(now));
}

// REQUIRES: the latest grant has settled.
void SupervisedTenant::CheckConduct(TimePoint now) {
  next_conduct_check_ = next_check_;
  if (!sampler_->Read(ProcessSampler::Look::kChanges)) return;
  if (stop_.Wanted()) return CheckStop();
  Fail(conduct_.CheckAlive(ReadSigns(), now));
  CheckPlace();
}

// A program of somebody else's may bind its threads as it likes: where nothing but their masks holds
// them, they are moved back.
void SupervisedTenant::CheckPlace() {
  std::string wrong =
      conduct_.CheckPlace(sampler_->Threads(), grant_.Wanted(), SettlesOnAnswer(), launched_.get());
  if (wrong.empty() || !spec_.IsCommand() || launched_->HasGroup()) return Fail(std::move(wrong));
  ++moved_back_;
  Confine();
}

// Somebody else may have made it go on, by mistake. REQUIRES: the sampler has just read.
void SupervisedTenant::CheckStop() {
  if (IsStill(sampler_->Threads())) return;
  if (!stop_.SeeRunning()) return Fail("runs while it is paused");
  launched_->Signal(SIGSTOP);
}

// REQUIRES: the sampler has just read.
TenantConduct::Signs SupervisedTenant::ReadSigns() const {
  const SharedCounters::Counters counters = claims_.Plausible(counters_.Read());
  // A service that nobody asks has nothing to compute.
  const bool is_asked_nothing = requests_ && requests_->AllAnswered();
  const bool tells_no_steps =
      spec_.IsCommand() && spec_.command.progress.kind == ProgressSource::Kind::kNone;
  return {.heartbeats = counters.heartbeats,
          .steps = tells_no_steps ? counters.heartbeats
                   : requests_    ? counters.requests_answered
                                  : counters.steps,
          .run_time = RunTimeOf(*sampler_, launched_->pid()),
          .rests = grant_.Pauses() || paused_by_others_ || is_asked_nothing};
}

double SupervisedTenant::Progress() const {
  if (spec_.steps == 0) return 0;
  const double all = static_cast<double>(std::max<int64_t>(spec_.steps, 1));
  return std::min(static_cast<double>(claims_.Plausible(counters_.Read()).steps) / all, 1.0);
}

TenantSampling::Moment SupervisedTenant::MomentAt(TimePoint now) const {
  return {.now = now,
          .held = grant_.Held(),
          .amount = grant_.HeldAmount(),
          .claimed = claims_.Plausible(counters_.Read()),
          .pipeline = Pipeline(),
          .group = launched_->Counters()};
}

std::optional<TenantSample> SupervisedTenant::Sample(TimePoint now) {
  if (!sampler_ || !sampler_->Read(ProcessSampler::Look::kSample)) return std::nullopt;
  const TenantSampling::Moment moment = MomentAt(now);
  // Its threads are there, but may be as many as before: its client follows between two steps.
  const bool lags = spec_.IsCommand() && FollowsMessages() && !grant_.Pauses() &&
                    moment.claimed.settled_sequence < grant_.Sequence();
  return sampling_.Sample(moment, *sampler_, /*settling=*/!grant_.Settled() || lags);
}

TenantSample SupervisedTenant::LastSample(TimePoint now) {
  return sampling_.LastSample(MomentAt(now), sampler_ ? &*sampler_ : nullptr);
}

void SupervisedTenant::TakeSteps(TimePoint now, std::vector<StepSample>* steps) {
  std::vector<SharedCounters::Step> taken;
  if (!counters_.TakeSteps(&taken) || !claims_.Take(taken, epoch_, now, steps)) {
    Fail("wrote nonsense into its counters");
  }
}

std::vector<std::string> SupervisedTenant::Marks() const {
  const std::string job = "job " + std::to_string(job_.id.value);
  const int64_t dropped = claims_.Plausible(counters_.Read()).steps_dropped;
  std::vector<std::string> marks;
  if (dropped > 0) {
    marks.push_back(job + ": " + std::to_string(dropped) +
                    " steps are missing in steps.csv: they came too fast");
  }
  if (survived_kill_) {
    marks.push_back(job + " was killed, but has not died in time: cores " +
                    grant_.Held().ToString() + " may be in use by it");
  }
  if (moved_back_ > 0) {
    marks.push_back(
        fmt::format("{} had bound itself to cores outside its grant {} times, and was "
                    "moved back",
                    job, moved_back_));
  }
  if (!remark_.empty()) marks.push_back(job + " " + remark_);
  const int64_t done = claims_.Plausible(counters_.Read()).steps;
  const bool counts = spec_.command.progress.kind != ProgressSource::Kind::kNone;
  if (spec_.IsCommand() && counts && life_ == Life::kFinished && done < spec_.steps) {
    marks.push_back(fmt::format("{} ended after {} of {} steps", job, done, spec_.steps));
  }
  if (conduct_.HasStalled()) {
    marks.push_back(job + (requests_ ? " answered nothing" : " ended no step") +
                    Within(settings_.timeouts.heartbeat) + ", though it computed");
  }
  return marks;
}

}  // namespace cosched
