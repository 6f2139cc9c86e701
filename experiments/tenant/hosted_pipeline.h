#pragma once
// The pipeline of a hosted tenant (engine/gates/pipeline.h): a packet's requests are its requests.
// What became of its stages is published in the shared page.

#include "engine/gates/pipeline.h"
#include "experiments/tenant/hosted_server.h"
#include "experiments/tenant/step_meter.h"
#include "experiments/wire/shared_counters.h"
#include "workloads/pipelines/pipeline_program.h"

namespace cosched {

class HostedPipeline : public HostedServer {
 public:
  // The socket to the host, counters and meter outlive it. Throws as Pipeline does.
  HostedPipeline(PipelineProgram program, const PipelineSettings& settings, int socket,
                 SharedCounters* counters, StepMeter* meter);

  ThreadPools& Pools() override { return pipeline_.Pools(); }
  void Begin() override { pipeline_.Begin(); }
  void Take(const RequestPacket& packet) override;
  void Drain() override { pipeline_.Drain(); }
  void SetOpenRequests(int count) override;
  void Beat() override { Publish(); }
  void WaitUntilOver() override;

 private:
  void Send(const PipelineResult& result);
  void Publish();

  const PipelineProgram program_;
  const int socket_;
  SharedCounters* const counters_;
  StepMeter* const meter_;
  std::mutex publishing_;
  Pipeline pipeline_;  // After what its lanes use.
};

}  // namespace cosched
