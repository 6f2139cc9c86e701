#include "workloads/pipelines/classify.h"

#include <cmath>

#include "engine/base/error.h"

namespace cosched {

int64_t ClassifyItems(const ClassifySettings& settings, double work) {
  return std::llround(static_cast<double>(settings.items) * work);
}

}  // namespace cosched

#ifdef COSCHED_IMAGES_MISSING

namespace cosched {
namespace {

[[noreturn]] void FailWithoutImages() {
  throw InputError({.key = kClassifyName,
                    .problem = "is not in this build of cosched, which lacked " +
                               std::string(COSCHED_IMAGES_MISSING),
                    .allowed = "a build where they are installed"});
}

}  // namespace

PipelineSpec ClassifySpec(const ClassifySettings& /*settings*/) { FailWithoutImages(); }

void CheckClassify(const ClassifySettings& /*settings*/) { FailWithoutImages(); }

ClassifyProgram MakeClassify(const ClassifySettings& /*settings*/,
                             const SessionOptions& /*session*/) {
  FailWithoutImages();
}

std::vector<RankedClasses> ClassesOf(const std::vector<Payload>& /*answer*/) { return {}; }

}  // namespace cosched

#else

#include <limits>
#include <utility>

#include "engine/gates/graph_stage.h"
#include "engine/graph/optimizer.h"
#include "engine/graph/partition.h"
#include "engine/session/cost.h"
#include "workloads/batch_networks.h"
#include "workloads/images/image_files.h"
#include "workloads/model.h"
#include "workloads/pipelines/classify_stages.h"

