#include <chrono>
#include <memory>
#include <utility>

#include "engine/gates/stage.h"
#include "engine/pool/malleable_pool.h"

namespace cosched {
namespace {

// Adds the time of a piece to its call, also of one that throws; without that of a pause in it.
class BusyTime {
 public:
  explicit BusyTime(StageCall* call) : call_(*call) {}
  ~BusyTime() {
    const std::chrono::nanoseconds held = MalleablePool::TimeHeld() - held_before_;
    call_.AddBusy(std::chrono::steady_clock::now() - begin_ - held);
  }
  BusyTime(const BusyTime&) = delete;
  BusyTime& operator=(const BusyTime&) = delete;

 private:
  StageCall& call_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds held_before_ = MalleablePool::TimeHeld();
};

class NativeStage : public Stage {
 public:
  explicit NativeStage(RunPiece run_piece) : run_piece_(std::move(run_piece)) {}

  bool Run(StageCall& call) override {
    // Of what threw before, nothing is gone on with.
    const int piece = std::exchange(next_, 0);
    const BusyTime busy(&call);
    const bool more = !call.Cancelled() && run_piece_(call, piece);
    if (more) next_ = piece + 1;
    return more;
  }
  bool InPieces() const override { return true; }

 private:
  RunPiece run_piece_;
  int next_ = 0;  // Piece of a call that is to go on.
};

}  // namespace

std::unique_ptr<Stage> MakeNativeStage(RunPiece run_piece) {
  return std::make_unique<NativeStage>(std::move(run_piece));
}

}  // namespace cosched
