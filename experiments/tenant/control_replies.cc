// ControlThread's answers to `cosched ctl`.

#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "experiments/tenant/control_thread.h"
#include "experiments/tenant/steered_threads.h"
#include "experiments/wire/resize_latencies.h"

namespace cosched {
namespace {

constexpr const char* kStopped = "stopped by cosched ctl";

}  // namespace

void ControlThread::TakeRequest(ControlServer::Client client, const ControlRequest& request) {
  using Verb = ControlRequest::Verb;
  if (request.verb == Verb::kStatus) return server_->Reply(client, Status(request.id));
  if (request.verb == Verb::kStop) return Stop(client, request.id);
  const std::string problem = TakeChange(request);
  if (!problem.empty()) return server_->Reply(client, ErrorReply{request.id, problem});
  askers_[Apply(ResizeCause::kControl)].push_back({client, request.id});
}

std::string ControlThread::TakeChange(const ControlRequest& request) {
  using Verb = ControlRequest::Verb;
  if (pools_ == nullptr) return "it is not computing: its model is being built, or it ends";
  if (request.verb != Verb::kSet) {
    demand_.SetPaused(request.verb == Verb::kPause);
    return "";
  }
  if (!Malleable()) {
    return "it is " + std::string(ToString(options_.elasticity)) + ": its threads are fixed";
  }
  if (!Follows()) return "its client is " + std::string(ToString(options_.client));
  if (options_.fixed_threads && (request.inter || request.intra))
    return "it has no client: only its cores can be set";
  if (!FollowsCpuset()) demand_.Allow(watch_->Mask());  // Only now that somebody asks.
  return demand_.Set(request.cores, request.inter, request.intra);
}

StatusReply ControlThread::Status(int64_t id) {
  StatusReply status;
  status.id = id;
  status.program = options_.program;
  status.job = options_.job.value;
  status.steps = options_.steps;
  status.paused = demand_.Paused();
  status.may_use = FollowsCpuset() ? demand_.MayUse() : watch_->Mask();
  status.capacity = options_.capacity;
  status.signals_ignored = signals_.Ignored();
  const StepMeter::Reading reading = meter_->Read(StepMeter::Clock::now());
  status.step = reading.steps;
  status.images = reading.images;
  status.images_per_second = reading.images_per_second;
  status.ready = pools_ != nullptr;
  if (!status.ready) return status;
  const SteeredThreads& pools = *pools_;
  status.threads = pools.Current();
  status.wanted = pools.Wanted().split;
  status.active_threads = pools.ActiveThreads();
  if (status.threads != Split{0, 0}) status.cores = Follows() ? pools.Cores() : status.may_use;
  DurationHistogram grow, shrink;
  for (const auto& [op, latencies] : latencies_) {
    grow.Merge(latencies.grow);
    shrink.Merge(latencies.shrink);
  }
  status.grow = LatenciesOf(grow);
  status.shrink = LatenciesOf(shrink);
  return status;
}

// A hosted tenant's job ends with this reason; a person's tenant ends after its step.
void ControlThread::Stop(ControlServer::Client client, int64_t id) {
  const Split threads = pools_ != nullptr ? pools_->Current() : Split{0, 0};
  server_->Reply(client, OkReply{id, {}, threads, {}});
  if (Hosted()) {
    Send(ErrorMessage{kStopped});
    End(kStopped);
  }
  EndPause();
  if (options_.on_stop) options_.on_stop();
}

// The step under way must end before the tenant can.
void ControlThread::EndPause() {
  if (pools_ == nullptr || !demand_.Paused()) return;
  demand_.SetPaused(false);
  Apply(ResizeCause::kControl);
}

}  // namespace cosched
