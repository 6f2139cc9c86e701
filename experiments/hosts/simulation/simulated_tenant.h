#pragma once
// What SimulatedHost keeps of a tenant. Plain data; only its own.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "engine/base/random.h"
#include "experiments/hosts/simulation/bandwidth.h"
#include "experiments/hosts/simulation/chaos_model.h"
#include "experiments/hosts/simulation/device_model.h"
#include "experiments/hosts/simulation/executions.h"
#include "experiments/hosts/simulation/memory_place.h"
#include "experiments/hosts/simulation/service_model.h"
#include "experiments/hosts/simulation/simulated_pipeline.h"
#include "experiments/wire/memory_move.h"
#include "policies/place.h"
#include "workloads/pipelines/pipeline_choice.h"
#include "workloads/pipelines/pipeline_chooser.h"

namespace cosched::simulation {

enum class Phase { kStarting, kComputing, kLeaving };

// What a described job will be.
struct Described {
  int program = 0;
  int64_t steps = 0;
  int batch = 0;
  uint64_t seed = 0;
  bool serves = false;
  std::shared_ptr<const PipelineChoice> pipeline;  // It is one,
  bool chooses = false;                            // with split = "auto".
  Duration max_delay{0};
  std::string chaos;  // The model of one that misbehaves; it has no program.
};

// Where a tenant's memory lies, and how it is being moved.
struct TenantMemory {
  MemoryPlace place;
  NumaNodes granted;                      // Of its cores by the last grant that settled.
  std::optional<MemoryMove> moving = {};  // As it will be when it is over: …
  CpuSet moving_to = {};                  // … near these cores.
};

struct Tenant {
  Described plan;
  std::unique_ptr<ChaosModel> chaos;
  std::unique_ptr<ServiceModel> service;
  std::unique_ptr<SimulatedPipeline> pipeline;
  std::unordered_map<int64_t, TimePoint> scheduled;  // By the number of the pipeline's request.
  double pipeline_cores = 0;                         // What its threads compute with.
  std::unique_ptr<PipelineChooser> chooser;          // It arranges itself.
  std::unique_ptr<DeviceModel> device;               // It is one, and no job's tenant.
  std::optional<Bandwidth> bandwidth;                // One that ever had a share.
  std::unique_ptr<TenantMemory> memory;              // Where that costs something.
  bool draining = false;                 // The service ends when it has answered what it has.
  double server_speed = 0;               // Steps per second of a server, undisturbed,
  Executions::ClockId disturbed_by = 0;  // and the clock that slows it.
  JobId job;
  bool malleable = false;
  Random random{0};    // Draws the tenant's delays.
  double noise = 1;    // Factor of its step time.
  double warm_up = 0;  // Extra time of the first step, in steps.
  Phase phase = Phase::kStarting;
  Place place;   // Where its threads are.
  Place target;  // By the latest grant.
  bool settling = true;
  bool settled_lately = false;  // Since the last sample.
  TimePoint asked;              // When the latest grant was.
  TimePoint ready_at;           // When its start is over, unless it is paused meanwhile.
  Duration start_left{0};       // While it is paused in its start.
  // What it computes with, and since when.
  bool among_others = false;  // Counted as a co-runner,
  double pressing = 0;        // at this rate.
  double busy = 0;
  int runnable = 0;
  TimePoint since;
  double run_time_s = 0;
  double wait_s = 0;
  // Numbers of the timers that count; others are void.
  int64_t ready_timer = -1, settle_timer = -1, end_timer = -1, moment_timer = -1,
          bandwidth_timer = -1, memory_timer = -1;
  TimePoint ends;
  std::string failure;  // Why the end timer ends it; "" = it leaves by itself.

  bool Serves() const { return service || pipeline; }
  // It has a share of its cores, beside others.
  bool Shares() const { return bandwidth && !target.Owns(); }
  CpuSet Held() const { return settling ? place.cores | target.cores : place.cores; }
  CpuShare HeldAmount() const {
    return settling ? std::max(place.amount, target.amount) : place.amount;
  }
};

}  // namespace cosched::simulation
