#include "experiments/hosts/control_thread.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "engine/session/session.h"
#include "experiments/hosts/thread_affinity.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

constexpr int kBeatMilliseconds = 200;
// How long it waits for the pools at a time: a newer grant must not wait for an old one to settle.
constexpr milliseconds kSettleSlice{5};

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

}  // namespace

ControlThread::ControlThread(const HostedTenantOptions& options, UniqueFd host,
                             SharedCounters* counters, const Topology& topology)
    : options_(options),
      counters_(counters),
      topology_(topology),
      socket_(std::move(host)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      grant_{1, options.cores, options.threads},
      arrived_(Clock::now()) {
  Send(HelloMessage{options.job});
  thread_ = std::thread([this] { Run(); });
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
  SendPacket(socket_.get(), Encode(message));
}

void ControlThread::Attach(Session* session) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    session_ = session;
  }
  Ring(wake_.get());
}

void ControlThread::Detach() {
  const std::lock_guard<std::mutex> lock(mutex_);
  session_ = nullptr;
}

void ControlThread::WaitToCompute() {
  std::unique_lock<std::mutex> lock(mutex_);
  may_compute_.wait(lock, [this] { return applied_ && !grant_.cores.Empty(); });
}

void ControlThread::Run() {
  PreferThisThread();
  while (true) {
    counters_->Beat();
    bool following;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) return;
      Follow();
      following = session_ != nullptr && !answered_;
    }
    pollfd descriptors[] = {{socket_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    if (poll(descriptors, 2, following ? 0 : kBeatMilliseconds) <= 0) continue;
    if (descriptors[1].revents != 0) {
      uint64_t count;
      [[maybe_unused]] const ssize_t taken = read(wake_.get(), &count, sizeof count);
    }
    if (descriptors[0].revents != 0) ReadMessages();
  }
}

void ControlThread::ReadMessages() {
  std::string text;
  while (true) {
    switch (ReceivePacket(socket_.get(), &text)) {
      case Receipt::kNothing: return;
      case Receipt::kClosed:
        // Nobody is left to compute for. Without destructors: the main thread may be in the middle
        // of a step.
        std::fprintf(stderr, "job %lld: the host is gone\n",
                     static_cast<long long>(options_.job.value));
        _exit(1);
      case Receipt::kTooLong: Send(ErrorMessage{"got an oversized message"}); continue;
      case Receipt::kPacket: break;
    }
    const Parsed<HostMessage> parsed = ParseHostMessage(text);
    if (!parsed.message) {
      Send(ErrorMessage{"got a message that can't be read: " + parsed.error});
    } else if (const auto* grant = std::get_if<GrantMessage>(&*parsed.message)) {
      Take(*grant);
    } else {
      Send(ErrorMessage{"was welcomed twice"});
    }
  }
}

void ControlThread::Take(const GrantMessage& grant) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (grant.sequence <= grant_.sequence) return;  // Only the latest counts.
  grant_ = grant;
  arrived_ = Clock::now();
  applied_ = answered_ = false;
  // While the model is being built there are no pools to tell, but the process must move.
  if (session_ == nullptr && !grant.cores.Empty()) {
    ConfineThreads(getpid(), grant.cores, Which::kAll, topology_);
  }
}

// Called with the lock held. Brings the session towards the latest grant, waiting for one slice at
// most.
void ControlThread::Follow() {
  if (session_ == nullptr || answered_) return;
  const bool malleable = options_.elasticity == Elasticity::kMalleable;
  if (!applied_) {
    if (malleable) session_->Resize(grant_.cores, grant_.threads);
    applied_ = true;
    may_compute_.notify_all();
  }
  if (!session_->Pools().WaitSettled(kSettleSlice)) return;
  // Last, so that a surplus worker ends its task where it is, not on a core that is another
  // worker's now.
  if (malleable && !grant_.cores.Empty()) {
    ConfineThreads(getpid(), grant_.cores, Which::kExceptPlaced, topology_);
  }
  Answer();
}

void ControlThread::Answer() {
  using std::chrono::duration_cast;
  const ThreadPools::ResizeTimes times = session_->Pools().Times();
  counters_->SetResizes(times.grows, times.last_grow, times.shrinks, times.last_shrink);
  counters_->SetThreads(session_->Pools().ActiveThreads());
  counters_->SetSettled(grant_.sequence);
  const auto time = duration_cast<std::chrono::microseconds>(Clock::now() - arrived_);
  Send(SettledMessage{grant_.sequence, grant_.cores, grant_.threads, time});
  answered_ = true;
}

}  // namespace cosched
