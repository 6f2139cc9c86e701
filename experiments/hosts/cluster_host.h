#pragma once
// Real tenants on several nodes: the cores of each are an agent's (node_agent.h), which runs a
// ProcessHost for the jobs there and does what it is asked (host_protocol.h). One thread uses it,
// the harness's.
//
//   A job belongs to the node whose cores it is started on, and stays there: a process can't be
//   moved to another machine. One that is to, or that is given cores of several nodes, fails. The
//   nodes' cores are numbered as one machine's, which they are where several "nodes" are one.
//
//   An agent that is lost (killed, or its machine or network is gone) takes its jobs with it: they
//   fail, and so does every job that is started there later; the rest goes on. Its tenants are
//   killed by its own guard, or by the end of its machine; nobody here can look. When this process
//   ends, however it does, the connections end, and the agents kill their tenants and end too.
//
//   Times that agents tell are converted by the round trip to each that was the shortest of some,
//   before the clock starts; at the end of the cell that is tried again, and what has moved, or was
//   not known well, is told in a mark.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "experiments/hosts/observed_host.h"
#include "experiments/hosts/process_host.h"

namespace cosched {

class ClusterHost : public ObservedHost {
 public:
  struct Node {
    std::string name;
    CpuSet cores;
    // Goes before the command of its agent: srun and its options; none = on this machine.
    std::vector<std::string> launcher = {};
  };
  struct Options {
    std::vector<Node> nodes;  // Names and cores are different.
    bool local = false;       // All are this machine; nobody else can connect.
    // Of each agent's host; binary is that of agents, too, and every node sees log_directory.
    // topology, cores and wake are the agent's affair.
    ProcessHost::Options tenants;
    Duration connect_timeout = std::chrono::seconds(60);
    // An agent that has left a question unanswered for so long is lost.
    Duration answer_timeout = std::chrono::seconds(20);
  };

  // Throws InputError if an agent does not come.
  explicit ClusterHost(const Options& options);
  ~ClusterHost() override;  // Waits for the end of the agents, and so of all tenants.

  const Clock& GetClock() const override;
  void Start(const Job& job, const Place& place) override;
  void Grant(JobId job, const Place& place) override;
  void Pause(JobId job) override;
  void Stop(JobId job) override;
  // Requests travel at the next NextEvent.
  void Send(const ServerId& server, const Request& request) override;
  void Drain(JobId job) override;
  double Progress(JobId job) const override;  // As the agent told it last.
  std::optional<HostEvent> NextEvent(TimePoint deadline) override;

  void Describe(JobId job, const TenantSpec& spec) override;
  std::vector<TenantSample> Sample() override;
  std::vector<StepSample> TakeSteps() override;
  std::vector<ResizeSample> TakeResizes() override;
  std::vector<ActuationSample> TakeActuations() override;
  std::vector<MemoryMove> TakeMemoryMoves() override;
  std::vector<RequestSample> TakeRequests() override;
  Duration CpuTime(JobId job) override;  // As the agent told it last.
  PipelineCounters Pipeline(JobId job) override;
  void WakeAtAnswers(bool wanted) override;
  std::vector<std::string> TakeMarks() override;
  TimeByCore BusyTimes() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
