#include "experiments/hosts/tenant_sampling.h"

#include <utility>

namespace cosched {

TenantSample TenantSampling::Sample(const Moment& moment, const ProcessSampler& sampler,
                                    bool settling) {
  TenantSample sample = LastSample(moment, &sampler);
  sample.runnable_threads = working_threads_.Runnable(sampler.Threads());
  sample.compute_threads = moment.claimed.active_threads;
  const int64_t settled = moment.claimed.settled_sequence;
  sample.settling = std::exchange(settled_sequence_, settled) != settled || settling;
  return sample;
}

TenantSample TenantSampling::LastSample(const Moment& moment, const ProcessSampler* sampler) {
  const ProcessSampler::Totals totals =
      sampler != nullptr ? sampler->ComputeTotals() : ProcessSampler::Totals();
  TenantSample sample;
  sample.job = job_;
  sample.time = moment.now;
  sample.granted = moment.held;
  sample.amount = moment.amount;
  sample.run_time = totals.run_time;
  if (sampler != nullptr)
    sample.spin_time = working_threads_.SpinTime(sampler->Threads(), totals.run_time);
  sample.run_queue_wait = totals.run_queue_wait;
  sample.involuntary_switches = totals.involuntary_switches;
  sample.migrations = totals.migrations;
  sample.throttled = moment.group.throttled;
  sample.pressure = moment.group.pressure;
  sample.steps = moment.claimed.steps;
  sample.images = moment.claimed.images;
  sample.pipeline = moment.pipeline;
  if (list_threads_ && sampler != nullptr) sample.threads = ThreadSamples(*sampler, moment.held);
  return sample;
}

std::vector<ThreadSample> TenantSampling::ThreadSamples(const ProcessSampler& sampler,
                                                        const CpuSet& held) const {
  std::vector<ThreadSample> samples;
  for (const ProcessSampler::Thread& thread : sampler.Threads()) {
    const CpuSet cores = topology_->ThreadBinding(thread.tid);
    samples.push_back({.tid = thread.tid,
                       .compute = thread.compute,
                       .cpu = thread.cpu,
                       .cores = cores.Empty() ? held : cores,  // Empty: it is gone by now.
                       .run_time = thread.run_time,
                       .run_queue_wait = thread.run_queue_wait});
  }
  return samples;
}

}  // namespace cosched
