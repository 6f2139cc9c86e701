#pragma once
// A search through the states of a pipeline: every order in which requests come, calls are taken,
// emit, end and fail, requests are cancelled and credits change. It runs the real PipelineState,
// breadth-first, so that what it finds comes by a shortest way, and holds each step to what PipelineState
// promises, by records of its own.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/gates/pipeline_state.h"

namespace cosched::model {

struct Settings {
  std::string name = {};
  PipelineSpec spec = {};
  std::vector<int> items = {};       // By request.
  int most_emitted = 2;              // Of a call that emits many.
  int lanes = 4;                     // Calls that run at once.
  std::vector<int64_t> bytes = {0};  // Of an item that is emitted: one of these.
  bool fails = false, cancels = false;
  bool raises_open = false, lowers_open = false;
  int64_t most_states = 1'000'000;  // The search ends there.
};

struct Result {
  int64_t states = 0;
  int64_t steps = 0;
  int64_t deadlocks = 0;
  bool complete = true;        // It has seen all states.
  std::string deadlock = {};   // The way to a state from which a request can't end; "": none.
  std::string violation = {};  // The way to a step that breaks a promise, and which; "": none.
};

// Ends at the first deadlock or violation.
Result Search(const Settings& settings);
// So many ways through it, each step drawn: finds deadlocks that lie deep long before a search.
Result Walk(const Settings& settings, int walks);

}  // namespace cosched::model
