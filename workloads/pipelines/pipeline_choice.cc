#include "workloads/pipelines/pipeline_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/check.h"

namespace cosched {
namespace {

std::string TimeOfStage(const IncrementSettings& increment) {
  std::string waiting = fmt::format("{} ms of waiting", ToSeconds(increment.wait) * 1e3);
  std::string work = fmt::format("{} ms", ToSeconds(increment.work) * 1e3);
  if (increment.wait.count() == 0) return work;
  return increment.work.count() == 0 ? waiting : waiting + " and " + work;
}

std::string NameOfFile(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

IncrementSettings IncrementOf(const PipelineChoice& choice) {
  IncrementSettings settings = choice.increment;
  settings.open = choice.open;
  return settings;
}

AlignSortSettings AlignSortOf(const PipelineChoice& choice, int threads) {
  AlignSortSettings settings = choice.align_sort;
  settings.open = choice.open;
  settings.threads = threads;
  return settings;
}

ClassifySettings ClassifyOf(const PipelineChoice& choice, int threads) {
  ClassifySettings settings = choice.classify;
  settings.open = choice.open;
  settings.threads = threads;
  return settings;
}

const char* Plural(int64_t count) { return count == 1 ? "" : "s"; }

std::string NameOfAlignSort(const AlignSortSettings& align_sort) {
  std::string reads;
  for (const std::vector<std::string>& files : align_sort.reads) {
    for (const std::string& file : files) reads += " " + NameOfFile(file);
  }
  return fmt::format("align-sort pipeline,{} to {}, chunks of {}, level {}", reads,
                     NameOfFile(align_sort.reference), align_sort.chunk_reads,
                     align_sort.compression);
}

std::string NameOfClassify(const ClassifySettings& classify) {
  const std::filesystem::path folder = classify.images;
  // Folders that are called alike hold other images.
  const std::string images =
      classify.images.empty()
          ? "that were made"
          : fmt::format("of {}/{}", NameOfFile(folder.parent_path()), NameOfFile(folder));
  return fmt::format("classify pipeline, {} in {} part{}, {} image{} {}, batches of {}",
                     classify.model, classify.parts, Plural(classify.parts), classify.items,
                     Plural(classify.items), images, classify.batch);
}

}  // namespace

std::string PipelineNames() {
  return fmt::format("{}, {}, {}", kIncrementName, kAlignSortName, kClassifyName);
}

bool IsPipelineName(const std::string& name) {
  return name == kIncrementName || name == kAlignSortName || name == kClassifyName;
}

std::string PipelineLacks([[maybe_unused]] const std::string& application) {
#ifdef COSCHED_GENOMICS_MISSING
  if (application == kAlignSortName) return COSCHED_GENOMICS_MISSING;
#endif
#ifdef COSCHED_IMAGES_MISSING
  if (application == kClassifyName) return COSCHED_IMAGES_MISSING;
#endif
  return "";
}

std::string PipelineProgramName(const PipelineChoice& choice) {
  if (choice.application == kAlignSortName) return NameOfAlignSort(choice.align_sort);
  if (choice.application == kClassifyName) return NameOfClassify(choice.classify);
  const IncrementSettings& increment = choice.increment;
  std::string name = fmt::format("{} pipeline, {} stage{} of {}, {} item{}", choice.application,
                                 increment.stages, Plural(increment.stages), TimeOfStage(increment),
                                 increment.items, Plural(increment.items));
  if (increment.merge.count() == 0) return name;
  return fmt::format("{}, merged in {} ms", name, ToSeconds(increment.merge) * 1e3);
}

PipelineSpec PipelineSpecOf(const PipelineChoice& choice, int threads) {
  CHECK(IsPipelineName(choice.application)) << "there is no pipeline " << choice.application;
  if (choice.application == kAlignSortName) return AlignSortSpec(AlignSortOf(choice, threads));
  if (choice.application == kClassifyName) return ClassifySpec(ClassifyOf(choice, threads));
  return MakeIncrement(IncrementOf(choice)).spec;
}

bool PipelineTravels(const PipelineChoice& choice) {
  if (choice.application == kAlignSortName) return true;
  if (choice.application == kClassifyName) return false;
  const PipelineProgram program = MakeIncrement(IncrementOf(choice));
  return std::ranges::any_of(program.travels,
                             [](const auto& travel) { return travel.has_value(); });
}

int64_t PipelineItems(const PipelineChoice& choice, double work) {
  if (choice.application == kAlignSortName) return 1;  // A pair of files.
  if (choice.application == kClassifyName) return ClassifyItems(choice.classify, work);
  return IncrementItems(choice.increment, work);
}

std::vector<std::string> PipelineStages(const PipelineChoice& choice) {
  std::vector<std::string> names;
  for (const StageSpec& stage : PipelineSpecOf(choice).stages) names.push_back(stage.name);
  return names;
}

PipelineProgram MakePipelineProgram(const PipelineChoice& choice, int threads,
                                    const SessionOptions& session) {
  CHECK(IsPipelineName(choice.application)) << "there is no pipeline " << choice.application;
  if (choice.application == kAlignSortName) return MakeAlignSort(AlignSortOf(choice, threads));
  if (choice.application == kClassifyName)
    return MakeClassify(ClassifyOf(choice, threads), session).program;
  return MakeIncrement(IncrementOf(choice));
}

}  // namespace cosched
