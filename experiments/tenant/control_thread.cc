#include "experiments/tenant/control_thread.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/thread_start.h"
#include "experiments/os/thread_affinity.h"
#include "experiments/tenant/steered_threads.h"

namespace cosched {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds kBeat{200};
// A host writes the cpuset first and sends the grant then: so long a change of the cpuset waits to
// be explained by a grant. The container runtime's own update can take 60 ms.
constexpr milliseconds kExplainedWithin{150};
// Who changes masks thread by thread (taskset -a, the kernel's walk over a cpuset) may still be at
// it when the change is seen, and would undo the pins that follow at once.
constexpr milliseconds kRepinAfter[] = {milliseconds(4), milliseconds(20), milliseconds(100),
                                        milliseconds(500)};

// At normal priority on a core kept busy by compute threads this thread would wait milliseconds for
// its turn; it needs microseconds. Not permitted to everyone: then it does without.
void PreferThisThread() {
  const sched_param priority{.sched_priority = 1};
  sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority);
}

void Ring(int eventfd) {
  const uint64_t one = 1;
  // Fails only if the counter is full, and then the event is readable anyway.
  [[maybe_unused]] const ssize_t written = write(eventfd, &one, sizeof one);
}

std::string LimitName(const ControlThreadOptions& options) {
  return options.job.value >= 0 ? "its host's grant" : "the cores it was started on";
}

ResizedMessage MessageOf(const ResizeReport& report) {
  const bool paused = report.after == Split{0, 0};
  const auto finished = report.start.time_since_epoch() + report.taken;
  return {.cause = ParseResizeCause(report.cause).value_or(ResizeCause::kGrant),
          .before = report.before,
          .after = report.after,
          .cores = paused ? CpuSet() : report.cores,
          .op = std::string(report.op),
          .time = duration_cast<microseconds>(report.taken),
          .finished = duration_cast<std::chrono::nanoseconds>(finished)};
}

}  // namespace

ControlThread::ControlThread(ControlThreadOptions options, UniqueFd host, SharedCounters* counters,
                             const StepMeter* meter, const Topology& topology)
    : options_(std::move(options)),
      counters_(counters),
      meter_(meter),
      topology_(topology),
      socket_(std::move(host)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      demand_(options_.cores, options_.threads, options_.capacity, LimitName(options_)),
      grant_{1, options_.cores, options_.threads},
      arrived_(Clock::now()),
      answered_(!Hosted()) {
  if (!options_.control.empty()) Listen();
  Send(HelloMessage{options_.job});
  try {
    thread_ = StartThread("the control thread", [this] { Run(); });
  } catch (const std::system_error& error) {
    Send(ErrorMessage{error.what()});
    throw;
  }
}

void ControlThread::Listen() {
  try {
    listener_.emplace(options_.control);
    server_.emplace(listener_->fd());
  } catch (const InputError& error) {
    if (options_.needs_control) throw;
    std::fprintf(stderr, "no control socket: %s\n", error.what());
  }
}

ControlThread::~ControlThread() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  Ring(wake_.get());
  thread_.join();
}

void ControlThread::Send(const TenantMessage& message) {
  if (Hosted()) SendPacket(socket_.get(), Encode(message));
}

void ControlThread::Attach(SteeredThreads* pools) {
  pools->OnResized([this](const ResizeReport& report) {
    const std::lock_guard<std::mutex> lock(reports_mutex_);
    reports_.push_back(report);
    Ring(wake_.get());
  });
  std::unique_lock<std::mutex> lock(mutex_);
  pools_ = pools;
  adopted_ = false;
  Ring(wake_.get());
  adoption_.wait(lock, [this] { return adopted_; });
}

void ControlThread::Ready() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ready_ = true;
  if (moved_ && !answered_) AnswerGrant();
}

void ControlThread::Detach() {
  const std::lock_guard<std::mutex> lock(mutex_);
  pools_->OnResized(nullptr);
  TakeReports();  // The last ones.
  pools_ = nullptr;
}

void ControlThread::WaitToCompute() {
  std::unique_lock<std::mutex> lock(mutex_);
  may_compute_.wait(lock, [this] {
    const ResizeRequest request = demand_.Request("");
    return !*request.paused && !request.cores->Empty();
  });
}

std::map<std::string, ControlThread::Latencies> ControlThread::LatenciesByOp() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return latencies_;
}

std::string ControlThread::ResizeTo(int cores, std::optional<Split> split) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string problem;
  if (split) problem = demand_.Set(std::nullopt, split->inter, split->intra);
  if (problem.empty()) problem = demand_.SetCount(cores);
  if (problem.empty()) Apply(ResizeCause::kCounter);
  return problem;
}

