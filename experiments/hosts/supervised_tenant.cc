#include "experiments/hosts/supervised_tenant.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "experiments/hosts/tenant_arguments.h"
#include "experiments/os/thread_affinity.h"

namespace cosched {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kVerifyPeriod = microseconds(500);  // Between looks whether a grant has settled.
constexpr Duration kConductPeriod = milliseconds(200);  // Between looks whether it keeps to it.
constexpr Duration kLeaveTimeout = seconds(2);          // From "finished" to the end.
constexpr Duration kClosedTimeout = seconds(1);         // From a closed socket to the end.
constexpr int kMessagesPerTurn = 64;  // A tenant that floods its host only delays itself.

std::string Within(Duration limit) {
  return " within " + std::to_string(limit / milliseconds(1)) + " ms";
}

}  // namespace

SupervisedTenant::SupervisedTenant(const Job& job, const TenantSpec& spec, const CpuSet& cores,
                                   Split threads, const Settings& settings,
                                   TenantLauncher* launcher, TimePoint now, Duration epoch)
    : job_(job),
      spec_(spec),
      settings_(settings),
      started_at_(now),
      epoch_(epoch),
      counters_(SharedCounters::Create()),
      claims_(job.id, spec, now),
      cores_(cores),
      held_(cores),
      threads_(threads),
      ready_deadline_(now + settings.start_timeout),
      next_check_(ready_deadline_),
      working_threads_(counters_.InterRecords(), counters_.IntraRecords()) {
  if (spec.serves) requests_.emplace(job.id);
  launched_ =
      launcher->Launch({.job = job.id,
                        .arguments = TenantArguments(job, spec, Range(), threads, settings.client,
                                                     settings.actuator == Actuator::kQuota),
                        .cores = cores,
                        .counters = counters_.fd(),
                        .log = settings.log,
                        .folders = FoldersOf(spec)});
  Meet();
}

// What can be set up once its process is known.
void SupervisedTenant::Meet() {
  if (sampler_ || launched_->pid() < 0) return;
  sampler_.emplace(launched_->pid(), /*follows_queues=*/settings_.sample_threads);
  if (launched_->Control().empty()) return;
  control_.emplace(settings_.run.empty() ? "" : ControlName(settings_.run, job_.id.value),
                   launched_->Control());
}

bool SupervisedTenant::Told() const { return Malleable() && settings_.client != Client::kOff; }

// A client that halves takes seconds, and that is what is measured then.
bool SupervisedTenant::Awaited() const {
  return Told() && (settings_.client == Client::kOn || Paused());
}

CpuSet SupervisedTenant::Range() const {
  return settings_.actuator == Actuator::kQuota && !Paused() ? settings_.machine_cores : cores_;
}

std::vector<int> SupervisedTenant::Descriptors() const {
  std::vector<int> descriptors = launched_->Descriptors();
  if (!closed_) descriptors.push_back(launched_->socket());
  return descriptors;
}

void SupervisedTenant::Fail(std::string reason) {
  if (failure_.empty()) failure_ = std::move(reason);
}

void SupervisedTenant::BeginGrant(const CpuSet& cores, Split threads, TimePoint now) {
  const bool was_stopped = stopped_;
  cores_ = cores;
  threads_ = threads;
  held_ = held_ | cores;
  if (held_ == cores_) {
    leave_by_.reset();
  } else if (!leave_by_) {
    leave_by_ = now + settings_.revocation_timeout;
  }
  ++sequence_;
  settling_ = true;
  acted_ = moving_ = answered_ = false;
  settle_deadline_ = now + settings_.settle_timeout;
  if (was_stopped) {  // It could not do anything meanwhile.
    ready_deadline_ = std::max(ready_deadline_, now + settings_.start_timeout);
    last_heartbeat_ = last_run_ = last_step_ = now;
  }
  next_check_ = now;
  Act(now);
}

void SupervisedTenant::Grant(const CpuSet& cores, Split threads, TimePoint now) {
  BeginGrant(cores, threads, now);
}

void SupervisedTenant::Pause(TimePoint now) { BeginGrant({}, {0, 0}, now); }

