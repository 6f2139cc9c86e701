#pragma once
// Pipelines for tests of the simulator: stages in a row, and a model that is driven event by event.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/hosts/simulation/pipeline_model.h"

namespace cosched::testing {

// Sums and ends of whole ticks are exact in floating point and in nanoseconds.
constexpr Duration kTick{1'953'125};
constexpr double kTickSeconds = 1.0 / 512;

inline TimePoint Ticks(int64_t count) { return TimePoint(count * kTick); }

// Stages 0, 1, … that each make one item of one, with one call at once.
struct Row {
  explicit Row(const std::vector<double>& seconds, int open = 1) {
    for (const double each : seconds) Add(each);
    settings.spec.open = settings.spec.open_max = open;
    settings.spec.link = CreditLink::kEndToEnd;
  }
  void Add(double seconds) {
    StageSpec stage;
    stage.name = stage.from.name = "s" + std::to_string(settings.spec.stages.size());
    stage.parallel = 1;
    settings.spec.stages.push_back(stage);
    settings.costs.push_back({.per_item_s = seconds});
  }
  StageSpec& Stage(size_t stage) { return settings.spec.stages[stage]; }
  StageCost& Cost(size_t stage) { return settings.costs[stage]; }
  Row& Exponential() {
    for (StageCost& cost : settings.costs) {
      cost.distribution = StageCost::Distribution::kExponential;
    }
    return *this;
  }

  PipelineModel::Settings settings;
};

// Until nothing happens any more, or `until`; `each` is called after every event.
inline void RunUntil(
    PipelineModel* model, TimePoint until = TimePoint::max(),
    const std::function<void(TimePoint)>& each = [](TimePoint) {}) {
  while (const auto next = model->NextEvent()) {
    if (*next > until) return;
    model->Advance(*next);
    each(*next);
  }
}

// So many requests of one item at once, of which as many are inside as may be.
inline std::vector<PipelineModel::Answer> AnswersOf(PipelineModel* model, int requests) {
  for (int i = 0; i < requests; ++i) model->Submit(i, 1, TimePoint());
  RunUntil(model);
  return model->Take();
}

}  // namespace cosched::testing
