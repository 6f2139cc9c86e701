#pragma once
// For a policy outside of the tree that is compiled to a shared library: it includes this file,
// defines its factory as one in the tree does, and exports it,
//
//   COSCHED_EXPORT_POLICY(LargestFirstPolicy)
//
// after which `cosched run EXPERIMENT.toml --policy-library ./largest_first.so` runs it beside the
// experiment's policies. Compiled with the compiler and the headers of the cosched that loads it:
//
//   g++ -std=c++20 -O2 -fPIC -shared -I COSCHED largest_first.cc -o largest_first.so
//
// A library stays loaded to the end of the process.

#include <cstdint>

#include "engine/base/error.h"
#include "policies/registry.h"

namespace cosched {

// Rises when what a library and cosched share changes its meaning.
constexpr uint32_t kPolicyLibraryVersion = 1;

// Differs, as a rule, when what they share changes its shape.
constexpr uint64_t PolicyLibraryLayout() {
  uint64_t layout = 0;
  for (const size_t size :
       {sizeof(PolicyInfo), sizeof(PolicyParameter), sizeof(Allocation), sizeof(JobDecision),
        sizeof(Event), sizeof(MachineView), sizeof(JobTable), sizeof(JobView), sizeof(SpeedCurve),
        sizeof(CpuSet), sizeof(Topology), sizeof(InputErrorDetails)}) {
    layout = layout * 1'000'003 + size;
  }
  return layout;
}

// What the library's one exported function, CoschedPolicyLibrary, returns. Its first two members
// never move.
struct PolicyLibrary {
  uint32_t version = kPolicyLibraryVersion;
  uint64_t layout = PolicyLibraryLayout();
  PolicyInfo (*policy)() = nullptr;
};

}  // namespace cosched

#define COSCHED_EXPORT_POLICY(factory)                                              \
  extern "C" __attribute__((visibility("default"))) const ::cosched::PolicyLibrary* \
  CoschedPolicyLibrary() {                                                          \
    static const ::cosched::PolicyLibrary library = {.policy = &(factory)};         \
    return &library;                                                                \
  }
