#include "experiments/tenant/chaos_tenant.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "engine/base/random.h"
#include "engine/base/thread_start.h"
#include "experiments/os/process_sampler.h"
#include "experiments/tenant/host_link.h"
#include "experiments/wire/shared_counters.h"
#include "experiments/wire/tenant_protocol.h"

namespace cosched {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kStepMilliseconds = kChaosStep / milliseconds(1);

// Wherever the kernel lets them.
void Bind(const CpuSet& cores) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const int cpu : cores) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &cpus);
  }
  for (const pid_t tid : ThreadsOf(getpid())) sched_setaffinity(tid, sizeof cpus, &cpus);
}

[[noreturn]] void Sleep() {
  while (true) pause();
}
[[noreturn]] void Die() {
  raise(SIGKILL);
  __builtin_trap();  // The first process of a container is spared its own signals, but no fault.
}

class ChaosTenant {
 public:
  explicit ChaosTenant(const HostedTenantOptions& options)
      : options_(options),
        plan_(PlanChaos(options.spec)),
        random_(plan_.random),
        behaviour_(plan_.behaviour),
        moment_(plan_.moment),
        link_(LinkToHost(options)),
        counters_(SharedCounters::Map(std::move(link_.counters))),
        grant_{1, options.cores, options.threads} {}

  int Run() {
    if (Is("dies-before-hello")) Die();
    if (Is("mute")) Sleep();
    Say(HelloMessage{options_.job});
    StartThreads();
    Follow();
    ready_ = Steady::now();
    for (int64_t step = 0; step < options_.spec.steps;) {
      counters_.Beat();
      if (Steady::now() - ready_ >= moment_ && !std::exchange(misbehaved_, true)) Misbehave();
      if (Is("refuses") && misbehaved_) Bind(CpuSet::Range(0, CPU_SETSIZE - 1));
      if (!grant_.cores.Empty()) Step(step++);
      Listen();
    }
    if (Is("dies-in-finish") && random_.Below(2) == 0) Die();
    Say(FinishedMessage{options_.spec.steps, options_.spec.steps * options_.spec.batch});
    if (Is("dies-in-finish")) Die();
    if (Is("stays")) {
      for (int number = 1; number < SIGRTMAX; ++number) signal(number, SIG_IGN);
      Sleep();
    }
    return 0;
  }

 private:
  bool Is(std::string_view behaviour) const { return behaviour_ == behaviour; }
  bool Malleable() const { return options_.elasticity == Elasticity::kMalleable; }
  void Say(const TenantMessage& message) { SendPacket(link_.socket.get(), Encode(message)); }

  // Once, at its moment.
  void Misbehave() {
    if (Is("hangs")) {
      SetActive(0);
      Sleep();
    }
    while (Is("floods")) Say(SettledMessage{1, options_.cores, options_.threads, {}});
    if (Is("greedy")) SetActive(std::max(2 * options_.capacity, 2));
    if (Is("garbage")) {
      std::string bytes(1 + random_.Below(200), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random_.Below(256));
      SendPacket(link_.socket.get(), bytes);
    }
    if (Is("oversized")) {
      SendPacket(link_.socket.get(), std::string(kMaxTenantMessage + 1 + random_.Below(1000), '{'));
    }
    if (Is("scribbles")) Scribble();
    if (Is("lies")) {
      Say(SettledMessage{grant_.sequence + 1, grant_.cores, grant_.threads, {}});
    }
    if (Is("exits")) _exit(static_cast<int>(random_.Below(256)));
    if (Is("crashes")) {
      raise(kChaosSignals[random_.Below(kChaosSignals.size())]);
      Die();
    }
    if (Is("closes")) link_.socket.Reset();
    if (Is("forks")) Fork();
  }

  void Scribble() {
    constexpr auto kMost = std::chrono::nanoseconds::max();
    counters_.SetThreads(std::numeric_limits<int>::min());
    counters_.SetResizes(-1, kMost, std::numeric_limits<int64_t>::max(), -kMost);
    counters_.SetSettled(std::numeric_limits<int64_t>::max());
    for (int i = 0; i < 3; ++i) {
      counters_.AddStep({static_cast<int64_t>(random_.Next()), kMost, -kMost, -7,
                         std::numeric_limits<double>::quiet_NaN()},
                        std::numeric_limits<int>::max());
    }
  }

  void Fork() {
    const pid_t child = fork();
    if (child == 0) {
      setsid();
      if (fork() != 0) _exit(0);
      Bind(CpuSet::Range(0, CPU_SETSIZE - 1));
      while (true) Spin();
    }
    if (child > 0) waitpid(child, nullptr, 0);
    if (random_.Below(2) == 0) _exit(0);
  }

  void Step(int64_t step) {
    const auto now = MonotonicNow();
    counters_.AddStep({step, now, milliseconds(kStepMilliseconds), active_, 1.0},
                      options_.spec.batch);
  }

  void Listen() {
    pollfd descriptor{link_.socket ? link_.socket.get() : -1, POLLIN, 0};
    if (poll(&descriptor, 1, kStepMilliseconds) <= 0) return;
    std::string text;
    const Receipt receipt = ReceivePacket(link_.socket.get(), &text);
    if (receipt == Receipt::kClosed) _exit(1);
    const Parsed<HostMessage> parsed = ParseHostMessage(text);
    const auto* grant = parsed.message ? std::get_if<GrantMessage>(&*parsed.message) : nullptr;
    if (grant == nullptr || Is("deaf")) return;
    if (Is("dies-in-grant")) Die();
    grant_ = *grant;
    Follow();
  }

  // As the engine would, unless it refuses: then it only says so.
  void Follow() {
    const bool refuses = Is("refuses") && grant_.sequence > 1;
    const int threads = Malleable() ? grant_.cores.Count() : ThreadsOf(options_.threads);
    if (refuses) misbehaved_ = true;
    if (!refuses && !(Is("greedy") && misbehaved_)) SetActive(threads);
    if (!refuses && Malleable() && !grant_.cores.Empty()) Bind(grant_.cores);
    counters_.SetThreads(threads);
    counters_.SetSettled(grant_.sequence);
    Say(SettledMessage{grant_.sequence, grant_.cores, grant_.threads, {}});
  }

  // Thread i spins while i < active_.
  void StartThreads() {
    const int count = std::max({2 * options_.capacity, ThreadsOf(options_.threads), 2});
    for (int i = 0; i < count; ++i) {
      StartThread("a compute thread", [this, i] {
        pthread_setname_np(pthread_self(), ("intra/" + std::to_string(i)).c_str());
        while (true) {
          const int active = active_;
          if (i >= active) {
            active_.wait(active);
            continue;
          }
          ++awake_;
          while (i < active_) Spin();
          --awake_;
        }
      }).detach();
    }
  }
  void SetActive(int threads) {
    active_ = threads;
    active_.notify_all();
    while (awake_ != threads) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  static void Spin() {
    const Steady::time_point end = Steady::now() + std::chrono::microseconds(200);
    while (Steady::now() < end) continue;
  }

  const HostedTenantOptions& options_;
  const ChaosPlan plan_;
  Random random_;
  const std::string behaviour_;
  const Steady::duration moment_;
  HostLink link_;
  SharedCounters counters_;
  GrantMessage grant_;
  std::atomic<int> active_{0}, awake_{0};
  Steady::time_point ready_;
  bool misbehaved_ = false;
};

}  // namespace

int RunChaosTenant(const HostedTenantOptions& options) {
  // The tenant's threads never end: they go with the process.
  auto* const tenant = new ChaosTenant(options);
  _exit(tenant->Run());
}

}  // namespace cosched
