#pragma once
// A stand-in for `cosched tenant` that computes nothing: threads named like the pools' spin, so
// that a host's view of the kernel can be tested without the engine, and misbehave in every way a
// host must survive. The test binary runs itself as this
// ("<binary> tenant --model=<Behaviour> …"); the tenant's model is the name of the behaviour.

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "engine/pool/spin.h"
#include "experiments/os/process_sampler.h"
#include "experiments/tenant/host_link.h"
#include "experiments/wire/shared_counters.h"
#include "experiments/wire/tenant_protocol.h"
#include "experiments/wire/tenant_start.h"

namespace cosched::testing {

// Of a process that a test is to find among those of the tests beside it: `host` has started it, or
// its tenant.
inline std::string NameUnder(const std::string& what, pid_t host) {
  return what + " " + std::to_string(host);
}

class FakeTenant {
 public:
  FakeTenant(int argc, char** argv)
      : options_(ParseOptions(argc, argv)),
        start_(ParseTenantStart(options_["start"])),
        link_(options_.contains("host-socket") ? ConnectToHost(options_["host-socket"])
                                               : InheritedLink(Int("host-fd"), Int("counters-fd"))),
        counters_(SharedCounters::Map(std::move(link_.counters))) {
    behaviour_ = start_.spec.model;
    malleable_ = start_.elasticity == Elasticity::kMalleable;
    socket_ = link_.socket.get();
    grant_.sequence = 1;
    grant_.cores = start_.cores;
    grant_.threads = start_.threads;
  }

  int Run() {
    if (behaviour_ == "silent") Sleep();
    if (options_.contains("host-pid")) DieWithHost(Int("host-pid"));
    if (behaviour_ == "garbage") return SayAndSleep("{\"version\": what?");
    if (behaviour_ == "oversized") return SayAndSleep(std::string(kMaxTenantMessage + 1, ' '));
    if (behaviour_ == "newer") return SayAndSleep("{\"version\":2,\"type\":\"hello\",\"job\":1}");
    if (behaviour_ == "impostor")
      return SayAndSleep(Encode(HelloMessage{JobId{start_.job.value + 1}}));
    if (behaviour_ == "rude") return SayAndSleep(Encode(FinishedMessage{50, 50}));
    Say(HelloMessage{start_.job});
    if (behaviour_ == "crash") return 3;
    if (behaviour_ == "complaint") return Complain();
    if (behaviour_ == "builder") Build();
    StartThreads();
    Follow();
    if (behaviour_ == "early") {
      Say(FinishedMessage{1, 1});
      Sleep();
    }
    if (behaviour_ == "leaver") close(socket_);
    if (behaviour_ == "breeding") Breed();
    // Not on the main thread: that one's run time counts as computing.
    std::thread([this] { _exit(Serve()); }).detach();
    if (behaviour_ == "busy") SpinForever();
    Sleep();
  }

 private:
  using Steady = std::chrono::steady_clock;

