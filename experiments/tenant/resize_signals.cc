#include "experiments/tenant/resize_signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr ResizeSignal kSignals[] = {ResizeSignal::kIntra, ResizeSignal::kInter,
                                     ResizeSignal::kCores};

sigset_t AllSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const ResizeSignal signal : kSignals) sigaddset(&signals, SignalNumber(signal));
  return signals;
}

}  // namespace

int SignalNumber(ResizeSignal signal) {
  switch (signal) {
    case ResizeSignal::kIntra: return SIGRTMIN + 1;
    case ResizeSignal::kInter: return SIGRTMIN + 2;
    case ResizeSignal::kCores: return SIGRTMIN + 3;
  }
  return 0;
}

void ResizeSignals::Block() {
  const sigset_t signals = AllSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

ResizeSignals::ResizeSignals() {
  const sigset_t signals = AllSignals();
  fd_ = UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) throw std::system_error(errno, std::generic_category(), "signalfd");
}

void ResizeSignals::Take(const std::function<bool(ResizeSignal signal, int value)>& apply) {
  constexpr int kMost = 64;
  for (int i = 0; i < kMost; ++i) {
    signalfd_siginfo info;
    if (read(fd_.get(), &info, sizeof info) != sizeof info) return;
    bool known = false;
    // The kernel has checked that the sender may signal this process; the uid is the sender's word.
    const bool trusted =
        info.ssi_code == SI_QUEUE && (info.ssi_uid == geteuid() || info.ssi_uid == 0);
    for (const ResizeSignal signal : kSignals) {
      if (trusted && static_cast<int>(info.ssi_signo) == SignalNumber(signal)) {
        known = apply(signal, info.ssi_int);
      }
    }
    if (!known) ++ignored_;
  }
}

bool TakesResizeSignals(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  constexpr std::string_view kBlocked = "SigBlk:";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(kBlocked)) continue;
    const uint64_t blocked = std::stoull(line.substr(kBlocked.size()), nullptr, 16);
    return std::all_of(std::begin(kSignals), std::end(kSignals), [blocked](ResizeSignal signal) {
      return (blocked >> (SignalNumber(signal) - 1) & 1) != 0;
    });
  }
  return true;
}

void SendResizeSignal(pid_t process, ResizeSignal signal, int value) {
  using std::chrono::milliseconds;
  const std::string name = std::to_string(process);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  const sigval payload{.sival_int = value};
  for (milliseconds pause{1}; sigqueue(process, SignalNumber(signal), payload) != 0; pause *= 2) {
    const int error = errno;
    if (error != EAGAIN || std::chrono::steady_clock::now() + pause > end) {
      InputErrorDetails details;
      details.key = name;
      details.problem = error == ESRCH    ? "no such process"
                        : error == EPERM  ? "it is another user's process"
                        : error == EAGAIN ? "its queue of signals stays full"
                                          : std::generic_category().message(error);
      throw InputError(details);
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace cosched
