#include "experiments/tenant/hosted_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

#include "experiments/tenant/answers.h"
#include "experiments/tenant/rank_shares.h"
#include "experiments/wire/pipeline_counters.h"
#include "workloads/program_spec.h"

namespace cosched {

PipelineSettings PipelineSettingsOf(const SessionOptions& session) {
  return {.capacity = {session.inter_op_parallelism_threads, session.intra_op_parallelism_threads},
          .binding = session.binding,
          .topology = session.topology,
          .waiting = session.waiting};
}

HostedPipeline::HostedPipeline(PipelineProgram program, const PipelineSettings& settings,
                               bool chooses, int socket, SharedCounters* counters, StepMeter* meter)
    : program_(std::move(program)),
      socket_(socket),
      counters_(counters),
      meter_(meter),
      pipeline_(program_.spec, program_.stages, settings,
                [this](const PipelineResult& result) { Answer(result); }) {
  if (chooses) auto_ = std::make_unique<AutoPipeline>(&pipeline_, program_.spec.open_max);
}

void HostedPipeline::JoinRanks(RankLink* link) {
  ranks_ = link->Size();
  remote_.emplace(&pipeline_, link, program_.travels);
  remote_->WaitForRanks();
}

ResizeRequest HostedPipeline::Share(const ResizeRequest& all) {
  if (!remote_) return all;
  const bool none = all.paused.value_or(false) || *all.inter < 1 || *all.intra < 1;
  std::vector<RankPlace> places =
      ShareAmongRanks(none ? CpuSet() : *all.cores, {*all.inter, *all.intra}, ranks_);
  // What a person has paused must leave the cores that its host takes away, too.
  if (none) {
    for (RankPlace& place : places) place.home = *all.cores;
  }
  for (int rank = 1; rank < ranks_; ++rank)
    remote_->Resize(rank, places[static_cast<size_t>(rank)]);
  ResizeRequest own = all;
  if (places[0].cores.Empty()) return own;
  own.cores = places[0].cores;
  own.inter = places[0].split.inter;
  own.intra = places[0].split.intra;
  return own;
}

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

void HostedPipeline::DoSteps(int64_t steps) {
  {
    const std::lock_guard lock(stepping_);
    steps_ = steps;
    step_begin_ = StepMeter::Clock::now();
    const int64_t first = std::min(steps, int64_t{program_.spec.open_max} + 1);
    while (submitted_ < first) SubmitStep();
  }
  pipeline_.Begin();
  WaitUntilOver();
}

// REQUIRES: the lock.
void HostedPipeline::SubmitStep() {
  pipeline_.Submit({.number = submitted_, .items = program_.items(submitted_, /*work=*/1)});
  if (++submitted_ == steps_) pipeline_.Drain();
}

// A step ends when a request does, and begins where the one before ended: how fast they come is what
// it tells.
void HostedPipeline::CountStep(const PipelineResult& result) {
  const std::lock_guard lock(stepping_);
  const auto begin = std::exchange(step_begin_, std::max(step_begin_, result.ended));
  meter_->Add(begin, step_begin_, 1);
  counters_->AddStep({done_++, step_begin_.time_since_epoch(), step_begin_ - begin,
                      pipeline_.Pools().ActiveThreads(), /*loss=*/0},
                     /*images=*/1);
  if (submitted_ < steps_) SubmitStep();
}

void HostedPipeline::Answer(const PipelineResult& result) {
  const PipelineAnswer& answer = result.answer;
  if (answer.status != PipelineAnswer::Status::kDone) {
    const std::string what = fmt::format("request {}: stage {}, item {}: {}", result.number,
                                         result.stage, answer.item.ToString(), answer.why);
    if (steps_ > 0) throw std::runtime_error(what);
    fmt::print(stderr, "{}\n", what);
  }
  const PipelineSample sample = Publish();
  if (steps_ > 0) {
    CountStep(result);
  } else {
    Send(result);
  }
  if (auto_) auto_->Answered(result, sample.open_requests);
}

void HostedPipeline::Send(const PipelineResult& result) {
  counters_->AddAnswers(1);
  meter_->Add(result.admitted, result.ended, 1);
  SendAnswers(
      socket_,
      {.started = result.admitted.time_since_epoch(),
       .finished = result.ended.time_since_epoch(),
       .size = 1,
       .answers = {{static_cast<uint64_t>(result.number), result.submitted.time_since_epoch()}},
       .failed = result.answer.status != PipelineAnswer::Status::kDone});
}

// Taken and written under one lock, so that counters never run backwards.
PipelineSample HostedPipeline::Publish() {
  const std::lock_guard lock(publishing_);
  PipelineSample sample = pipeline_.Sample();
  counters_->SetPipeline(CountersOf(sample));
  return sample;
}

}  // namespace cosched