// Does for the latest grant what a host can do now: the cgroup first, then the message. One that
// has not connected yet is still on its way to the cores of its start.
void SupervisedTenant::Act(TimePoint now) {
  if (acted_ || launched_->socket() < 0) return;
  if (!Paused()) {
    Move(now);
    if (moving_) return;
  }
  acted_ = true;
  // Paused anew, before it went on: it has all that it needs, and reads nothing.
  if (Paused() && stopped_) return;
  // One that is not up yet would not hear of a pause in time.
  if (Paused() && (!Told() || !ready_)) Stop();
  if (Told()) SendGrant(now);
  // With its masks and the message in place: it does nothing before it has seen these.
  if (!Paused() && std::exchange(stopped_, false)) launched_->Signal(SIGCONT);
}

void SupervisedTenant::SendGrant(TimePoint now) {
  const auto start = std::chrono::steady_clock::now();
  const GrantMessage grant{sequence_, Range(), threads_};
  if (!SendPacket(launched_->socket(), Encode(grant)) && !closed_) {
    // Gone, which the pidfd tells, or its buffer is full of grants that it does not read.
    if (errno == EAGAIN || errno == EWOULDBLOCK) Fail("does not read its grants");
  }
  if (!Paused() && !launched_->HasGroup()) {
    Record(now, {.actuator = "message", .fast = std::chrono::steady_clock::now() - start});
  }
}

void SupervisedTenant::Move(TimePoint now) {
  if (!launched_->HasGroup()) {
    // Neither hears of its cores in time: one that is not up yet, nor threads that do something
    // else than to listen when a stopped one goes on.
    if (Told() && (!ready_ || stopped_)) Confine();
    if (Told()) return;
    const auto start = std::chrono::steady_clock::now();
    Confine();
    return Record(now, {.actuator = "affinity", .fast = std::chrono::steady_clock::now() - start});
  }
  try {
    if (!moving_) launched_->Move(cores_);
    moving_ = !launched_->Done();
  } catch (const std::runtime_error& error) {
    moving_ = false;
    return Fail("could not be moved to cores " + cores_.ToString() + ": " + error.what());
  }
  if (!moving_) Record(now, launched_->LastTimes());
}

void SupervisedTenant::Stop() {
  if (std::exchange(stopped_, true)) return;
  stop_began_ = std::chrono::steady_clock::now();
  stop_told_ = false;
  launched_->Signal(SIGSTOP);
}

// REQUIRES: the sampler has just read.
bool SupervisedTenant::IsStill() const {
  const auto& threads = sampler_->Threads();
  return std::all_of(threads.begin(), threads.end(),
                     [](const auto& thread) { return thread.state == 'T'; });
}

void SupervisedTenant::Record(TimePoint now, const LaunchedTenant::Times& times) {
  actuations_.push_back({.job = job_.id,
                         .time = now,
                         .cores = cores_,
                         .actuator = times.actuator,
                         .fast = times.fast,
                         .runtime = times.runtime});
}

void SupervisedTenant::Confine() {
  const Confinement result =
      ConfineThreads(launched_->pid(), cores_, Which::kAll, settings_.topology);
  if (result == Confinement::kRefused) {
    Fail("the kernel does not allow it on cores " + cores_.ToString() + ": " +
         std::generic_category().message(errno));
  }
  if (!Awaited()) answered_ = result == Confinement::kDone;
}

void SupervisedTenant::Handle(const HelloMessage& hello, TimePoint) {
  if (greeted_) return Fail("said hello twice");
  if (hello.job != job_.id) return Fail("said hello for job " + std::to_string(hello.job.value));
  greeted_ = true;
}

void SupervisedTenant::Handle(const SettledMessage& settled, TimePoint now) {
  if (settled.sequence > sequence_) return Fail("settled a grant that was never made");
  if (!ready_) {
    ready_ = true;
    settle_deadline_ = now + settings_.settle_timeout;
    last_heartbeat_ = last_run_ = last_step_ = now;
    next_window_ = now + settings_.request_window;
  }
  if (!Awaited() || settled.sequence < sequence_) return;
  // Fewer is allowed: somebody else may have narrowed its cpuset.
  if (!Range().Contains(settled.cores)) {
    return Fail("settled on cores " + settled.cores.ToString() + " instead of " +
                Range().ToString());
  }
  answered_ = true;
}

