#include <chrono>
#include <memory>
#include <utility>

#include "engine/gates/stage.h"
#include "engine/pool/thread_pools.h"
#include "engine/session/executor.h"
#include "engine/session/ready_queue.h"
#include "engine/session/task_graph.h"

namespace cosched {
namespace {

// Adds the time of a piece to its call, also of one that throws.
class BusyTime {
 public:
  explicit BusyTime(StageCall* call) : call_(*call) {}
  ~BusyTime() { call_.AddBusy(std::chrono::steady_clock::now() - begin_); }
  BusyTime(const BusyTime&) = delete;
  BusyTime& operator=(const BusyTime&) = delete;

 private:
  StageCall& call_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Pieces are a task of an executor, as those of an op are, so a call leaves its worker in the middle,
// moves to another one, and stops where there is none, by the same rules.
class NativeStage : public Stage {
 public:
  explicit NativeStage(RunPiece run_piece) : run_piece_(std::move(run_piece)) {}

  bool Run(StageCall& call) override {
    // Of what threw before, nothing is gone on with.
    const int first = std::exchange(next_, 0);
    int piece = first;
    bool more = true;
    const auto run = [&] {
      const BusyTime busy(&call);
      more = !call.Cancelled() && run_piece_(call, piece);
      ++piece;
      return more && !call.Full();
    };
    if (call.Pools() == nullptr) {
      while (run()) {
      }
    } else {
      if (!executor_) executor_ = std::make_unique<OneTask>(&call.Pools()->inter());
      executor_->Run(run);
    }
    if (more) next_ = piece;
    return more;
  }

 private:
  class OneTask {
   public:
    explicit OneTask(MalleablePool* pool) : executor_(pool), queue_(&graph_) {}
    void Run(FunctionRef<bool()> piece) {
      executor_.Run(&queue_, [&](TaskAtPiece) { return piece(); });
    }

   private:
    static TaskGraph Graph() {
      TaskGraph graph;
      graph.Add(/*cheap=*/false, /*cost=*/1);
      graph.Seal();
      return graph;
    }
    const TaskGraph graph_ = Graph();
    Executor executor_;
    ReadyQueue queue_;
  };

  RunPiece run_piece_;
  int next_ = 0;  // Piece of a call that is to go on.
  std::unique_ptr<OneTask> executor_;
};

}  // namespace

std::unique_ptr<Stage> MakeNativeStage(RunPiece run_piece) {
  return std::make_unique<NativeStage>(std::move(run_piece));
}

}  // namespace cosched
