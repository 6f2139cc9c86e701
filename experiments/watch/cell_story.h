#pragma once
// All that is recorded of one cell, kept in memory, and what could be seen at any instant of it.
// Rows are added as they are read, also while the cell runs. Takes about as much memory as the
// files. Used by `cosched watch` on one thread; reads no files.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "experiments/records/live_records.h"
#include "experiments/records/rows.h"
#include "experiments/watch/cell_moment.h"
#include "experiments/watch/service_story.h"

namespace cosched {

class CellStory {
 public:
  // Grants before the rest.
  void Add(const GrantRow& row);
  void Add(const SubmittedRow& row);
  void Add(const JobRow& row);
  void Add(const SampleRow& row);
  void Add(const DecisionRow& row);
  void Add(const RequestRow& row);
  void Add(const QueueRow& row);
  // The cell is over: every request has its row.
  void SetWhole() { whole_ = true; }

  bool Empty() const { return jobs_.empty() && services_.empty(); }
  double End() const { return end_; }  // The latest time that a row tells of; seconds.
  // REQUIRES: time >= 0. What is later than the latest row is as it was then.
  CellMoment At(double time, size_t most_decisions, size_t most_waiting) const;

 private:
  struct Hold {  // From then on.
    double time = 0;
    CpuSet cores;
    double amount = 0;
    int threads = 0;
  };
  struct Sample {
    double time = 0;
    int64_t steps = 0, images = 0;
    int runnable = 0;
    Hold held = {};  // Where grants were not recorded.
  };
  struct StoryJob {
    int64_t id = 0;
    std::string workload = {};
    std::optional<double> came = {}, started = {}, ended = {};
    bool lost = false;
    bool serves = false;
    std::optional<int64_t> all_steps = {};
    std::vector<Hold> holds = {};
    std::vector<Sample> samples = {};
    std::vector<double> answers = {};  // When it answered a request.
  };
  struct StoryDecision {
    int64_t number = 0;
    double time = 0;
    std::string event, allocation;
  };

  StoryJob& JobOf(int64_t id);
  const StoryJob* Find(int64_t id) const;
  ServiceStory& ServiceOf(std::string_view name);
  void Saw(double time);
  void TellTenant(const StoryJob& job, double time, size_t most_waiting, CellMoment* moment) const;
  void TellDecisions(double time, size_t most, CellMoment* moment) const;
  std::optional<DecisionMoment> Untold(double time) const;
  std::string MovesOf(const StoryDecision& decision) const;
  static std::string MoveOf(const StoryJob* job, double time, int64_t id, const std::string& what);
  static const Hold* HoldAt(const StoryJob& job, double time);
  static const Sample* SampleAt(const StoryJob& job, double time);
  static std::optional<double> RunnableAt(const StoryJob& job, double time, double since);
  static void TellSpeed(const StoryJob& job, double time, TenantMoment* tenant);
  static Hold FromRow(const SampleRow& row);

  std::vector<StoryJob> jobs_;  // As they came.
  std::unordered_map<int64_t, size_t> index_;
  std::map<std::string, ServiceStory, std::less<>> services_;
  std::vector<StoryDecision> decisions_;  // By number.
  bool has_grants_ = false;
  bool whole_ = false;
  double end_ = 0;
};

}  // namespace cosched