void SupervisedTenant::Handle(const ResizedMessage& resized, TimePoint) {
  const int threads = ThreadsOf(resized.after);
  // A client that halves has more threads than cores for a while, and says so.
  const bool too_many = settings_.client == Client::kOn && threads > resized.cores.Count();
  if (!settings_.topology.Cpus().Contains(resized.cores) || too_many) {
    return Fail("reported a resize that can't be");
  }
  resizes_.push_back(resized);
  paused_by_others_ = resized.after == Split{0, 0};
}

void SupervisedTenant::Handle(const FinishedMessage& finished, TimePoint now) {
  if (finished.steps < spec_.steps) {
    return Fail("finished after " + std::to_string(finished.steps) + " of " +
                std::to_string(spec_.steps) + " steps");
  }
  if (requests_ && !(requests_->Drained() && requests_->AllAnswered())) {
    return Fail("finished with requests that it has not answered");
  }
  finished_ = true;
  leave_deadline_ = now + kLeaveTimeout;
  // While its threads are still there: LastSample is made of this.
  sampler_->Read(ProcessSampler::Look::kLast);
}

void SupervisedTenant::Handle(const ErrorMessage& error, TimePoint) { Fail(error.reason); }

void SupervisedTenant::ReadMessages(TimePoint now) {
  std::string text;
  if (launched_->socket() < 0) return;
  for (int i = 0; i < kMessagesPerTurn && !closed_; ++i) {
    switch (ReceivePacket(launched_->socket(), &text)) {
      case Receipt::kNothing: return;
      case Receipt::kTooLong: return Fail("sent an oversized message");
      case Receipt::kClosed:
        closed_ = true;
        leave_deadline_ = now + (finished_ ? kLeaveTimeout : kClosedTimeout);
        return;
      case Receipt::kPacket: break;
    }
    if (IsRequestPacket(text)) {
      if (!TakeAnswers(text, now)) return;
      continue;
    }
    if (!claims_.CountMessage(now)) return Fail("floods its control socket");
    const Parsed<TenantMessage> parsed = ParseTenantMessage(text);
    if (!parsed.message) return Fail("sent a message that can't be read: " + parsed.error);
    const bool needs_greeting = !std::holds_alternative<HelloMessage>(*parsed.message) &&
                                !std::holds_alternative<ErrorMessage>(*parsed.message);
    if (!greeted_ && needs_greeting) return Fail("did not say hello first");
    std::visit([&](const auto& message) { Handle(message, now); }, *parsed.message);
  }
}

// There are no more of them than requests, so they can't flood. False if they can't be true.
bool SupervisedTenant::TakeAnswers(const std::string& packet, TimePoint now) {
  const Parsed<AnswerPacket> parsed = ParseAnswerPacket(packet);
  if (!parsed.message) {
    Fail("sent answers that can't be read: " + parsed.error);
  } else if (!requests_) {
    Fail("answered requests, though it serves nobody");
  } else {
    if (std::string problem = requests_->Take(*parsed.message, epoch_, now); !problem.empty())
      Fail(std::move(problem));
  }
  return failure_.empty();
}

void SupervisedTenant::FlushRequests(TimePoint now) {
  if (!requests_ || !ready_ || stopped_ || closed_ || requests_->Flushed()) return;
  requests_->Flush(launched_->socket());
  if (!requests_->Flushed()) next_check_ = std::min(next_check_, now + kVerifyPeriod);
}

std::optional<HostEvent> SupervisedTenant::TakeWindow(TimePoint now) {
  if (!requests_ || !ready_ || finished_) return std::nullopt;
  if (now < next_window_) {
    next_check_ = std::min(next_check_, next_window_);
    return std::nullopt;
  }
  next_window_ = now + settings_.request_window;
  next_check_ = now;  // There may be other things to tell.
  return HostWindow{job_.id, requests_->TakeWindow(now, counters_.Read().requests_begun)};
}