void ControlThread::Run() {
  PreferThisThread();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    witness_ = gettid();
    watch_.emplace(topology_);
    demand_.Allow(watch_->Mask());
    if (FollowsCpuset() && !options_.unbound) {
      limit_.emplace(CgroupMounts::Here(), options_.follow);
      demand_.AllowTime(limit_->Threads(), getpid());
    }
  }
  while (true) {
    const bool arrived = Wait();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return;
    if (demand_.Paused()) LookAtCpuset();  // Rarely done then; and this may be the resume.
    if (arrived) TakeWhatArrived();
    if (options_.interrupted && options_.interrupted()) EndPause();
    LookAtCpuset();
    LookAtQuota();
    Halve();
    TellHeldBack();
    Beat();
  }
}

// Something may have arrived if it returns true.
bool ControlThread::Wait() {
  std::vector<pollfd> descriptors{{wake_.get(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
  if (Hosted()) descriptors.push_back({socket_.get(), POLLIN, 0});
  if (watch_->fd() >= 0) descriptors.push_back({watch_->fd(), POLLIN, 0});
  if (limit_ && limit_->fd() >= 0) descriptors.push_back({limit_->fd(), POLLIN, 0});
  if (server_) server_->AddTo(&descriptors);
  int timeout = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    timeout = PollTimeout();
  }
  if (poll(descriptors.data(), descriptors.size(), timeout) <= 0) return false;
  uint64_t count;
  [[maybe_unused]] const ssize_t taken = read(wake_.get(), &count, sizeof count);
  return true;
}

// REQUIRES: the lock is held.
void ControlThread::TakeWhatArrived() {
  TakeReports();
  watch_->Drain();
  if (limit_) limit_->Drain();
  if (Hosted()) ReadHost();
  Adopt();
  bool signalled = false;
  signals_.Take([&](ResizeSignal signal, int value) {
    const bool taken = TakeSignal(signal, value);
    signalled = signalled || taken;
    return taken;
  });
  if (signalled) Apply(ResizeCause::kSignal);  // Once, however many came.
  if (!server_) return;
  server_->Serve([this](ControlServer::Client client, const ControlRequest& request) {
    TakeRequest(client, request);
  });
}

// On this thread, when all that the host has sent is read: pools that followed the grant of the
// command line first, or one that waits in the socket, might bind threads to cores that are
// somebody else's by now.
void ControlThread::Adopt() {
  if (adopted_ || pools_ == nullptr) return;
  adopted_ = true;
  TellOpenRequests();
  LookAtCpuset();
  if (grant_resize_ == 0) grant_resize_ = Apply(ResizeCause::kGrant);
  first_resize_ = grant_resize_;
  adoption_.notify_all();
}

int ControlThread::PollTimeout() const {
  const bool waits_for_cpuset = Malleable() && !answered_;
  // What is paused has no thread that could be in the wrong place; it looks when it is resumed.
  // Nor has what is unbound, and looks would take a tenth of a small quota.
  const bool follows = Follows() && !options_.unbound && !demand_.Paused() && !grant_.cores.Empty();
  const bool looks = pools_ != nullptr && (follows || waits_for_cpuset || !repins_.empty());
  if (looks) return static_cast<int>(CpusetWatch::kPeriod.count());
  return static_cast<int>(std::min(kBeat, ControlServer::kPeriod).count());
}

void ControlThread::Beat() {
  if (!Hosted() || Clock::now() < next_beat_) return;
  next_beat_ = Clock::now() + kBeat;
  counters_->Beat();
  if (options_.on_beat && ready_ && pools_ != nullptr) options_.on_beat();
}

void ControlThread::ReadHost() {
  std::string text;
  while (true) {
    switch (ReceivePacket(socket_.get(), &text)) {
      case Receipt::kNothing: return;
      case Receipt::kClosed: End("the host is gone");  // Nobody is left to compute for.
      case Receipt::kTooLong: Send(ErrorMessage{"got an oversized message"}); continue;
      case Receipt::kPacket: break;
    }
    if (IsRequestPacket(text)) {
      TakeRequests(text);
      continue;
    }
    const Parsed<HostMessage> parsed = ParseHostMessage(text);
    if (!parsed.message) {
      Send(ErrorMessage{"got a message that can't be read: " + parsed.error});
    } else if (const auto* grant = std::get_if<GrantMessage>(&*parsed.message)) {
      TakeGrant(*grant);
    } else if (std::holds_alternative<DrainMessage>(*parsed.message) && Serves()) {
      options_.on_drain();
    } else if (std::holds_alternative<DrainMessage>(*parsed.message)) {
      Send(ErrorMessage{"was drained, but it serves nobody"});
    } else {
      Send(ErrorMessage{"was welcomed twice"});
    }
  }
}

void ControlThread::TakeRequests(std::string_view packet) {
  const Parsed<RequestPacket> parsed = ParseRequestPacket(packet);
  if (!parsed.message) {
    Send(ErrorMessage{"got requests that can't be read: " + parsed.error});
  } else if (!Serves()) {
    Send(ErrorMessage{"got requests, but it serves nobody"});
  } else {
    options_.on_requests(*parsed.message);
  }
}

void ControlThread::TakeGrant(const GrantMessage& grant) {
  if (grant.sequence <= grant_.sequence) return;  // Only the latest counts.
  const Split now = pools_ != nullptr && adopted_ ? pools_->Wanted().split : grant_.threads;
  grant_ = grant;
  arrived_ = Clock::now();
  moved_ = answered_ = false;
  grant_resize_ = 0;
  // A pause is to take all cores away, which leaves the threads wanted afterwards as they are; and
  // these two clients are not told how many threads to have.
  const bool shrinks = ThreadsOf(grant.threads) < ThreadsOf(now);
  const bool keeps = grant.cores.Empty() || options_.client == Client::kOff ||
                     (options_.client == Client::kHalving && shrinks);
  const Split threads = keeps ? now : grant.threads;
  halving_.Begin(arrived_);
  if (Follows()) {
    if (!grant.cores.Empty()) watch_->MoveWitness(grant.cores);
    demand_.Allow(watch_->Mask());
  }
  demand_.Grant(grant.cores, threads);
  TellOpenRequests();
  if (pools_ != nullptr) {
    grant_resize_ = Apply(ResizeCause::kGrant);
  } else if (!grant.cores.Empty()) {
    // While the model is being built there are no pools to tell, but the process must move.
    if (Follows()) ConfineThreads(getpid(), grant.cores, topology_);
    counters_->SetSettled(grant.sequence);
  }
}

// A grant that comes while the pipeline is being made is told once it is there.
void ControlThread::TellOpenRequests() {
  if (grant_.open_requests > 0 && options_.on_open_requests && pools_ != nullptr)
    options_.on_open_requests(grant_.open_requests);
}

void ControlThread::Halve() {
  if (options_.client != Client::kHalving || pools_ == nullptr || grant_.cores.Empty()) return;
  const Split now = pools_->Wanted().split;
  const std::optional<Split> next = halving_.Step(now, grant_.threads, Clock::now());
  if (!next) return;
  demand_.Grant(grant_.cores, *next);
  Apply(ResizeCause::kHalving);
}

// What does not follow is in its place when the kernel has moved it there.
void ControlThread::AnswerIfMoved() {
  if (answered_ || pools_ == nullptr || grant_resize_ == 0) return;
  if (grant_.cores.Empty() || grant_.cores.Contains(watch_->Mask())) AnswerGrant();
}

// The first answer also says that it can compute; until then the shared page has to do.
void ControlThread::AnswerGrant() {
  moved_ = true;
  counters_->SetSettled(grant_.sequence);
  if (!ready_) return;
  const auto time = duration_cast<microseconds>(Clock::now() - arrived_);
  Send(SettledMessage{grant_.sequence, grant_.cores, grant_.threads, time});
  answered_ = true;
}

int64_t ControlThread::Apply(ResizeCause cause) {
  const ResizeRequest wanted = demand_.Request(ToString(cause));
  try {
    const int64_t resize = pools_->Resize(options_.share ? options_.share(wanted) : wanted);
    may_compute_.notify_all();
    return resize;
  } catch (const std::system_error& error) {
    Send(ErrorMessage{error.what()});
    End(error.what());
  }
}

void ControlThread::End(const char* why) {
  const std::string who =
      Hosted() ? "job " + std::to_string(options_.job.value) : std::string("cosched");
  std::fprintf(stderr, "%s: %s\n", who.c_str(), why);
  if (listener_) unlink(listener_->path().c_str());
  _exit(1);
}

void ControlThread::LookAtCpuset() {
  const bool changed = watch_->Look();
  if (!Follows()) return AnswerIfMoved();
  if (changed && FollowsCpuset()) {
    demand_.Allow(watch_->Mask());
    for (const milliseconds after : kRepinAfter) repins_.push_back(Clock::now() + after);
    if (pools_ != nullptr) Apply(ResizeCause::kCpuset);
  }
  Repin();
}

void ControlThread::LookAtQuota() {
  if (!limit_ || !limit_->Look(std::chrono::steady_clock::now())) return;
  demand_.AllowTime(limit_->Threads(), getpid());
  if (pools_ != nullptr) Apply(ResizeCause::kQuota);
}

// The same resize again binds every worker again. Not while another one is under way, which nobody
// wants to see overtaken.
void ControlThread::Repin() {
  if (repins_.empty() || Clock::now() < repins_.front()) return;
  if (pools_ == nullptr || !pools_->Settled()) return;
  repins_.pop_front();
  Apply(ResizeCause::kCpuset);
}

bool ControlThread::TakeSignal(ResizeSignal signal, int value) {
  if (pools_ == nullptr || !Follows()) return false;
  std::string problem;
  switch (signal) {
    case ResizeSignal::kIntra: problem = demand_.Set(std::nullopt, std::nullopt, value); break;
    case ResizeSignal::kInter: problem = demand_.Set(std::nullopt, value, std::nullopt); break;
    case ResizeSignal::kCores: problem = demand_.SetCount(value); break;
  }
  return problem.empty();
}

void ControlThread::TakeReports() {
  std::vector<ResizeReport> reports;
  {
    const std::lock_guard<std::mutex> lock(reports_mutex_);
    reports.swap(reports_);
  }
  for (const ResizeReport& report : reports) TakeReport(report);
}

void ControlThread::TakeReport(const ResizeReport& report) {
  if (!adopted_ || report.sequence < first_resize_) return;  // The pools' own start.
  const bool paused = report.after == Split{0, 0};
  if (report.cause == ToString(ResizeCause::kCounter)) AdoptCounter(report);
  if (!report.overtaken && pools_ != nullptr) {
    // Only now, so that a surplus worker ends its task where it is, not on a core that is another
    // worker's. What a person has paused must leave the cores that its host takes away, too.
    if (Follows() && !report.cores.Empty()) {
      ConfineThreads(getpid(), report.cores, topology_, pools_->Placed(), witness_);
    }
    if (Hosted()) {
      const ThreadPools::ResizeTimes times = pools_->Times();
      counters_->SetResizes(times.grows, times.last_grow, times.shrinks, times.last_shrink);
      counters_->SetThreads(pools_->ActiveThreads());
    }
    const bool follows_grant = grant_resize_ > 0 && report.sequence >= grant_resize_;
    if (!answered_ && follows_grant && (Follows() || !Malleable())) AnswerGrant();
    Publish(report);
  }
  const auto asked = askers_.extract(report.sequence);
  if (asked.empty()) return;
  for (const Asker& asker : asked.mapped()) {
    if (report.overtaken) {
      server_->Reply(asker.client, ErrorReply{asker.id, "overtaken by a later resize"});
    } else {
      server_->Reply(asker.client, OkReply{asker.id, paused ? CpuSet() : report.cores, report.after,
                                           duration_cast<microseconds>(report.taken)});
    }
  }
}

// The session's own counters resize past this thread: remember it, so that the next change of
// something else does not undo it.
void ControlThread::AdoptCounter(const ResizeReport& report) {
  if (pools_ == nullptr) return;
  const WantedThreads wanted = pools_->Wanted();
  if (report.overtaken || wanted.cores != report.cores) return;
  demand_.SetCount(report.cores.Count());
  demand_.Set(std::nullopt, wanted.split.inter, wanted.split.intra);
  if (*demand_.Request("").cores != report.cores) Apply(ResizeCause::kCounter);
}

// What only binds threads again, or confirms what is, is no news; nor is where the run begins.
void ControlThread::Publish(const ResizeReport& report) {
  const bool first = !split_;
  const bool same = !first && *split_ == report.after && cores_ == report.cores;
  split_ = report.after;
  cores_ = report.cores;
  ResizedMessage message = MessageOf(report);
  if (same) {
    if (held_back_ && message.cause == ResizeCause::kGrant) {
      held_back_->cause = ResizeCause::kGrant;
      Tell(*std::exchange(held_back_, std::nullopt));
    }
    return;
  }
  if (first) return;
  Latencies& latencies = latencies_[message.op];
  if (report.change != 0) (report.change > 0 ? latencies.grow : latencies.shrink).Add(report.taken);
  if (held_back_) Tell(*std::exchange(held_back_, std::nullopt));
  if (Hosted() && message.cause == ResizeCause::kCpuset) {
    held_back_ = std::move(message);
    held_until_ = Clock::now() + kExplainedWithin;
    return;
  }
  Tell(message);
}

void ControlThread::Tell(const ResizedMessage& resized) {
  Send(resized);
  if (options_.on_resized) options_.on_resized(resized);
}

void ControlThread::TellHeldBack() {
  if (held_back_ && Clock::now() >= held_until_) Tell(*std::exchange(held_back_, std::nullopt));
}

}  // namespace cosched
