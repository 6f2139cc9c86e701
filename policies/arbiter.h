#pragma once
// The arbiter stands between a Policy, which only decides, and a Host, which only obeys. On each
// event it asks the policy, times the answer, checks it, revokes before it grants (a core passes to
// B only when the host has confirmed that A has left it), places counts on concrete cores, and
// tells the observer. Called by the harness on one thread; the same on hardware and in the
// simulator.
//
// Invariants, always on (a violation by the policy throws PolicyError; by ourselves, CHECK): every
// core has at most one exclusive owner, or belongs to a node whose sharers' amounts together are
// never more than its cores, also while they change; grants stay within the machine unless the
// policy declares itself oversubscribing; min <= grant <= max; every submitted job ends exactly
// once; time never goes back.

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "policies/host.h"
#include "policies/policy.h"

namespace cosched {

// The policy broke its contract: the cell fails with this reason, the run goes on.
class PolicyError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the arbiter tells of itself, as it happens; implemented by the records. Every call carries
// the host's time.
class ArbiterObserver {
 public:
  virtual ~ArbiterObserver() = default;
  // time: when the arbiter got it, which may be later than its arrival.
  virtual void OnSubmitted(TimePoint time, const Job& job) = 0;
  // Whether OnDecision shall be called: what it is told costs time to write down.
  virtual bool WantsDecisions() const { return true; }
  // Once per call of Policy::Decide. event: "job-arrived 3"; allocation: "3=0-1 2=pause" ("" =
  // nothing changed). settle is zero here; OnSettled tells when what was decided is in place.
  virtual void OnDecision(TimePoint time, int64_t decision, const std::string& event,
                          const std::string& allocation, Duration decision_time) = 0;
  virtual void OnStarted(TimePoint time, JobId job, const Place& place) = 0;
  // A running job's place changes, maybe to none (paused). Told when the host is asked, before it
  // settles.
  virtual void OnGrant(TimePoint time, JobId job, const Place& place) = 0;
  // The job is where its latest grant wants it; since = time since the decision that granted it.
  virtual void OnSettled(TimePoint time, JobId job, const Place& place, int64_t decision,
                         Duration since) = 0;
  virtual void OnEnded(TimePoint time, JobId job, JobEnd end, const std::string& reason) = 0;
};

class Arbiter {
 public:
  // All references outlive the arbiter. cores: what the experiment may use, within the topology.
  // oversubscribes, on_settled: as in the policy's PolicyInfo. nodes: disjoint parts of the cores,
  // for shares and for jobs that must stay in one; none = one of all cores.
  Arbiter(Policy& policy, bool oversubscribes, Host& host, const Topology& topology, CpuSet cores,
          ArbiterObserver& observer, bool on_settled = true, std::vector<CpuSet> nodes = {});
  ~Arbiter();

  // REQUIRES: ids grow from one submission to the next, and the job's arrival, if it has one, has
  // come.
  void Submit(const Job& job);
  // Of a job; a lost device is its dispatcher's affair.
  void Handle(const HostEvent& event);
  void Tick();
  // What the policy sees of them from its next decision on.
  void SetServices(std::vector<ServiceView> services, std::vector<DeviceView> devices = {});
  void WindowOver();
  void ObjectiveChanged(ServiceId service);
  // Ends every job that has not ended: running ones are stopped. For an interrupt, or a cell that
  // failed.
  void EndAll(JobEnd end, const std::string& reason);

  // Jobs submitted and not ended, by state. A cell is done when all arrivals have been submitted
  // and Waiting() + Started() is 0; if Started() is 0, nothing is in transition and jobs still wait
  // with no arrival to come, it can never drain.
  int Waiting() const;
  int Started() const;
  int Running() const;        // Started jobs that are not paused.
  bool InTransition() const;  // A revocation or grant has not settled.
  // The host was told to start it, and it has not ended: a service can be sent requests.
  bool IsAtHost(JobId job) const;
  // As of now; changes with every call that is not const.
  const MachineView& View() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