  static std::map<std::string, std::string> ParseOptions(int argc, char** argv) {
    std::map<std::string, std::string> options;
    for (int i = 2; i < argc; ++i) {
      const std::string argument = argv[i];
      const size_t equals = argument.find('=');
      options[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
    }
    return options;
  }

  int Int(const std::string& option) { return std::stoi(options_[option]); }
  void Say(const TenantMessage& message) { SendPacket(socket_, Encode(message)); }
  [[noreturn]] static void Sleep() {
    while (true) pause();
  }
  int SayAndSleep(const std::string& text) {
    send(socket_, text.data(), text.size(), 0);
    Sleep();
  }
  int Complain() {
    Say(ErrorMessage{"no such model"});
    return 2;
  }

  // Binds its threads to the cores of its command line once it has built its model, which takes so
  // long that another grant waits in its socket.
  void Build() {
    pthread_setname_np(pthread_self(), NameUnder("builds", getppid()).c_str());
    pollfd arrived{socket_, POLLIN, 0};
    poll(&arrived, 1, -1);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    Bind(grant_.cores);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::string text;
    ReceivePacket(socket_, &text);
    grant_ = std::get<GrantMessage>(*ParseHostMessage(text).message);
  }

  // A grandchild in a session of its own, which nobody waits for.
  static void Breed() {
    const std::string name = NameUnder("stray", getppid());
    const pid_t child = fork();
    if (child == 0) {
      setsid();
      if (fork() != 0) _exit(0);
      pthread_setname_np(pthread_self(), name.c_str());
      Sleep();
    }
    waitpid(child, nullptr, 0);
  }

  // Thread i computes while i < active_: bound to the i-th granted core if malleable.
  void StartThreads() {
    const int count = malleable_ ? start_.capacity : grant_.threads.intra;
    std::atomic<int> ready{0};
    for (int i = 0; i < count; ++i) {
      std::thread([this, i, &ready] {
        pthread_setname_np(pthread_self(), ("intra/" + std::to_string(i)).c_str());
        ++ready;
        if (behaviour_ == "greedy") SpinForever();
        if (behaviour_ == "patient" && i > 0)
          WaitForever(&counters_.IntraRecords()[static_cast<size_t>(i) + 1]);
        if (behaviour_ == "drowsy" && i > 0) {
          const sched_param none{};
          sched_setscheduler(0, SCHED_IDLE, &none);
          SpinForever();
        }
        while (true) {
          const int active = active_.load();
          if (i >= active) {
            active_.wait(active);
            continue;
          }
          awake_.fetch_add(1);
          if (behaviour_ == "stalled" && i == 0) TellStalls();
          if (behaviour_ == "absorbed") RunTasks(i, std::chrono::milliseconds(1500), false);
          if (behaviour_ == "tireless") RunTasks(i, std::chrono::milliseconds(5), true);
          while (i < active_.load()) Spin();
          awake_.fetch_sub(1);
        }
      }).detach();
    }
    while (ready.load() < count) std::this_thread::yield();
  }
  [[noreturn]] static void SpinForever() {
    volatile bool forever = true;
    while (forever) continue;
    Sleep();
  }
  // As a worker of a pool that looks for work in vain, and tells so.
  [[noreturn]] static void WaitForever(WorkRecord* record) {
    record->without_work = 1;
    while (true) {
      SpinForAMoment();
      record->spin_time = ThreadCpuTime().count();
    }
  }
  // As a worker that leaves between two tasks, or begins another one whatever it was told.
  void RunTasks(int worker, std::chrono::milliseconds each, bool forever) {
    WorkRecord& record = counters_.IntraRecords()[static_cast<size_t>(worker) + 1];
    do {
      record.tasks.fetch_add(1);
      const Steady::time_point end = Steady::now() + each;
      while (Steady::now() < end) continue;
    } while (forever || worker < active_.load());
  }
  // Its steps are the times in which the kernel did not let this thread run.
  [[noreturn]] void TellStalls() {
    constexpr std::chrono::milliseconds kLeast{1};
    auto last = MonotonicNow();
    for (int64_t step = 0;;) {
      const auto now = MonotonicNow();
      if (now - last >= kLeast) counters_.AddStep({step++, now, now - last, active_.load(), 0}, 1);
      last = now;
    }
  }
  static void SpinForAMoment() {
    const Steady::time_point end = Steady::now() + std::chrono::microseconds(200);
    while (Steady::now() < end) continue;
  }
  void Spin() const {
    if (behaviour_ == "hung") return std::this_thread::sleep_for(std::chrono::hours(1));
    SpinForAMoment();
  }

  // As the engine would: threads that leave first finish what they do, those that stay are bound to
  // their cores.
  void Follow() {
    const bool pretends = grant_.sequence > 1 && behaviour_ == "liar";
    const int threads = malleable_ ? grant_.cores.Count() : grant_.threads.intra;
    if (!pretends) {
      active_ = threads;
      active_.notify_all();
      const bool own_ways = behaviour_ == "greedy" || behaviour_ == "patient";
      while (!own_ways && awake_.load() != threads)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      if (malleable_ && !grant_.cores.Empty()) Bind(grant_.cores);
    }
    counters_.SetThreads(threads);
    counters_.SetSettled(grant_.sequence);
    Say(SettledMessage{grant_.sequence, grant_.cores, grant_.threads, {}});
    if (behaviour_ == "napping") {  // As when a person has paused it.
      active_ = 0;
      Say(ResizedMessage{ResizeCause::kControl, {1, threads}, {0, 0}, {}, "", {}, {}});
    }
  }
  static void Bind(const CpuSet& cores) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (const int cpu : cores) CPU_SET(cpu, &cpus);
    for (const pid_t tid : ThreadsOf(getpid())) sched_setaffinity(tid, sizeof cpus, &cpus);
  }

  // Beats, steps every 2 ms and answers, until all steps are done or the host is gone.
  int Serve() {
    for (int64_t step = 0; step < start_.spec.steps;) {
      if (behaviour_ != "frozen") counters_.Beat();
      if (behaviour_ == "flooding") Say(SettledMessage{grant_.sequence, grant_.cores, {}, {}});
      if (behaviour_ == "scribbling" && step == 20) {
        counters_.AddStep({-5, std::chrono::nanoseconds::max(), std::chrono::nanoseconds::min(), -1,
                           std::numeric_limits<double>::quiet_NaN()},
                          -1'000'000);
      }
      if (behaviour_ == "crowded" && step == 20) {
        Say(ResizedMessage{ResizeCause::kHalving, {1, 8}, {1, 4}, grant_.cores, "", {}, {}});
      }
      const bool has_steps =
          behaviour_ != "idler" && behaviour_ != "napping" && behaviour_ != "stalled";
      if (!grant_.cores.Empty() && has_steps) {
        const auto now = MonotonicNow();
        counters_.AddStep(
            {step, now, std::chrono::milliseconds(2), active_.load(), 1.0 / (step + 1)}, 10);
        ++step;
      }
      if (behaviour_ == "restless" && step == 20) Bind(CpuSet::Range(0, CPU_SETSIZE - 1));
      pollfd descriptor{behaviour_ == "leaver" ? -1 : socket_, POLLIN, 0};
      if (poll(&descriptor, 1, behaviour_ == "flooding" ? 0 : 2) > 0) Read();
    }
    Say(FinishedMessage{start_.spec.steps, start_.spec.steps * 10});
    if (behaviour_ == "lingering") Sleep();
    return 0;
  }
  void Read() {
    std::string text;
    const Receipt receipt = ReceivePacket(socket_, &text);
    if (receipt == Receipt::kClosed) _exit(1);
    const auto parsed = ParseHostMessage(text);
    const auto* grant = parsed.message ? std::get_if<GrantMessage>(&*parsed.message) : nullptr;
    if (grant == nullptr) _exit(0);
    if (behaviour_ == "deaf") return;
    if (behaviour_ == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(150));
    grant_ = *grant;
    Follow();
  }

  std::map<std::string, std::string> options_;
  const TenantStart start_;
  HostLink link_;
  SharedCounters counters_;
  std::string behaviour_;
  bool malleable_ = true;
  int socket_ = -1;
  GrantMessage grant_;
  std::atomic<int> active_{0};
  std::atomic<int> awake_{0};
};

}  // namespace cosched::testing
