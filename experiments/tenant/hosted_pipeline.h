#pragma once
// The pipeline of a hosted tenant (engine/gates/pipeline.h): a packet's requests are its requests; or,
// of a job that is to do so many steps, each step is one of work 1, and as many as may be open and one
// more are inside or wait. What became of its stages, whichever rank made their calls, is published in
// the shared page.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/gates/pipeline.h"
#include "engine/gates/remote_lanes.h"
#include "experiments/tenant/hosted_server.h"
#include "experiments/tenant/step_meter.h"
#include "experiments/wire/shared_counters.h"
#include "workloads/pipelines/auto_pipeline.h"
#include "workloads/pipelines/pipeline_program.h"

namespace cosched {

struct SessionOptions;

// With the pools that a session would have for itself.
PipelineSettings PipelineSettingsOf(const SessionOptions& session);

class HostedPipeline : public HostedServer {
 public:
  // `chooses`: it finds its split and its open requests itself (split = "auto"). The socket to the
  // host, counters and meter outlive it. Throws as Pipeline does.
  HostedPipeline(PipelineProgram program, const PipelineSettings& settings, bool chooses,
                 int socket, SharedCounters* counters, StepMeter* meter);
  // Other ranks make its calls, too; the link to them outlives it. Returns when each is ready for
  // that, and throws as RemoteLanes does if one can't. REQUIRES: once, before anything else.
  void JoinRanks(RankLink* link);

  ThreadPools& Pools() override { return pipeline_.Pools(); }
  void Begin() override { pipeline_.Begin(); }
  void Take(const RequestPacket& packet) override;
  void Drain() override { pipeline_.Drain(); }
  void SetOpenRequests(int count) override;
  void Beat() override { Publish(); }
  ResizeRequest Share(const ResizeRequest& all) override;
  void WaitUntilOver() override;
  // In place of Begin(): it does so many requests by itself, and is drained. Throws what WaitUntilOver
  // does, and std::runtime_error if one fails. Returns when it is over. REQUIRES: steps >= 1.
  void DoSteps(int64_t steps);

 private:
  void Answer(const PipelineResult& result);
  void Send(const PipelineResult& result);
  void CountStep(const PipelineResult& result);
  void SubmitStep();
  PipelineSample Publish();

  const PipelineProgram program_;
  const int socket_;
  SharedCounters* const counters_;
  StepMeter* const meter_;
  std::mutex publishing_;
  // Of a job: its steps, and those that were submitted and done. Guarded by this mutex.
  std::mutex stepping_;
  int64_t steps_ = 0, submitted_ = 0, done_ = 0;
  StepMeter::Clock::time_point step_begin_;
  std::unique_ptr<AutoPipeline> auto_;  // Null: others arrange it.
  Pipeline pipeline_;                   // After what its lanes use.
  int ranks_ = 1;
  std::optional<RemoteLanes> remote_;
};

}  // namespace cosched
