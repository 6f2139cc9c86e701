#pragma once
// The agents of all nodes as ClusterHost sees them: their connections, questions and answers,
// whether they live, and what their clocks say. Made by ClusterHost. For one thread.
//
// Times of agents are converted to the cell's here, both ways. How far a clock is off is measured
// before the cell's own starts, by the shortest of some round trips, and kept for the cell, so that
// no time of one agent overtakes another of its.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"
#include "experiments/hosts/host_protocol.h"
#include "experiments/hosts/node_connections.h"

namespace cosched {

class AgentLinks {
 public:
  struct Options {
    AgentLaunches launches;
    std::vector<BeginCall> begins;  // By agent.
    Duration answer_timeout{0};     // One that has not answered for so long is lost.
  };
  // Called from within the functions below.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnObserved(size_t agent, ObservedReport report) = 0;
    virtual void OnEvent(size_t agent, const EventReport& report) = 0;
    virtual void OnLost(size_t agent, const std::string& why) = 0;  // Once; not before it began.
  };

  // Starts the agents and their hosts; then the clock starts. The listener outlives this. Throws
  // InputError if one does not come or can't begin.
  AgentLinks(Options options, Listener* listener);
  ~AgentLinks();  // Ends the connections, and waits for the agents.
  AgentLinks(const AgentLinks&) = delete;
  AgentLinks& operator=(const AgentLinks&) = delete;

  const Clock& clock() const { return *clock_; }
  size_t size() const { return agents_.size(); }
  const std::string& Name(size_t agent) const { return options_.launches.agents[agent].node; }
  const CpuSet& Cores(size_t agent) const { return options_.begins[agent].cores; }
  bool IsLost(size_t agent) const { return !agents_[agent].socket; }

  // To one that is lost nothing is sent.
  void Send(size_t agent, HostCall call);
  // Waits for the answer; nullopt if the agent is lost, by now at least.
  std::optional<AnswerReport> Ask(size_t agent, const std::string& what, JobId job = {});
  // All at once; the answers by agent.
  std::map<size_t, AnswerReport> AskAll(const std::string& what);
  // Sends and reads until something was read, or it is that time. False if a signal arrived.
  bool Pump(TimePoint until);
  // To be called after a Pump, once a second at least.
  void CheckLiveness();
  void Lose(size_t agent, const std::string& reason);
  // Clocks that were not known well, or have moved since.
  std::vector<std::string> ClockMarks();

 private:
  struct Agent {
    std::unique_ptr<AgentProcess> process;
    std::unique_ptr<FrameSocket> socket;      // Null: it is lost.
    std::optional<std::string> begun;         // Why its host is not there; "" = it is.
    Duration zero{0};                         // MonotonicNow() when its clock was 0 …
    Duration doubt{0};                        // … give or take that.
    std::map<int64_t, AnswerReport> answers;  // Not yet taken.
    int64_t liveness = 0;  // The question that shows that it lives; 0 = none is open.
    Duration liveness_sent{0};
  };

  void Begin();
  void SetClock(size_t agent);
  [[noreturn]] void Refuse(size_t agent, const std::string& problem);
  std::pair<Duration, Duration> MeasureClock(size_t agent);
  Duration ShiftOf(const Agent& agent) const { return agent.zero - epoch_; }
  bool PumpUntil(Duration monotonic);
  void ReadFrom(size_t agent);
  void Handle(size_t agent, AgentReport report);
  int64_t Pose(size_t agent, const std::string& what, JobId job);
  std::optional<AnswerReport> Await(size_t agent, int64_t question);

  const Options options_;
  Listener* const listener_;
  std::vector<Agent> agents_;
  std::optional<RealClock> clock_;
  Duration epoch_{0};  // MonotonicNow() at the clock's zero.
  int64_t last_question_ = 0;
};

}  // namespace cosched
