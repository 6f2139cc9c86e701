#include "experiments/config/pipeline_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/did_you_mean.h"
#include "engine/base/error.h"
#include "engine/gates/pipeline_spec.h"
#include "workloads/model.h"

namespace cosched {
namespace {

using W = WorkloadConfig;
using P = PipelineChoice;
using Key = SectionKey<W>;
using MaybeRefusal = std::optional<Key::Refusal>;

constexpr int kMostRanksOfTenant = 64;

bool IsClassify(const P& pipeline) { return pipeline.application == kClassifyName; }

template <typename Inner>
auto InPipeline(Inner inner) {
  return Inside(Inside(&W::spec, &TenantSpec::pipeline), inner);
}

// A member of the pipeline's member.
template <typename Outer, typename Inner>
auto InPipeline(Outer outer, Inner inner) {
  return Inside(Inside(Inside(&W::spec, &TenantSpec::pipeline), outer), inner);
}

MaybeRefusal OfPipelinesOnly(const W& workload) {
  if (workload.spec.IsPipeline()) return {};
  return Key::Refusal{"is of pipelines", "only with mode = \"pipeline\""};
}

auto OfApplications(std::vector<std::string> names) {
  return [names = std::move(names)](const W& workload) -> MaybeRefusal {
    if (std::ranges::find(names, workload.spec.pipeline.application) != names.end()) return {};
    return Key::Refusal{fmt::format("is of {}", fmt::join(names, ", ")),
                        fmt::format("only with pipeline = \"{}\"", fmt::join(names, "\" or \""))};
  };
}

std::vector<Key> OfAllPipelines() {
  using O = OpenRequests;
  std::vector<Key> keys = {
      Key::Read({.name = "pipeline",
                 .type = "text",
                 .fallback = "required with mode = \"pipeline\"",
                 .range = PipelineNames(),
                 .meaning = "the application whose stages work on several requests at once"},
                nullptr, [](const W& workload) { return workload.spec.pipeline.application; }),
      Key::Integer("open", InPipeline(&P::open, &O::open), 1, kMostOpenRequests,
                   "requests that may be open in a pipeline at once: its credits"),
      Key::Integer("open_max", InPipeline(&P::open, &O::open_max), 1, kMostOpenRequests,
                   "the most that a policy may allow")
          .Default("open"),
      Key::Choice("credit_link", InPipeline(&P::open, &O::link),
                  std::vector{CreditLink::kLinear, CreditLink::kEndToEnd},
                  "credits between each gate and the next, or between the first and the last"),
      Key::Integer(
          "ranks", InPipeline(&P::ranks), 1, kMostRanksOfTenant,
          "processes that share its calls, and its cores, started with mpirun: of increment "
          "and align-sort, with backend = \"hardware\"")};
  for (Key& key : keys) key.refuse = OfPipelinesOnly;
  return keys;
}

std::vector<Key> OfIncrement() {
  using I = IncrementSettings;
  constexpr int kMostStages = 30;
  constexpr double kMostMilliseconds = 60'000;
  std::vector<Key> keys = {
      Key::Integer("stages", InPipeline(&P::increment, &I::stages), 1, kMostStages,
                   "of increment: its stages"),
      Key::Time("work_ms", InPipeline(&P::increment, &I::work), 1e3, 0, kMostMilliseconds,
                "of increment: CPU time of a stage for an item"),
      Key::Time("wait_ms", InPipeline(&P::increment, &I::wait), 1e3, 0, kMostMilliseconds,
                "of increment: how long a stage waits for an item, on no core; with work_ms every "
                "other stage waits, from the first one on"),
      Key::Integer("parallel", InPipeline(&P::increment, &I::parallel), 1, kMostOpenRequests,
                   "of increment: items that a stage waits for at once"),
      Key::Time(
          "merge_ms", InPipeline(&P::increment, &I::merge), 1e3, 0, kMostMilliseconds,
          "of increment: what a last stage takes for all items of a request; 0: there is none"),
      Key::Integer("merges", InPipeline(&P::increment, &I::merges), 1, kMostOpenRequests,
                   "of increment: requests that this stage merges at once")};
  for (Key& key : keys) key.refuse = OfApplications({kIncrementName});
  return keys;
}

// Of the two applications whose requests have a number of items; the default is the same.
Key Items() {
  const auto items = [](auto& workload) -> auto& {
    auto& pipeline = workload.spec.pipeline;
    return IsClassify(pipeline) ? pipeline.classify.items : pipeline.increment.items;
  };
  return Key::Integer("items", items, 0, kMostIncrementItems,
                      "of increment and classify: items, or images, of a request of work 1")
      .RefusedWhere(OfApplications({kIncrementName, kClassifyName}));
}

std::string FileOf(const TomlTable& table, const char* key, const std::string& name) {
  std::string file = std::filesystem::absolute(table.Folder() / name).string();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    table.Fail(key, fmt::format("{} is no file", file), "a file, relative to this one's folder");
  return file;
}

void ReadReference(const Key& key, const TomlTable& table, W* workload) {
  workload->spec.pipeline.align_sort.reference =
      FileOf(table, key.help.name.c_str(), table.String(key.help.name));
}

void ReadReads(const Key& key, const TomlTable& table, W* workload) {
  const char* const name = key.help.name.c_str();
  std::vector<std::string> files;
  for (const std::string& file : table.Strings(name)) files.push_back(FileOf(table, name, file));
  if (files.empty() || files.size() > 2)
    table.Fail(name, fmt::format("are {} files", files.size()), "one file, or two with mates");
  workload->spec.pipeline.align_sort.reads = {std::move(files)};
}

std::vector<Key> OfAlignSort() {
  using A = AlignSortSettings;
  std::vector<Key> keys = {
      Key::Read({.name = "reference",
                 .type = "text",
                 .fallback = "required with align-sort",
                 .range = "a FASTA file, packed or not, relative to this file",
                 .meaning = "of align-sort: the genome"},
                ReadReference,
                [](const W& workload) { return workload.spec.pipeline.align_sort.reference; }),
      Key::Read({.name = "reads",
                 .type = "list",
                 .fallback = "required with align-sort",
                 .range = "one FASTQ file, or two with mates, packed or not",
                 .meaning = "of align-sort: what each request aligns and sorts"},
                ReadReads,
                [](const W& workload) {
                  const auto& reads = workload.spec.pipeline.align_sort.reads;
                  return nlohmann::ordered_json(reads.empty() ? std::vector<std::string>()
                                                              : reads.front());
                }),
      Key::Integer("chunk", InPipeline(&P::align_sort, &A::chunk_reads), 1, kMostChunkReads,
                   "of align-sort: reads of an item"),
      Key::Integer("level", InPipeline(&P::align_sort, &A::compression), 0, kMostCompression,
                   "of align-sort: zlib's, of the BAM file, which is written and has no name"),
      Key::Integer("memory_mib", InPipeline(&P::align_sort, &A::memory_mib), 0, kMostMemoryMib,
                   "of align-sort: sorted records in memory; the rest is spilled")};
  for (Key& key : keys) key.refuse = OfApplications({kAlignSortName});
  return keys;
}

void ReadImages(const Key& key, const TomlTable& table, W* workload) {
  if (!table.Has(key.help.name)) return;
  const std::string written = table.String(key.help.name);
  if (written.empty()) table.Fail(key.help.name, "is empty", key.help.range);
  const std::filesystem::path folder =
      std::filesystem::absolute(table.Folder() / written).lexically_normal();
  workload->spec.pipeline.classify.images =
      (folder.has_filename() ? folder : folder.parent_path()).string();
}

std::vector<Key> OfClassify() {
  using C = ClassifySettings;
  std::vector<Key> keys = {
      Key::Integer("parts", InPipeline(&P::classify, &C::parts), 1, kMostClassifyParts,
                   "of classify: that its network is cut into"),
      Key::Read({.name = "images",
                 .type = "text",
                 .fallback = "images that are made",
                 .range = "a folder with JPEG and PNG files, relative to this file",
                 .meaning = "of classify: what its requests are about, by name, over and over"},
                ReadImages,
                [](const W& workload) { return workload.spec.pipeline.classify.images; })};
  for (Key& key : keys) key.refuse = OfApplications({kClassifyName});
  return keys;
}

// What its stages can't be made of.
void CheckClassifyOf(const TomlTable& table, const ClassifySettings& classify) {
  table.OfFile("model", [&] { return OpenModel(classify.model); });
  CheckClassify(classify);
}

}  // namespace

std::vector<Key> PipelineKeys() {
  return Joined<W>({OfAllPipelines(), {Items()}, OfIncrement(), OfAlignSort(), OfClassify()});
}

bool TakesModel(const TomlTable& table) { return table.String("pipeline", "") == kClassifyName; }

void ReadApplication(const TomlTable& table, TenantSpec* spec) {
  const std::string name = table.String("pipeline");
  if (!IsPipelineName(name)) {
    table.Fail("pipeline",
               fmt::format("there is no pipeline \"{}\"", name) + DidYouMean(name, PipelineNames()),
               PipelineNames());
  }
  spec->model = spec->pipeline.application = name;
}

void ReadPipelineFiles(const TomlTable& table, TenantSpec* spec) {
  OpenRequests& open = spec->pipeline.open;
  if (!table.Has("open_max")) open.open_max = open.open;
  if (open.open_max < open.open) {
    table.Fail("open_max", fmt::format("is {}, but open is {}", open.open_max, open.open),
               "open or more");
  }
  try {
    Check(PipelineSpecOf(spec->pipeline));
    if (IsClassify(spec->pipeline)) CheckClassifyOf(table, spec->pipeline.classify);
  } catch (const InputError& error) {
    const InputErrorDetails& details = error.details();
    table.Fail(table.Has(details.key) ? details.key : "pipeline", details.problem, details.allowed);
  }
}

}  // namespace cosched
