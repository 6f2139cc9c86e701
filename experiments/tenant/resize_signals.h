#pragma once
// Resizing by POSIX real-time signals with a payload: SIGRTMIN+1 = threads of the intra-op pool,
// SIGRTMIN+2 = of the inter-op pool, SIGRTMIN+3 = number of cores; 0 pauses. The tenant takes them
// from a descriptor on its control thread, so that no handler ever interrupts a kernel; `cosched
// ctl --signal` sends them. The kernel keeps their order and loses none: a full queue is told to
// the sender.

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "engine/base/unique_fd.h"

namespace cosched {

enum class ResizeSignal { kIntra, kInter, kCores };
int SignalNumber(ResizeSignal signal);

// The receiving end. Not thread-safe, but for Block.
class ResizeSignals {
 public:
  // In this thread and those it will start: a thread that does not block them could be killed by
  // one. REQUIRES: before any thread is started.
  static void Block();

  ResizeSignals();                      // REQUIRES: Block.
  int fd() const { return fd_.get(); }  // Readable when one waits.

  // Takes what waits, at most 64; those without a payload (kill), or that say they come from a user
  // who is neither this one nor root, are ignored and counted. `apply` returns false for a value
  // that makes no sense: counted too.
  void Take(const std::function<bool(ResizeSignal signal, int value)>& apply);
  int64_t Ignored() const { return ignored_; }

 private:
  UniqueFd fd_;
  int64_t ignored_ = 0;
};

// Whether the process waits for these signals. They end one that does not. True also if that can't
// be seen.
bool TakesResizeSignals(pid_t process);

// The sending end. Tries again for a while when the receiver's queue is full. Throws InputError if
// there is no such process, it is another user's, or its queue stays full.
void SendResizeSignal(pid_t process, ResizeSignal signal, int value);

}  // namespace cosched
