#include "workloads/pipelines/align_sort.h"

#include "engine/base/error.h"

#ifdef COSCHED_GENOMICS_MISSING

namespace cosched {
namespace {

[[noreturn]] void FailWithout() {
  throw InputError({.key = kAlignSortName,
                    .problem = "is not in this build of cosched, which lacked " +
                               std::string(COSCHED_GENOMICS_MISSING),
                    .allowed = "a build where they are installed"});
}

}  // namespace

PipelineSpec AlignSortSpec(const AlignSortSettings& /*settings*/) { FailWithout(); }

PipelineProgram MakeAlignSort(const AlignSortSettings& /*settings*/) { FailWithout(); }

}  // namespace cosched

#else

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "workloads/pipelines/align_sort_stages.h"

namespace cosched {
namespace {

void RefuseSetting(const std::string& key, const std::string& problem, const std::string& allowed) {
  throw InputError({.key = key, .problem = problem, .allowed = allowed});
}

void CheckBetween(const std::string& key, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return;
  RefuseSetting(key, std::to_string(value), std::to_string(low) + " to " + std::to_string(high));
}

const AlignSortSettings& CheckSettings(const AlignSortSettings& settings) {
  if (settings.reads.empty()) RefuseSetting("reads", "none", "one file, or two with mates");
  for (const std::vector<std::string>& paths : settings.reads) {
    if (paths.size() == 1 || paths.size() == 2) continue;
    RefuseSetting("reads", std::to_string(paths.size()) + " files", "one, or two with mates");
  }
  CheckBetween("chunk", settings.chunk_reads, 1, kMostChunkReads);
  CheckBetween("threads", settings.threads, 1, 1 << 16);
  CheckBetween("level", settings.compression, 0, kMostCompression);
  CheckBetween("memory_mib", settings.memory_mib, 0, kMostMemoryMib);
  return settings;
}

// What the output depends on, and no more: files of equal content are to be equal.
std::string CommandLineOf(const AlignSortSettings& settings) {
  std::string line = "cosched pipeline run align-sort --reference " + settings.reference;
  for (const std::vector<std::string>& paths : settings.reads) {
    line += " --reads";
    for (const std::string& path : paths) line += " " + path;
  }
  return line;
}

// Requests whose sorted records may be there at once: with linear credits those that collect runs,
// and as many that are merged.
int64_t RequestsWithRuns(const OpenRequests& open) {
  return int64_t{open.open_max} * (open.link == CreditLink::kLinear ? 2 : 1);
}

PipelineSpec SpecOf(const AlignSortSettings& settings) {
  using Hands = Gate::Hands;
  PipelineSpec spec{
      .link = settings.open.link, .open = settings.open.open, .open_max = settings.open.open_max};
  // Of each request as many items may wait as calls may want one at once, and one more; those that
  // calls will emit count, so less would keep threads from the work.
  const int64_t room = (int64_t{settings.threads} + 1) * spec.open_max;
  spec.stages = {
      {.name = "split", .from = {.hands = Hands::kWhole}, .emits_many = true},
      {.name = "align", .from = {.items = room}},
      {.name = "sort", .from = {.items = room}},
      // Runs are added to those of their request one after the other.
      {.name = "collect", .from = {.items = room}, .parallel = 1},
      {.name = "merge", .from = {.hands = Hands::kWhole}, .emits_many = true},
      {.name = "compress", .from = {.items = room}},
      // Blocks are written in the order in which they were merged.
      {.name = "write",
       .from = {.items = 2 * room, .in_order = true},
       .parallel = 1,
       .waits = true,
       .emits_many = true},
      {.name = "publish", .from = {.hands = Hands::kWhole}, .parallel = 1, .waits = true},
  };
  for (StageSpec& stage : spec.stages) stage.from.name = stage.name;
  return spec;
}

AlignSortJobPointer MakeJob(const AlignSortSettings& settings, int64_t number, double work) {
  std::error_code ignored;
  const bool nameless = settings.out.empty();
  const bool folder = std::filesystem::is_directory(settings.out, ignored);
  const std::filesystem::path out(settings.out);
  const std::string file =
      folder ? (out / (std::to_string(number) + ".bam")).string() : out.string();
  const std::string parent = std::filesystem::path(file).parent_path().string();
  const std::string spills = !settings.spill_folder.empty() ? settings.spill_folder
                             : nameless       ? std::filesystem::temp_directory_path().string()
                             : parent.empty() ? "."
                                              : parent;
  const size_t index = static_cast<size_t>(number) % settings.reads.size();
  auto job = std::make_shared<AlignSortJob>(
      settings.reads[index], file, settings.memory_mib / RequestsWithRuns(settings.open), spills);
  if (!folder && !nameless && number != 0) {
    job->refused = "request " + std::to_string(number) + " would write " + file +
                   " anew; allowed: a folder, for several requests";
  }
  if (work != 1) {
    job->refused = fmt::format(
        "request {} has a work of {}, but its files are what it is; allowed: 1", number, work);
  }
  return job;
}

}  // namespace

AlignSortCommon::AlignSortCommon(const AlignSortSettings& given)
    : settings(CheckSettings(given)),
      aligner(given.reference),
      header(aligner.References(), {"cosched", COSCHED_VERSION, CommandLineOf(given)}),
      progress(given.progress ? given.progress : std::make_shared<AlignSortProgress>()) {}

PipelineSpec AlignSortSpec(const AlignSortSettings& settings) {
  return SpecOf(CheckSettings(settings));
}

PipelineProgram MakeAlignSort(const AlignSortSettings& settings) {
  const auto common = std::make_shared<AlignSortCommon>(settings);
  PipelineProgram program{.spec = SpecOf(settings), .stages = {}, .travels = {}, .items = {}};
  for (const AlignSortStage stage :
       {AlignSortStage::kSplit, AlignSortStage::kAlign, AlignSortStage::kSort,
        AlignSortStage::kCollect, AlignSortStage::kMerge, AlignSortStage::kCompress,
        AlignSortStage::kWrite, AlignSortStage::kPublish}) {
    program.stages.push_back(MakeAlignSortStage(stage, common));
    program.travels.push_back(AlignSortTravel(stage, common));
  }
  program.items = [common](int64_t number, double work) {
    return std::vector<Payload>{Payload::Of(MakeJob(common->settings, number, work), 0)};
  };
  return program;
}

}  // namespace cosched

#endif