HostEvent SupervisedTenant::Over(const TenantProcess::End& end) const {
  if (!failure_.empty()) return HostFailed{job_.id, failure_};
  if (finished_) return HostFinished{job_.id};
  return HostFailed{job_.id, end.how + (greeted_ ? "" : " before it said hello")};
}

std::optional<HostEvent> SupervisedTenant::Advance(TimePoint now) {
  next_check_ = now + CheckPeriod();
  try {
    launched_->Advance();
  } catch (const std::runtime_error& error) {
    Fail(error.what());
  }
  Meet();
  // Its time to leave begins when it is told, however long the runtime took, or this host was not
  // scheduled. Before it is up, the host's own doing reaches it.
  if (leave_by_ && !acted_) leave_by_ = now + settings_.revocation_timeout;
  Act(now);
  ReadMessages(now);
  if (const std::optional<TenantProcess::End> end = launched_->Ended()) {
    ReadMessages(now);  // Its last words, which it may have said since.
    undead_ = !end->all_gone;
    return Over(*end);
  }
  const bool settled = settling_ && !finished_ && failure_.empty() && AtItsPlace(now);
  if (!finished_ && !settled) CheckDeadlines(now);
  const bool is_up = ready_ || stopped_;
  if (is_up && !finished_ && !settling_ && now >= next_conduct_check_) CheckConduct(now);
  if (!failure_.empty() || Overdue(now)) {
    Kill();
    return Over({});
  }
  if (settled) {
    settling_ = false;
    held_ = cores_;
    leave_by_.reset();
    surplus_threads_.Forget();
    retaken_ = false;
    last_run_ = last_step_ = now;
    return HostSettled{job_.id};
  }
  // Until it has answered there is nothing to look at, unless all that is wanted is that it leaves.
  const bool others_turn = !stopped_ && (ready_ ? Awaited() && !answered_ : !leave_by_);
  if (settling_ && !finished_ && !others_turn && !moving_) next_check_ = now + kVerifyPeriod;
  if (leave_by_) next_check_ = std::min(next_check_, *leave_by_);
  FlushRequests(now);
  return TakeWindow(now);
}

Duration SupervisedTenant::CheckPeriod() const {
  return std::min({kConductPeriod, settings_.heartbeat_timeout / 4, settings_.start_timeout / 4,
                   settings_.settle_timeout / 4});
}

bool SupervisedTenant::AtItsPlace(TimePoint now) {
  if (!acted_ || !sampler_) return false;
  if (stopped_) return HasStopped(now);
  if (!ready_ && !(leave_by_ && HasHeard())) return false;
  if (!Awaited()) {
    // Threads that were born meanwhile are missing, if it is the affinity that holds them.
    if (!launched_->HasGroup() && !answered_) Confine();
    answered_ = answered_ || launched_->HasGroup();
  }
  const bool to_answer = ready_ || !Awaited();
  if ((to_answer && !answered_) || !sampler_->Read()) return false;
  const auto& threads = sampler_->Threads();
  if (!Paused())
    return std::all_of(threads.begin(), threads.end(),
                       [this](const auto& thread) { return IsWithin(Range(), thread); });
  const bool parked = std::none_of(threads.begin(), threads.end(), [](const auto& thread) {
    return thread.compute && thread.state == 'R';
  });
  if (!parked) return false;
  Stop();
  return HasStopped(now);
}

// Whether its own threads bind themselves to nothing older than the latest grant. One that has not
// said hello reads its grants before it has threads to bind; where a cgroup holds them it does not
// matter.
bool SupervisedTenant::HasHeard() const {
  if (!greeted_ || !Told() || launched_->HasGroup()) return true;
  return counters_.Read().settled_sequence >= sequence_;
}

bool SupervisedTenant::HasStopped(TimePoint now) {
  if (!sampler_->Read() || !IsStill()) return false;
  if (!std::exchange(stop_told_, true))
    Record(now, {.actuator = "stop", .fast = std::chrono::steady_clock::now() - stop_began_});
  return true;
}