namespace cosched {
namespace {

constexpr int kFilesAtOnce = 4;

void RequireBetween(const std::string& key, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return;
  throw InputError({.key = key,
                    .problem = std::to_string(value),
                    .allowed = std::to_string(low) + " to " + std::to_string(high)});
}

void RequireSettings(const ClassifySettings& settings) {
  RequireBetween("parts", settings.parts, 1, kMostClassifyParts);
  RequireBetween("items", settings.items, 0, kMostClassifyItems);
  RequireBetween("batch", settings.batch, 1, kMostClassifyBatch);
  RequireBetween("threads", settings.threads, 1, 1 << 16);
}

[[noreturn]] void RefuseModel(const ClassifySettings& settings, const std::string& problem,
                              const std::string& allowed) {
  throw InputError({.key = "model", .problem = settings.model + " " + problem, .allowed = allowed});
}

std::shared_ptr<const ModelInfo> OpenClassifier(const ClassifySettings& settings) {
  auto model = OpenModel(settings.model);
  const int64_t channels = model->image[2];
  if (channels != 1 && channels != 3) {
    RefuseModel(settings, "takes images of " + std::to_string(channels) + " channels",
                "a model that takes grey or coloured ones");
  }
  return model;
}

// Uncut, for all sizes up to that batch. Slices of a batch are made of the parts.
BatchNetworks UncutNetworks(const ClassifySettings& settings, const ModelInfo& model, int batch,
                            const std::string& weights_file) {
  ProgramSpec program;
  program.batch = batch;
  program.seed = settings.seed;
  BatchNetworks networks = MakeBatchNetworks(
      model, program,
      {.weights_file = weights_file, .slicing = {.bytes = std::numeric_limits<int64_t>::max()}});
  const Graph& graph = networks.graph;
  const NetworkEnds& ends = networks.ends.back();
  const std::string scores = ends.fetch.substr(0, ends.fetch.find(':'));
  const Shape& shape = graph.Info({graph.Find(scores), 0}).shape;
  if (shape.Rank() != 2 || shape[0] != networks.sizes.back())
    RefuseModel(settings, "tells of each pixel", "a model that tells of images");
  return networks;
}

std::shared_ptr<const GraphPart> Sliced(const GraphPart& part) {
  auto sliced = std::make_shared<GraphPart>();
  std::vector<std::string> fetches;
  for (const NetworkEnds& ends : part.networks) fetches.push_back(ends.fetch);
  OptimizeForInference(part.graph, fetches, /*variables=*/{}, &sliced->graph);
  sliced->graph.Build();
  sliced->networks = part.networks;
  return sliced;
}

PipelineSpec SpecOfClassify(const ClassifySettings& settings) {
  const OpenRequests& open = settings.open;
  PipelineSpec spec{.link = open.link, .open = open.open, .open_max = open.open_max};
  // Of each request as many items may wait as calls may want one at once, and one more; and a batch,
  // with what those that gather the next one want.
  const int64_t room = (int64_t{settings.threads} + 1) * spec.open_max;
  const int64_t room_for_batches = 2 * int64_t{settings.batch} * spec.open_max + room;
  spec.stages = {
      {.name = "read", .from = {.in_order = true}, .parallel = kFilesAtOnce, .waits = true},
      {.name = "decode", .from = {.items = room, .in_order = true}},
      {.name = "preprocess", .from = {.items = room, .in_order = true}},
  };
  for (int part = 1; part <= settings.parts; ++part)
    spec.stages.push_back({.name = "part" + std::to_string(part), .from = {.items = room}});
  spec.stages[3].from = {.hands = Gate::Hands::kMany,
                         .batch = settings.batch,
                         .items = room_for_batches,
                         .in_order = true};
  spec.stages.push_back({.name = "top5", .from = {.items = room}});
  for (StageSpec& stage : spec.stages) stage.from.name = stage.name;
  return spec;
}

std::vector<ImageSource> SourcesOf(const ClassifySettings& settings) {
  if (settings.images.empty()) return MakeImages(settings.seed);
  std::vector<ImageSource> sources;
  for (std::string& file : ImageFilesOf(settings.images))
    sources.push_back({.name = std::move(file), .bytes = {}});
  return sources;
}

}  // namespace

PipelineSpec ClassifySpec(const ClassifySettings& settings) {
  RequireSettings(settings);
  return SpecOfClassify(settings);
}

void CheckClassify(const ClassifySettings& settings) {
  RequireSettings(settings);
  if (!settings.images.empty()) ImageFilesOf(settings.images);
  const BatchNetworks networks =
      UncutNetworks(settings, *OpenClassifier(settings), /*batch=*/1, /*weights_file=*/"");
  RequireBetween("parts", settings.parts, 1, MostParts(networks.graph, networks.ends));
}

ClassifyProgram MakeClassify(const ClassifySettings& settings, const SessionOptions& session) {
  PipelineProgram program;
  program.spec = ClassifySpec(settings);
  const auto model = OpenClassifier(settings);
  const BatchNetworks networks =
      UncutNetworks(settings, *model, settings.batch, settings.weights_file);
  const auto common = std::make_shared<ClassifyCommon>();
  common->image = model->image;
  common->progress = settings.progress ? settings.progress : std::make_shared<ClassifyProgress>();
  common->sources = SourcesOf(settings);
  for (const ClassifyStage stage :
       {ClassifyStage::kRead, ClassifyStage::kDecode, ClassifyStage::kPreprocess})
    program.stages.push_back(MakeClassifyStage(stage, common));
  for (const GraphPart& part :
       PartitionGraph(networks.graph, networks.ends, settings.parts, EstimateCost)) {
    program.stages.push_back([part = Sliced(part), session] {
      return MakeGraphStage(part, session, GraphEmits::kRuns);
    });
  }
  program.stages.push_back(MakeClassifyStage(ClassifyStage::kRank, common));
  program.travels.resize(program.stages.size());
  program.items = [common, settings](int64_t number, double work) {
    const size_t first = static_cast<size_t>(number * settings.items);
    const auto count = static_cast<size_t>(ClassifyItems(settings, work));
    std::vector<Payload> items;
    for (size_t i = first; i < first + count; ++i)
      items.push_back(Payload::Of(common->sources[i % common->sources.size()], 0));
    return items;
  };
  ClassifyProgram all{.program = std::move(program), .images = {}};
  for (const ImageSource& source : common->sources) all.images.push_back(source.name);
  return all;
}

std::vector<RankedClasses> ClassesOf(const std::vector<Payload>& answer) {
  std::vector<RankedClasses> all;
  for (const Payload& payload : answer) {
    const auto& some = payload.As<std::vector<RankedClasses> >();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace cosched

#endif
