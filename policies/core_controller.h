#pragma once
// What controllers of services' cores have in common (ROMA: Baresi, Quattrocchi, Rasi, ICSOC 2021,
// and its successors): after each window every instance of a service says how many cores it wants
// from now on, by what it and its service did; what the instances of a node want is put on a grid,
// within their bounds, and made to fit the node. Other jobs share what services leave, evenly. A
// controller is a class of instances, and a few lines of its PolicyInfo. One thread.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policies/node_jobs.h"
#include "policies/policy.h"

namespace cosched {

// One instance's window that is over.
struct InstanceWindow {
  const JobView& job;
  const ServiceView& service;
  const ServerWindow& server;  // What this instance did for it.
  double objective_s = 0;      // Mean response to aim at; > 0 if the policy needs objectives.
  double length_s = 0;
};

// The controller of one instance.
class InstanceController {
 public:
  virtual ~InstanceController() = default;
  // Cores that it wants from now on; what it gets follows with Got.
  virtual double Next(const InstanceWindow& window) = 0;
  // On the grid, within its bounds, and beside the others of its node.
  virtual void Got(double cores) = 0;
};

// PI in velocity form, c += B (e - e') + D e, which is ROMA's x' = c - B e with c = x + B e + D e:
// it goes on from the cores that were actuated, so it never winds up.
class VelocityLaw {
 public:
  VelocityLaw(double b, double d) : b_(b), d_(d) {}
  // Cores for that error, on top of what was actuated.
  double Next(double error) {
    return cores_ + b_ * (error - std::exchange(error_, error)) + d_ * error;
  }
  void Got(double cores) { cores_ = cores; }
  void Rest() { error_ = 0; }  // Nothing was there to control.

 private:
  const double b_, d_;
  double cores_ = 0;
  double error_ = 0;
};

// How wanted cores become amounts.
struct ControllerLimits {
  CpuShare least{100};   // Of an instance. The most is its max.
  CpuShare grid{100};    // Amounts are multiples of it, or of less where they must be cut to fit.
  bool nearest = false;  // Rounded to the grid; else up.
  CpuShare initial{0};   // Until an instance is first controlled; its least if that is more.
  double aim = 1;        // Part of an objective that is aimed at: room for windows worse than it.
  bool lanes = false;    // Each core computes requests of its own; else all of them one at a time.
};

class CoreController final : public Policy {
 public:
  using MakeInstance = std::function<std::unique_ptr<InstanceController>()>;
  CoreController(const ControllerLimits& limits, MakeInstance make)
      : limits_(limits), make_(std::move(make)) {}

  Allocation Decide(const MachineView& view, const Event& event) override;

 private:
  struct Instance {
    JobId job;
    std::unique_ptr<InstanceController> controller;  // Null for a job that is no instance.
    CpuShare wanted;                                 // On the grid, within its bounds.
    bool has_news = false;
  };
  void Follow(const std::vector<const JobView*>& by_rank);
  void Listen(const MachineView& view, const std::vector<const JobView*>& by_rank);
  size_t RankOf(JobId id, size_t near) const;
  CpuShare OnGrid(double cores, const JobView& job) const;
  void FillNode(int node, CpuShare all, std::span<const NodeJob> jobs);
  void Give(const NodeJob& to, CpuShare amount, int node);
  Allocation Given(const std::vector<const JobView*>& by_rank) const;

  const ControllerLimits limits_;
  const MakeInstance make_;
  std::vector<Instance> instances_;  // By rank (NodeJob::rank), and so by id.
  // Of one decision; members keep their memory.
  std::vector<std::optional<Share>> given_;  // By rank; none = the job stays as it is.
  std::vector<NodeJob> served_, others_;     // Of a node.
  std::vector<CpuShare> amounts_;            // Of the served ones.
};

// Cuts amounts that add up to more than `room` in proportion, up to the grid; what that is too much
// is taken from the largest. REQUIRES: room >= 0.
void FitAmounts(CpuShare room, CpuShare grid, std::vector<CpuShare>* amounts);

}  // namespace cosched
