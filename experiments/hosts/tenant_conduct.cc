#include "experiments/hosts/tenant_conduct.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "experiments/hosts/within.h"

namespace cosched {
namespace {

std::string MoveBack(const Place& place, LaunchedTenant* launched) {
  try {
    launched->Move(place);
  } catch (const std::runtime_error& error) {
    return "could not be moved back to cores " + place.cores.ToString() + ": " + error.what();
  }
  return "";
}

}  // namespace

bool AreWithin(const CpuSet& cores, const std::vector<ProcessSampler::Thread>& threads,
               const Topology& topology) {
  return std::all_of(threads.begin(), threads.end(), [&](const ProcessSampler::Thread& thread) {
    if (!cores.Contains(topology.ThreadBinding(thread.tid))) return false;
    return thread.state != 'R' || thread.cpu < 0 || cores.Contains(thread.cpu);
  });
}

bool IsStill(const std::vector<ProcessSampler::Thread>& threads) {
  return std::all_of(threads.begin(), threads.end(),
                     [](const auto& thread) { return thread.state == 'T'; });
}

bool IsParked(const std::vector<ProcessSampler::Thread>& threads) {
  return std::none_of(threads.begin(), threads.end(),
                      [](const auto& thread) { return thread.compute && thread.state == 'R'; });
}

Duration RunTimeOf(const ProcessSampler& sampler, pid_t process) {
  Duration run_time = sampler.ComputeTotals().run_time;
  for (const ProcessSampler::Thread& thread : sampler.Threads()) {
    if (thread.tid == process) run_time += thread.run_time;
  }
  return run_time;
}

void TenantConduct::Excuse(TimePoint now) { last_heartbeat_ = last_run_ = last_step_ = now; }

void TenantConduct::Settle(TimePoint now) {
  surplus_threads_.Forget();
  moved_back_ = false;
  last_run_ = last_step_ = now;
}

std::string TenantConduct::CheckAlive(const Signs& signs, TimePoint now) {
  if (std::exchange(heartbeats_, signs.heartbeats) != signs.heartbeats) last_heartbeat_ = now;
  if (std::exchange(steps_, signs.steps) != signs.steps || signs.rests) last_step_ = now;
  if (std::exchange(run_time_, signs.run_time) != signs.run_time || signs.rests) last_run_ = now;
  stalled_ = stalled_ || now - last_step_ > heartbeat_timeout_;
  const std::string within = Within(heartbeat_timeout_);
  if (now - last_heartbeat_ > heartbeat_timeout_) return "gave no heartbeat" + within;
  if (now - last_run_ > heartbeat_timeout_) return "hangs: none of its threads computed" + within;
  return "";
}

std::string TenantConduct::CheckPlace(const std::vector<ProcessSampler::Thread>& threads,
                                      const Place& place, bool counts_threads,
                                      LaunchedTenant* launched) {
  for (const ProcessSampler::Thread& thread : threads) {
    if (!thread.fresh) continue;  // Wherever it sleeps: it takes no core.
    const CpuSet binding = topology_->ThreadBinding(thread.tid);
    if (place.cores.Contains(binding)) continue;
    if (launched->HasGroup() && !std::exchange(moved_back_, true)) {
      return MoveBack(place, launched);
    }
    return std::string("has a ") + (thread.compute ? "compute " : "") + "thread on cores " +
           binding.ToString() + ", outside its grant of " + place.cores.ToString();
  }
  moved_back_ = false;
  if (!counts_threads) return "";
  const int cores = place.amount.Threads();
  const int surplus = surplus_threads_.Look(threads, cores);
  if (surplus <= 0) return "";
  return "runs " + std::to_string(surplus) + " compute threads on " + std::to_string(cores) +
         " cores";
}

}  // namespace cosched
