#pragma once
// A simulated pipeline that has the machines of [simulation.cluster] for itself. Its cores are
// theirs: a grant begins it, and neither its size, nor a pause, nor what goes on on the granted
// cores reaches them. One thread.

#include <map>
#include <vector>

#include "experiments/hosts/simulation/pipeline_cluster.h"
#include "experiments/hosts/simulation/simulated_pipeline.h"
#include "workloads/pipelines/pipeline_choice.h"
#include "workloads/profile.h"

namespace cosched {

// What a simulated pipeline with so many cores is, by the costs of a profile.
PipelineModel::Settings SimulatedPipelineSettings(const PipelineChoice& choice, int cores,
                                                  const std::vector<StageProfile>& stages);
int CoresOf(const ClusterSettings& cluster);  // All machines'.

class ClusterPipeline final : public SimulatedPipeline {
 public:
  // Throws InputError as PipelineCluster does.
  ClusterPipeline(const PipelineModel::Settings& settings, const ClusterSettings& cluster)
      : cluster_(settings, cluster) {}

  void Submit(int64_t number, int64_t items, TimePoint now) override;
  void SetOpenRequests(int count, TimePoint now) override;
  void Resize(double cores, Split split, TimePoint now) override;
  void SetSpeed(double /*speed*/, TimePoint /*now*/) override {}
  std::optional<TimePoint> NextEvent() const override { return cluster_.NextEvent(); }
  void Advance(TimePoint now) override { cluster_.Advance(now); }
  int Threads() const override { return Empty() ? 0 : threads_; }
  int OpenRequests() const override { return cluster_.Sample().open_requests; }
  bool Empty() const override { return early_.empty() && cluster_.Empty(); }
  std::vector<Answer> Take() override;
  PipelineSample Sample() const override;

 private:
  struct Early {
    int64_t number, items;
    TimePoint submitted;
  };

  PipelineCluster cluster_;
  bool begun_ = false;
  int threads_ = 0;
  std::vector<Early> early_;                // Requests from before it began …
  std::map<int64_t, TimePoint> submitted_;  // … and when they came, by number.
};

}  // namespace cosched
