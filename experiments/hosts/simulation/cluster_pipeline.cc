#include "experiments/hosts/simulation/cluster_pipeline.h"

#include <utility>

namespace cosched {

PipelineModel::Settings SimulatedPipelineSettings(const PipelineChoice& choice, int cores,
                                                  const std::vector<StageProfile>& stages) {
  PipelineModel::Settings settings{.spec = PipelineSpecOf(choice, cores)};
  for (const StageProfile& stage : stages) settings.costs.push_back(stage.cost);
  return settings;
}

int CoresOf(const ClusterSettings& cluster) {
  int cores = 0;
  for (const ClusterSettings::Group& group : cluster.groups) cores += group.count * group.cores;
  return cores;
}

void ClusterPipeline::Submit(int64_t number, int64_t items, TimePoint now) {
  if (begun_) return cluster_.Submit(number, items, now);
  early_.push_back({number, items, now});
}

void ClusterPipeline::SetOpenRequests(int count, TimePoint now) {
  cluster_.SetOpenRequests(count, now);
}

void ClusterPipeline::Resize(double cores, Split split, TimePoint now) {
  threads_ = cores > 0 ? ThreadsOf(split) : 0;
  if (begun_ || threads_ == 0) return;
  begun_ = true;
  for (const Early& request : std::exchange(early_, {})) {
    submitted_[request.number] = request.submitted;
    cluster_.Submit(request.number, request.items, now);
  }
}

std::vector<SimulatedPipeline::Answer> ClusterPipeline::Take() {
  std::vector<Answer> answers = cluster_.Take();
  for (Answer& answer : answers) {
    const auto early = submitted_.find(answer.number);
    if (early == submitted_.end()) continue;
    answer.submitted = early->second;
    submitted_.erase(early);
  }
  return answers;
}

PipelineSample ClusterPipeline::Sample() const {
  PipelineSample sample = cluster_.Sample();
  sample.waiting += static_cast<int64_t>(early_.size());
  return sample;
}

}  // namespace cosched
