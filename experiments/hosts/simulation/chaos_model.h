#pragma once
// `model = "chaos"` in virtual time: what a tenant that misbehaves
// (experiments/tenant/chaos_tenant.h) makes its host see, and when the host has had enough of it,
// by the deadlines of ProcessHost. The behaviour and its moment are those that the same seed gives
// on hardware. What only processes can do is left out: the process that "forks" leaves behind spins
// on no core here, and whoever breaks the protocol does it at once. Used by SimulatedHost on one
// thread.

#include <optional>
#include <string>

#include "engine/base/cpu_set.h"
#include "experiments/wire/chaos_plan.h"

namespace cosched {

class ChaosModel {
 public:
  // revocation_deadline: of a tenant that was told to leave cores and has not; machine: all its
  // cores.
  ChaosModel(const TenantSpec& spec, const Job& job, Split threads, Duration revocation_deadline,
             CpuSet machine);

  // The host ends it so much later, for that reason.
  struct End {
    Duration after{0};
    std::string reason;
  };
  std::optional<End> AtStart() const;
  Duration Moment() const { return plan_.moment; }  // From its being up.
  // The tenant's moment has come, on these cores.
  std::optional<End> Misbehave(const CpuSet& cores);
  // The tenant is told to be elsewhere while it is up.
  std::optional<End> Move(const CpuSet& leaves);
  bool Follows() const;          // Else the move that it was told of never settles.
  bool Computes() const;         // Steps, while it has cores.
  int Threads(int awake) const;  // So many threads are awake, in place of `awake`.
  End Finish();                  // All steps are done; reason "" = it finishes.

 private:
  bool Is(std::string_view behaviour) const { return plan_.behaviour == behaviour; }

  ChaosPlan plan_;
  const bool malleable_;
  const int greedy_threads_;
  const Duration revocation_deadline_;
  const CpuSet machine_;
  bool misbehaved_ = false;
};

}  // namespace cosched
