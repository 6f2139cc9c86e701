#include "experiments/tenant/hosted_pipeline.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "experiments/tenant/answers.h"

namespace cosched {
namespace {

StageCounters CountersOf(const PipelineSample::Stage& stage) {
  return {.ready = stage.batches,
          .running = stage.running,
          .parked = stage.parked,
          .items = stage.items,
          .bytes = stage.bytes,
          .calls = stage.calls,
          .taken = stage.taken,
          .dropped = stage.dropped,
          .busy = stage.busy,
          .lasted = stage.lasted,
          .waits = stage.waits};
}

}  // namespace

HostedPipeline::HostedPipeline(PipelineProgram program, const PipelineSettings& settings,
                               int socket, SharedCounters* counters, StepMeter* meter)
    : program_(std::move(program)),
      socket_(socket),
      counters_(counters),
      meter_(meter),
      pipeline_(program_.spec, program_.stages, settings,
                [this](const PipelineResult& result) { Send(result); }) {}

void HostedPipeline::Take(const RequestPacket& packet) {
  for (size_t i = 0; i < packet.work.size(); ++i) {
    const auto number = static_cast<int64_t>(packet.first + i);
    pipeline_.Submit({.number = number, .items = program_.items(number, packet.work[i])});
  }
  Publish();
}

// A host's word is believed no further than the pipeline can go.
void HostedPipeline::SetOpenRequests(int count) {
  pipeline_.SetOpenRequests(std::clamp(count, 1, program_.spec.open_max));
  Publish();
}

void HostedPipeline::WaitUntilOver() {
  pipeline_.WaitUntilOver();
  Publish();
}

void HostedPipeline::Send(const PipelineResult& result) {
  const PipelineAnswer& answer = result.answer;
  const bool failed = answer.status != PipelineAnswer::Status::kDone;
  if (failed) {
    std::fprintf(stderr, "request %lld: stage %s, item %s: %s\n",
                 static_cast<long long>(result.number), result.stage.c_str(),
                 answer.item.ToString().c_str(), answer.why.c_str());
  }
  counters_->AddAnswers(1);
  meter_->Add(result.admitted, result.ended, 1);
  Publish();
  SendAnswers(
      socket_,
      {.started = result.admitted.time_since_epoch(),
       .finished = result.ended.time_since_epoch(),
       .size = 1,
       .failed = failed,
       .answers = {{static_cast<uint64_t>(result.number), result.submitted.time_since_epoch()}}});
}

// Taken and written under one lock, so that counters never run backwards.
void HostedPipeline::Publish() {
  const std::lock_guard lock(publishing_);
  const PipelineSample sample = pipeline_.Sample();
  PipelineCounters counters{.open = sample.open, .open_requests = sample.open_requests};
  for (const PipelineSample::Stage& stage : sample.stages) {
    counters.stages.push_back(CountersOf(stage));
  }
  counters_->SetPipeline(counters);
}

}  // namespace cosched