// The kernel puts it nowhere else, and has taken it away from where it ran.
bool SupervisedTenant::IsWithin(const CpuSet& cores, const ProcessSampler::Thread& thread) const {
  if (!cores.Contains(settings_.topology.ThreadBinding(thread.tid))) return false;
  return thread.state != 'R' || thread.cpu < 0 || cores.Contains(thread.cpu);
}

// REQUIRES: it has not finished, and is not where it should be if a grant is under way.
void SupervisedTenant::CheckDeadlines(TimePoint now) {
  if (closed_ && now >= leave_deadline_) return Fail("closed its control socket");
  if (settling_ && leave_by_ && now >= *leave_by_) {
    return Fail("did not leave cores " + (held_ - cores_).ToString() +
                Within(settings_.revocation_timeout));
  }
  if (!ready_ && !stopped_) {
    if (now < ready_deadline_) return;
    const std::string what = greeted_ ? "was not ready" : "did not say hello";
    return Fail(what + Within(settings_.start_timeout));
  }
  if (settling_ && now >= settle_deadline_) {
    Fail("did not follow its grant" + Within(settings_.settle_timeout));
  }
}

// It has done its work; only its leaving is awaited.
bool SupervisedTenant::Overdue(TimePoint now) const {
  return finished_ && (now >= leave_deadline_ || (leave_by_ && now >= *leave_by_));
}

// REQUIRES: the latest grant has settled.
void SupervisedTenant::CheckConduct(TimePoint now) {
  next_conduct_check_ = next_check_;
  if (!sampler_->Read()) return;
  if (stopped_) return CheckStop();
  CheckAlive(now);
  CheckPlace();
}

// Somebody else may have made it go on, by mistake.
void SupervisedTenant::CheckStop() {
  if (IsStill()) return;
  if (std::exchange(retaken_, true)) return Fail("runs while it is paused");
  launched_->Signal(SIGSTOP);
}

// Somebody has changed its group, or its threads' masks: puts it where it was granted.
void SupervisedTenant::Retake() {
  try {
    launched_->Move(cores_);
  } catch (const std::runtime_error& error) {
    Fail("could not be moved back to cores " + cores_.ToString() + ": " + error.what());
  }
}

// All threads: one that is not of the pools takes a core just as well.
void SupervisedTenant::CheckPlace() {
  for (const ProcessSampler::Thread& thread : sampler_->Threads()) {
    const CpuSet binding = settings_.topology.ThreadBinding(thread.tid);
    if (Range().Contains(binding)) continue;
    if (launched_->HasGroup() && !std::exchange(retaken_, true)) return Retake();
    return Fail(std::string("has a ") + (thread.compute ? "compute " : "") + "thread on cores " +
                binding.ToString() + ", outside its grant of " + cores_.ToString());
  }
  retaken_ = false;
  if (!Awaited()) return;
  const int surplus = surplus_threads_.Look(sampler_->Threads(), cores_.Count());
  if (surplus > 0) {
    Fail("runs " + std::to_string(surplus) + " compute threads on " +
         std::to_string(cores_.Count()) + " cores");
  }
}

// Two signs of life are wanted: the control thread's heartbeat, and CPU time of the threads that do
// the steps.
void SupervisedTenant::CheckAlive(TimePoint now) {
  const SharedCounters::Counters counters = claims_.Plausible(counters_.Read());
  if (std::exchange(heartbeats_, counters.heartbeats) != counters.heartbeats) {
    last_heartbeat_ = now;
  }
  // A service that nobody asks has nothing to compute.
  const bool rests = Paused() || paused_by_others_ || (requests_ && requests_->AllAnswered());
  const int64_t steps = requests_ ? counters.requests_answered : counters.steps;
  if (std::exchange(steps_, steps) != steps || rests) last_step_ = now;
  stalled_ = stalled_ || now - last_step_ > settings_.heartbeat_timeout;
  Duration run_time = sampler_->ComputeTotals().run_time;
  for (const ProcessSampler::Thread& thread : sampler_->Threads()) {
    if (thread.tid == launched_->pid()) run_time += thread.run_time;
  }
  if (std::exchange(run_time_, run_time) != run_time || rests) last_run_ = now;
  if (now - last_heartbeat_ > settings_.heartbeat_timeout) {
    Fail("gave no heartbeat" + Within(settings_.heartbeat_timeout));
  } else if (now - last_run_ > settings_.heartbeat_timeout) {
    Fail("hangs: none of its threads computed" + Within(settings_.heartbeat_timeout));
  }
}

