#include "workloads/pipelines/pipeline_choice.h"

#include "engine/base/check.h"

namespace cosched {
namespace {

constexpr const char* kIncrement = "increment";

std::string TimeOfStage(const IncrementSettings& increment) {
  if (increment.wait.count() > 0) return std::to_string(increment.wait.count()) + " us of waiting";
  return std::to_string(increment.work.count()) + " us";
}

}  // namespace

std::string PipelineNames() { return kIncrement; }

bool IsPipelineName(const std::string& name) { return name == kIncrement; }

std::string PipelineProgramName(const PipelineChoice& choice) {
  const IncrementSettings& increment = choice.increment;
  return choice.application + " pipeline, " + std::to_string(increment.stages) + " stages of " +
         TimeOfStage(increment) + ", " + std::to_string(increment.items) + " items";
}

PipelineProgram MakePipelineProgram(const PipelineChoice& choice) {
  CHECK(IsPipelineName(choice.application)) << "there is no pipeline " << choice.application;
  IncrementSettings settings = choice.increment;
  settings.open = choice.open;
  return MakeIncrement(settings);
}

}  // namespace cosched
