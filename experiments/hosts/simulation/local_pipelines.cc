#include "experiments/hosts/simulation/local_pipelines.h"

#include <algorithm>

#include "engine/gates/pipeline_layout.h"

namespace cosched {
namespace {

LocalPipelines::Section SectionFrom(const PipelineLayout& layout, int first) {
  const PipelineLayout::Level& level = layout.LevelAt(layout.At(first).call_level);
  const std::vector<StageSpec>& stages = layout.spec.stages;
  LocalPipelines::Section section{.first = first, .end = level.join};
  section.spec.stages.assign(stages.begin() + first, stages.begin() + level.join);
  const StageSpec& partition = stages[static_cast<size_t>(first)];
  section.spec.link = partition.inner_link;
  section.spec.open = section.spec.open_max = partition.inner_open;
  // Its call has the whole of a partition, as it would have had as the stage that makes partitions.
  section.spec.stages.front().from = {.name = partition.from.name, .hands = Gate::Hands::kWhole};
  section.spec.stages.front().joins = 0;
  return section;
}

// The gate makes batches of what was partitions, and the stage anything of them, beside no core.
StageSpec SectionStage(const StageSpec& partition) {
  StageSpec stage = partition;
  stage.from.hands = Gate::Hands::kMany;
  stage.joins = 0;
  stage.parallel = 0;
  stage.waits = true;
  stage.emits_many = true;
  return stage;
}

}  // namespace

LocalPipelines CutLocalPipelines(const PipelineSpec& spec) {
  const PipelineLayout layout(spec);
  LocalPipelines cut{.outer = spec};
  cut.outer.stages.clear();
  for (int stage = 0; stage < layout.Egress();) {
    cut.first.push_back(stage);
    if (!layout.Partitions(stage)) {
      cut.section_of.push_back(-1);
      cut.outer.stages.push_back(layout.Stage(stage));
      cut.outer.stages.back().joins = 0;
      ++stage;
      continue;
    }
    cut.section_of.push_back(static_cast<int>(cut.sections.size()));
    cut.sections.push_back(SectionFrom(layout, stage));
    cut.outer.stages.push_back(SectionStage(layout.Stage(stage)));
    stage = cut.sections.back().end;
  }
  return cut;
}

}  // namespace cosched
