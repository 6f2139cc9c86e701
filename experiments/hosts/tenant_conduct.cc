#include "experiments/hosts/tenant_conduct.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "experiments/hosts/within.h"

namespace cosched {
namespace {

// What going on after a stop takes its threads, also those that sleep again then: in time, and on
// cores at most.
constexpr Duration kGoingOn = std::chrono::milliseconds(20);

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

void TenantConduct::Settle(TimePoint now) {
  surplus_threads_.Forget();
  moved_back_ = false;
  settled_ = now;
  looked_.reset();
}

std::string TenantConduct::CheckAlive(const Signs& signs, TimePoint now) {
  const bool first = !looked_;
  if (first && now - settled_ < kGoingOn) return "";
  const Duration passed =
      std::min(now - std::exchange(looked_, now).value_or(now), heartbeat_timeout_ / 4);
  const Duration ran = signs.run_time - std::exchange(run_time_, signs.run_time);
  const bool beat = std::exchange(heartbeats_, signs.heartbeats) != signs.heartbeats;
  const bool stepped = std::exchange(steps_, signs.steps) != signs.steps;
  const bool computed = first ? ran > kGoingOn : ran != Duration(0);
  const auto count = [passed](bool sign, Duration* without) {
    *without = sign ? Duration(0) : *without + passed;
  };
  count(beat, &without_heartbeat_);
  count(stepped || signs.rests, &without_step_);
  count(computed || signs.rests, &without_run_);
  stalled_ = stalled_ || without_step_ > heartbeat_timeout_;
  const std::string within = Within(heartbeat_timeout_);
  if (without_heartbeat_ > heartbeat_timeout_) return "gave no heartbeat" + within;
  if (without_run_ > heartbeat_timeout_) return "hangs: none of its threads computed" + within;
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
