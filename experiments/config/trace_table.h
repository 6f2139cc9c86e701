#pragma once
// [trace] of an experiment file: which jobs and requests arrive when. Called by LoadConfig; the
// plan (experiments/config/plan.h) draws the traces of each trial from it.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/config/section.h"
#include "experiments/config/toml_table.h"
#include "experiments/config/trace_sources.h"
#include "traces/arrivals/request_arrival.h"
#include "traces/generators/distribution.h"
#include "traces/generators/load_phases.h"
#include "traces/job_trace.h"

namespace cosched {

struct ExperimentConfig;

inline constexpr int kMostDrawn = 10'000'000;  // Jobs, or requests of a stream, of one trial.

// [[trace.requests]]: clients that send a service requests whenever these are due, answered or not
// (an open loop), or so many clients that each wait for their answer (a closed loop).
struct RequestStream {
  std::string service;  // Default: the only one.
  // Load in steps, which then says how many and when; `gap` says only how regularly.
  std::vector<LoadPhase> phases;
  int count = 0;  // Without phases.
  // Between two requests, or of a client between an answer and its next request, in seconds;
  // default: exponential, mean_s 1.
  Distribution gap;
  int clients = 0;  // Of a closed loop; 0 = an open one.
  // Work of each, in steps of the service's program: a number, or { distribution = "…", mean = … }.
  Distribution work = {.kind = Distribution::Kind::kFixed};
  Duration start{0};  // start_s: when the first one is sent, or the first phase begins.
};

// [[trace.changes]]: another objective for a service, in mid-run.
struct ObjectiveChange {
  std::string service;  // Default: the only one.
  Duration at{0};
  Duration objective{0};  // sla_ms
};

struct TraceConfig {
  int jobs = 6;  // 0 where no workload is a job.
  // Between two arrivals of jobs, in seconds.
  Distribution gap = {.kind = Distribution::Kind::kNormal, .mean = 2.0, .sd = 0.5};
  // Of the jobs, the part that is as elastic as its cell; the others are rigid. Drawn by the seed, a
  // number a job, so that what is malleable with one share is so with every larger one.
  double malleable_share = 1;
  std::vector<RequestStream> requests;
  std::vector<ObjectiveChange> changes;  // In order of time.
  std::filesystem::path file;            // As opened; empty = arrivals are drawn.
  // What the files hold, in every trial alike; the first arrival of either is at 0.
  std::vector<TraceSource> sources;
  std::optional<JobTrace> replay;
  RequestTrace replay_requests;
};

// config: its workloads and cores have been read. Throws InputError.
TraceConfig ReadTraceConfig(const TomlTable& table, const ExperimentConfig& config);

const Section<TraceConfig>& TraceSection();                // But for the keys of files.
const Section<RequestStream>& RequestStreamSection();      // [[trace.requests]]
const Section<LoadPhase>& LoadPhaseSection();              // An entry of its phases.
const Section<ObjectiveChange>& ObjectiveChangeSection();  // [[trace.changes]]

}  // namespace cosched
