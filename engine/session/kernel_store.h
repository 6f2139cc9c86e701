#pragma once
// A session's kernels. Equal nodes (op, attributes, shapes, constants) that never run at the same
// time have one kernel, so its primitives and scratch memory are there once: the slices of a batch,
// the blocks of a stage, the same node in several plans. Called by the fetch plan, on one thread.

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

  // Of one plan: for each kernel that it has already, the last of its tasks.
  using Uses = std::map<const Kernel*, int>;

  // spec.packed is filled in. Plans run one at a time, so only tasks of this one have to be ordered
  // for sharing; `tasks` come in an order of the graph.
  Kernel* For(KernelSpec spec, int task, const Ancestors& before, Uses* uses);

 private:
  const KernelBackend backend_;
  std::map<std::string, std::vector<std::unique_ptr<Kernel>>> kernels_;  // By what they compute.
  PackedConstants packed_constants_;
};

}  // namespace cosched