double SupervisedTenant::Progress() const {
  const double all = static_cast<double>(std::max<int64_t>(spec_.steps, 1));
  return std::min(static_cast<double>(claims_.Plausible(counters_.Read()).steps) / all, 1.0);
}

TenantSample SupervisedTenant::SampleOf(TimePoint now) {
  const ProcessSampler::Totals totals =
      sampler_ ? sampler_->ComputeTotals() : ProcessSampler::Totals();
  const SharedCounters::Counters counters = claims_.Plausible(counters_.Read());
  TenantSample sample;
  sample.job = job_.id;
  sample.time = now;
  sample.granted = held_;
  sample.run_time = totals.run_time;
  if (sampler_) sample.spin_time = working_threads_.SpinTime(sampler_->Threads(), totals.run_time);
  sample.run_queue_wait = totals.run_queue_wait;
  sample.involuntary_switches = totals.involuntary_switches;
  sample.migrations = totals.migrations;
  const Cgroup::Counters group = launched_->Counters();
  sample.throttled = group.throttled;
  sample.pressure = group.pressure;
  sample.steps = counters.steps;
  sample.images = counters.images;
  if (settings_.sample_threads) sample.threads = ThreadSamples();
  return sample;
}

std::vector<ThreadSample> SupervisedTenant::ThreadSamples() const {
  std::vector<ThreadSample> samples;
  if (!sampler_) return samples;
  for (const ProcessSampler::Thread& thread : sampler_->Threads()) {
    const CpuSet cores = settings_.topology.ThreadBinding(thread.tid);
    samples.push_back({.tid = thread.tid,
                       .compute = thread.compute,
                       .cpu = thread.cpu,
                       .cores = cores.Empty() ? held_ : cores,  // Empty: it is gone by now.
                       .run_time = thread.run_time,
                       .run_queue_wait = thread.run_queue_wait});
  }
  return samples;
}

std::optional<TenantSample> SupervisedTenant::Sample(TimePoint now) {
  if (!sampler_ || !sampler_->Read(ProcessSampler::Look::kSample)) return std::nullopt;
  const SharedCounters::Counters counters = counters_.Read();
  TenantSample sample = SampleOf(now);
  sample.runnable_threads = working_threads_.Runnable(sampler_->Threads());
  sample.compute_threads = counters.active_threads;
  const int64_t before = std::exchange(sampled_sequence_, counters.settled_sequence);
  sample.settling = settling_ || counters.settled_sequence != before;
  return sample;
}

TenantSample SupervisedTenant::LastSample(TimePoint now) { return SampleOf(now); }

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
  if (undead_) {
    marks.push_back(job + " was killed, but has not died in time: cores " + held_.ToString() +
                    " may be in use by it");
  }
  if (stalled_) {
    marks.push_back(job + (requests_ ? " answered nothing" : " ended no step") +
                    Within(settings_.heartbeat_timeout) + ", though it computed");
  }
  return marks;
}

void SupervisedTenant::TakeResizes(TimePoint now, std::vector<ResizeSample>* resizes) {
  for (const ResizedMessage& resized : std::exchange(resizes_, {})) {
    const TimePoint finished(resized.finished - epoch_);
    resizes->push_back({.job = job_.id,
                        .time = std::clamp(finished, started_at_, now),
                        .cause = std::string(ToString(resized.cause)),
                        .before = resized.before,
                        .after = resized.after,
                        .cores = resized.cores,
                        .op = resized.op,
                        .taken = resized.time});
  }
}

void SupervisedTenant::TakeActuations(std::vector<ActuationSample>* actuations) {
  actuations->insert(actuations->end(), actuations_.begin(), actuations_.end());
  actuations_.clear();
}

}  // namespace cosched
