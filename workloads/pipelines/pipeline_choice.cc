#include "workloads/pipelines/pipeline_choice.h"

#include <fmt/format.h>

#include "engine/base/check.h"

namespace cosched {
namespace {

constexpr const char* kIncrement = "increment";

std::string TimeOfStage(const IncrementSettings& increment) {
  if (increment.wait.count() > 0)
    return fmt::format("{} ms of waiting", ToSeconds(increment.wait) * 1e3);
  return fmt::format("{} ms", ToSeconds(increment.work) * 1e3);
}

}  // namespace

std::string PipelineNames() { return kIncrement; }

bool IsPipelineName(const std::string& name) { return name == kIncrement; }

std::string PipelineProgramName(const PipelineChoice& choice) {
  const IncrementSettings& increment = choice.increment;
  return fmt::format("{} pipeline, {} stages of {}, {} items", choice.application, increment.stages,
                     TimeOfStage(increment), increment.items);
}

PipelineSpec PipelineSpecOf(const PipelineChoice& choice) {
  return MakePipelineProgram(choice).spec;
}

std::vector<std::string> PipelineStages(const PipelineChoice& choice) {
  std::vector<std::string> names;
  for (const StageSpec& stage : PipelineSpecOf(choice).stages) names.push_back(stage.name);
  return names;
}

PipelineProgram MakePipelineProgram(const PipelineChoice& choice) {
  CHECK(IsPipelineName(choice.application)) << "there is no pipeline " << choice.application;
  IncrementSettings settings = choice.increment;
  settings.open = choice.open;
  return MakeIncrement(settings);
}

}  // namespace cosched
