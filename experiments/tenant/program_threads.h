#pragma once
// The threads of a program of somebody else's, as a control thread moves them: all of it is confined to
// the cores, a pause stops it (SIGSTOP), and a client in it is told how many threads to have. Without
// a client a resize is over when the threads are where they should be; with one, when it has followed,
// which it does between two steps or regions. A client that has never connected, or has ended, is
// waited for by nobody. Thread-safe.

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "engine/base/topology.h"
#include "experiments/tenant/client_page.h"
#include "experiments/tenant/steered_program.h"
#include "experiments/tenant/steered_threads.h"

namespace cosched {

class ProgramThreads final : public SteeredThreads {
 public:
  enum class Mover {
    kThis,  // It is confined and stopped here, whoever asks;
    kHost,  // by its host where that asks (kGrant).
  };
  // page: null where it has no client. threads: that the program was started with. All outlive it.
  ProgramThreads(const SteeredProgram* program, ClientPage* page, const Topology* topology,
                 int threads, Mover mover);

  int64_t Resize(const ResizeRequest& request) override;
  WantedThreads Wanted() const override;
  bool Settled() const override;
  void OnResized(std::function<void(const ResizeReport&)> report) override;
  ThreadPools::ResizeTimes Times() const override;
  CpuSet Cores() const override;
  Split Current() const override;
  int ActiveThreads() const override { return ThreadsOf(Current()); }
  std::function<bool(int)> Placed() const override { return nullptr; }

  // Looks what the client has said. To be called all the while, often where Settled() is false.
  ClientPage::Said Look();

 private:
  using Clock = std::chrono::steady_clock;

  Split Effective() const;
  void Move(std::string_view cause);
  void Report(Clock::time_point end, bool overtaken);

  const SteeredProgram& program_;
  ClientPage* const page_;
  const Topology& topology_;
  const int started_with_;
  const Mover mover_;

  mutable std::mutex mutex_;  // Guards all below.
  std::function<void(const ResizeReport&)> on_resized_;
  WantedThreads wanted_;
  bool stopped_ = false;
  int64_t sequence_ = 0;
  uint64_t grant_ = 0;   // Of the page, …
  int granted_ = 0;      // … and its threads.
  Split current_{0, 0};  // In effect.
  CpuSet cores_;
  std::optional<ResizeReport> pending_;
  ThreadPools::ResizeTimes times_;
};

}  // namespace cosched
