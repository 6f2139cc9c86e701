#pragma once
// A session's kernels. Equal nodes (op, attributes, shapes, constants, threads that the work is
// divided for) that never run at the same time have one kernel, so its primitives and scratch
// memory are there once: the slices of a batch, the blocks of a stage, the same node in several
// plans. Called by the fetch plan, on one thread.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/kernels/kernel.h"
#include "engine/kernels/packed_constants.h"
#include "engine/session/ancestors.h"

namespace cosched {

class KernelStore {
 public:
  explicit KernelStore(KernelBackend backend) : backend_(backend) {}

  KernelBackend Backend() const { return backend_; }

  // Before the first task of a plan. Plans run one at a time, so only tasks of one plan have to be
  // ordered for sharing.
  void BeginPlan() { ++plan_; }
  // spec.packed is filled in. Tasks come in an order of the graph.
  Kernel* For(KernelSpec spec, int task, const Ancestors& before);

 private:
  struct Entry {
    std::unique_ptr<Kernel> kernel;
    int plan = 0;   // The last one that uses it,
    int task = -1;  // and its last task there.
  };

  const KernelBackend backend_;
  int plan_ = 0;
  std::map<std::string, std::vector<Entry>> kernels_;  // By what they compute.
  PackedConstants packed_constants_;
};

}  // namespace cosched
