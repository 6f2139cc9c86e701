#include "experiments/config/workload_table.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <utility>

#include "engine/base/did_you_mean.h"
#include "experiments/config/command_keys.h"
#include "experiments/config/names.h"
#include "experiments/config/not_here_error.h"
#include "experiments/config/pipeline_keys.h"
#include "experiments/wire/chaos_plan.h"
#include "workloads/auto_split.h"
#include "workloads/dataset.h"
#include "workloads/model.h"
#include "workloads/model_from_file.h"

namespace cosched {
namespace {

using WorkloadKey = SectionKey<WorkloadConfig>;
using Refusal = std::optional<WorkloadKey::Refusal>;

constexpr int kMaxThreads = 1024;  // Threads of one pool of a tenant.
constexpr int kMaxDelayMilliseconds = 1000;
constexpr int kMaxObjectiveMilliseconds = 86'400'000;  // A day: simulated runs can be long.
constexpr const char* kCoresShape = "{ min = 1, preferred = 2, max = 4 }";

Refusal OfJobsOnly(const WorkloadConfig& workload) {
  if (!workload.spec.serves) return {};
  return WorkloadKey::Refusal{
      "has no meaning for a service: it answers requests until the trace is over",
      "only with mode = \"train\" or \"infer\""};
}

Refusal OfServicesOnly(const WorkloadConfig& workload) {
  if (workload.spec.serves) return {};
  return WorkloadKey::Refusal{"is of services", "only with mode = \"serve\" or \"pipeline\""};
}

Refusal OfNetworksOnly(const WorkloadConfig& workload) {
  if (workload.spec.IsCommand()) return OfOwnProgramsOnly(workload);
  if (!workload.spec.IsPipeline()) return {};
  return WorkloadKey::Refusal{"is of networks", "only with another mode than \"pipeline\""};
}

Refusal OfBatchesOnly(const WorkloadConfig& workload) {
  const std::string& application = workload.spec.pipeline.application;
  if (application.empty() || application == kClassifyName) return {};
  return WorkloadKey::Refusal{"is of networks",
                              "only with another mode than \"pipeline\", or with classify"};
}

// Batches of a pipeline never mix requests.
Refusal OfBatchedServicesOnly(const WorkloadConfig& workload) {
  if (workload.spec.serves && !workload.spec.IsPipeline()) return {};
  return WorkloadKey::Refusal{"is of services", "only with mode = \"serve\""};
}

// A pipeline is an application, which a key of its own says; it may have a network.
void ReadModel(const WorkloadKey& key, const TomlTable& table, WorkloadConfig* workload) {
  const bool is_pipeline = table.String("mode", "train") == "pipeline";
  if (is_pipeline && !TakesModel(table)) {
    if (table.Has(key.help.name)) {
      table.Fail(key.help.name, "is of networks, but the mode is \"pipeline\"",
                 "pipeline = one of " + PipelineNames() + "; of them classify has a model");
    }
    return;
  }
  TenantSpec& spec = workload->spec;
  std::string& model = is_pipeline ? spec.pipeline.classify.model : spec.model;
  model = WithAbsolutePath(table.String(key.help.name), table.Folder());
  const bool may_be_chaos = !is_pipeline;
  if ((may_be_chaos && IsChaosModel(model)) || IsModelName(model)) return;
  table.Fail(key.help.name,
             fmt::format("there is no model \"{}\"", model) + DidYouMean(model, ModelNames()),
             ModelNames() + ", onnx:FILE, graphdef:FILE" + (may_be_chaos ? ", chaos" : ""));
}

// Null where it has none.
nlohmann::ordered_json ModelOf(const WorkloadConfig& workload) {
  const TenantSpec& spec = workload.spec;
  const std::string& model = spec.IsPipeline() ? spec.pipeline.classify.model : spec.model;
  return model.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(model);
}

void ReadMode(const WorkloadKey& key, const TomlTable& table, WorkloadConfig* workload) {
  const std::string mode = table.String(key.help.name, "train");
  TenantSpec& spec = workload->spec;
  if (mode == "pipeline") {
    ReadApplication(table, &spec);
    spec.serves = true;
    spec.mode = Mode::kInfer;
    spec.batch = 1;
    return;
  }
  spec.serves = mode == "serve";
  if (spec.serves && IsChaosModel(spec.model))
    table.Fail(key.help.name, "is \"serve\", but chaos answers nobody", "train, infer");
  if (spec.serves) {
    spec.mode = Mode::kInfer;
  } else if (!ParseMode(mode, &spec.mode)) {
    table.Fail(key.help.name, fmt::format("is \"{}\"", mode), key.help.range);
  }
}

void ReadDataFolder(const WorkloadKey& key, const TomlTable& table, WorkloadConfig* workload) {
  if (!table.Has(key.help.name)) return;
  workload->spec.data_directory = table.PathOf(key.help.name).string();
}

// A service's limit is told as max_batch.
nlohmann::ordered_json BatchOfJob(const WorkloadConfig& workload) {
  if (workload.spec.IsPipeline()) return workload.spec.pipeline.classify.batch;
  return workload.spec.serves ? nlohmann::ordered_json()
                              : nlohmann::ordered_json(workload.spec.batch);
}

// Of a program of others they may not be known.
nlohmann::ordered_json StepsOfJob(const WorkloadConfig& workload) {
  const int64_t steps = workload.spec.steps;
  return steps > 0 ? nlohmann::ordered_json(steps) : nlohmann::ordered_json();
}

using W = WorkloadConfig;
using S = TenantSpec;

WorkloadKey BatchKey() {
  const auto batch = [](auto& workload) -> auto& {
    auto& spec = workload.spec;
    return spec.IsPipeline() ? spec.pipeline.classify.batch : spec.batch;
  };
  return WorkloadKey::Integer("batch", batch, 1, kMaxCount,
                              "images of a step; of classify: that its network computes at once")
      .Default(
          fmt::format("{}; of a command: 1; of classify: {}", S().batch, ClassifySettings().batch))
      .RecordedAs(BatchOfJob)
      .OmittedWhereAbsent()
      .RefusedWhere(OfBatchesOnly);
}

std::vector<WorkloadKey> ProgramKeys() {
  return {WorkloadKey::Read({.name = "name",
                             .type = "text",
                             .fallback = "its model, or its program",
                             .range = NameRange(),
                             .meaning = "what traces, tables and --set call it"},
                            nullptr, [](const W& workload) { return workload.name; }),
          WorkloadKey::Read(
              {.name = "model",
               .type = "text",
               .fallback = "required",
               .range = "a name of `cosched list models`, onnx:FILE, graphdef:FILE, chaos",
               .meaning = "the network"},
              ReadModel, ModelOf)
              .RefusedWhere(OfOwnProgramsOnly)
              .OmittedWhereAbsent(),
          WorkloadKey::Read(
              {.name = "mode",
               .type = "word",
               .fallback = {},
               .range = "train, infer, serve, pipeline",
               .meaning =
                   "steps of training or inference, a service that answers requests, or one whose "
                   "stages work on several of them at once"},
              ReadMode,
              [](const W& workload) {
                if (workload.spec.IsPipeline()) return std::string("pipeline");
                return workload.spec.serves ? "serve" : std::string(ToString(workload.spec.mode));
              })
              .RefusedWhere(OfOwnProgramsOnly),
          WorkloadKey::Text("dataset", Inside(&W::spec, &S::dataset), DatasetNames(),
                            "where its images come from")
              .RefusedWhere(OfNetworksOnly),
          WorkloadKey::Read({.name = "data",
                             .type = "text",
                             .fallback = "none",
                             .range = "a folder, relative to the file",
                             .meaning = "the files of a dataset other than procedural"},
                            ReadDataFolder,
                            [](const W& workload) { return workload.spec.data_directory; })
              .RefusedWhere(OfNetworksOnly),
          BatchKey(),
          WorkloadKey::Integer("steps", Inside(&W::spec, &S::steps), 1, 1'000 * int64_t{kMaxCount},
                               "steps of a job; not of a service")
              .Default(fmt::format("{}; of a command: not known", S().steps))
              .RecordedAs(StepsOfJob)
              .OmittedWhereAbsent()
              .RefusedWhere(OfJobsOnly)};
}

std::vector<WorkloadKey> ComputingKeys() {
  return {
      WorkloadKey::Read(
          {.name = "cores",
           .type = "table",
           .fallback = "all",
           .range = kCoresShape,
           .meaning = "how many it asks for"},
          nullptr, [](const W& workload) { return CoreRequestSection().ToJson(workload.cores); }),
      WorkloadKey::Integer("threads", &W::threads, 1, kMaxThreads,
                           "intra-op threads of a rigid tenant, or those of a command")
          .Default("its preferred cores"),
      WorkloadKey::Integer("inter", &W::inter, 1, kMaxThreads, "inter-op threads of a rigid tenant")
          .Default("1; of a pipeline: as threads")
          .RecordedAs([](const W& workload) {
            if (workload.spec.IsPipeline() && !workload.inter) return nlohmann::ordered_json();
            return nlohmann::ordered_json(workload.inter.value_or(1));
          })
          .RefusedWhere(OfOwnProgramsOnly),
      WorkloadKey::Integer("spin_us", Inside(&W::spec, &S::spin), 0, kMostSpinMicroseconds,
                           "how long a thread looks for work before it sleeps",
                           std::chrono::microseconds(1))
          .RefusedWhere(OfOwnProgramsOnly),
      WorkloadKey::EitherWord("split", Inside(&W::spec, &S::auto_split), "policy", "auto",
                              "who splits inter- and intra-op threads: the policy, or the tenant, "
                              "which also sets a pipeline's open requests")
          .RefusedWhere(OfOwnProgramsOnly),
      WorkloadKey::Choice("precision", Inside(&W::spec, &S::precision),
                          std::vector{Precision::kFloat, Precision::kBFloat16},
                          "what it multiplies in; bf16 where the CPU has it")
          .RefusedWhere(OfNetworksOnly),
      WorkloadKey::Boolean("deterministic", Inside(&W::spec, &S::deterministic),
                           "equal bits at any number of cores; false: work is divided for those "
                           "that there are")
          .RefusedWhere(OfNetworksOnly)};
}

std::vector<WorkloadKey> SchedulingKeys() {
  return {WorkloadKey::Integer("priority", &W::priority, -kMaxCount, kMaxCount,
                               "higher comes first, with policies that know priorities"),
          WorkloadKey::Number("weight", &W::weight, 0, kMaxCount,
                              "how often drawn jobs are of it, beside the other weights")
              .RefusedWhere(OfJobsOnly)};
}

std::vector<WorkloadKey> ServiceKeys() {
  return {WorkloadKey::Integer("max_batch", Inside(&W::spec, &S::batch), 1, kMaxCount,
                               "requests that a service answers at once")
              .Default("batch")
              .RefusedWhere(OfBatchedServicesOnly),
          WorkloadKey::Time("max_delay_ms", Inside(&W::spec, &S::max_delay), 1e3, 0,
                            kMaxDelayMilliseconds, "how long a request waits for others, at most")
              .RefusedWhere(OfBatchedServicesOnly),
          WorkloadKey::Time("slo_ms", &W::slo, 1e3, 1e-3, kMaxObjectiveMilliseconds,
                            "in which a service is to answer a request")
              .RefusedWhere(OfServicesOnly)
              .OmittedWhereAbsent(),
          WorkloadKey::Time("sla_ms", &W::objective, 1e3, 1e-3, kMaxObjectiveMilliseconds,
                            "what a service's mean response in a window is to be, at most")
              .RefusedWhere(OfServicesOnly)
              .OmittedWhereAbsent(),
          WorkloadKey::Boolean("per_node", &W::per_node,
                               "a service has an instance on each node, which share one queue")
              .RefusedWhere(OfServicesOnly)};
}

CoreRequest ReadRequest(const TomlTable& workload, const WorkloadMachine& machine) {
  const TomlTable cores = workload.Table("cores", kCoresShape);
  CoreRequestSection().RefuseOthers(cores);
  const auto read = [&cores](const char* key, int64_t fallback) {
    return static_cast<int>(cores.Integer(key, fallback, 1, CpuSet::kMaxCpu + 1));
  };
  const auto request_on = [&](int most) {
    CoreRequest request;
    request.min = read("min", 1);
    request.max = read("max", cores.Has("preferred") ? read("preferred", 1) : most);
    request.preferred = read("preferred", request.max);
    return request;
  };
  const CoreRequest request = request_on(machine.cores);
  if (const auto problem = CheckRequest(request, machine.cores)) {
    // A default that does not fit is the fault of a key that is there.
    const std::string key = cores.Has(problem->column) ? problem->column
                            : cores.Has("preferred")   ? "preferred"
                                                       : "min";
    constexpr int kLargest = WorkloadMachine().cores;
    const bool is_lack = machine.is_here && !CheckRequest(request_on(kLargest), kLargest);
    FailOfMachine(is_lack, cores, key, problem->problem, problem->allowed);
  }
  return request;
}

// Opens the data set once, so that a missing or unfitting one is told before anything runs.
void CheckDataset(const TomlTable& table, const TenantSpec& spec, const ModelInfo& model) {
  const auto dataset =
      OpenDataset(spec.dataset, spec.data_directory, model.image, model.classes, 1);
  if (dataset->ImageShape() != model.image || dataset->Classes() != model.classes) {
    table.Fail("dataset",
               fmt::format("the images of \"{}\" are not what {} takes", spec.dataset, model.name),
               "a data set of the model's image size and classes, such as procedural");
  }
}

void ReadDataset(const TomlTable& table, const ModelInfo& model, TenantSpec* spec) {
  if (!IsDatasetName(spec->dataset)) {
    table.Fail("dataset", fmt::format("is \"{}\"", spec->dataset), DatasetNames());
  }
  if (spec->dataset == "procedural") return;
  if (!table.Has("data")) {
    table.Fail("data", "is required",
               fmt::format("the folder that holds the files of {}", spec->dataset));
  }
  std::error_code ignored;
  if (!std::filesystem::is_directory(spec->data_directory, ignored)) {
    table.Fail("data", fmt::format("{} is not a folder", spec->data_directory),
               fmt::format("the folder that holds the files of {}", spec->dataset));
  }
  CheckDataset(table, *spec, model);
}

// What the keys of a service say together.
void CheckService(const TomlTable& table, WorkloadConfig* workload) {
  TenantSpec& spec = workload->spec;
  if (!spec.IsPipeline() && table.Has("batch") &&
      table.Integer("batch", {}, 1, kMaxCount) != spec.batch) {
    table.Fail("batch",
               fmt::format("is not max_batch, {}, but of a service it is the same", spec.batch),
               "one of the two");
  }
  if (spec.auto_split && !spec.IsPipeline())
    table.Fail("split", "is \"auto\", but a service has no steps",
               "auto with mode = \"train\", \"infer\" or \"pipeline\"");
  spec.steps = 0;
  workload->weight = 0;
}

// A file's model is called after the file, a program of others after its own.
std::string DefaultName(const TenantSpec& spec) {
  const std::string& model = spec.model;
  if (spec.IsCommand())
    return std::filesystem::path(spec.command.arguments.front()).stem().string();
  if (IsChaosModel(model)) return "chaos";
  return IsModelFileName(model) ? std::filesystem::path(model).stem().string() : model;
}

WorkloadConfig ReadWorkload(const TomlTable& table, const WorkloadMachine& machine) {
  WorkloadConfig workload;
  WorkloadSection().Read(table, &workload);
  TenantSpec& spec = workload.spec;
  workload.name = ReadName(table, DefaultName(spec));
  if (spec.IsPipeline()) ReadPipelineFiles(table, &spec);
  if (spec.IsCommand()) CheckCommand(table, &workload);
  if (!IsChaosModel(spec.model) && !spec.IsPipeline() && !spec.IsCommand()) {
    const auto model = table.OfFile("model", [&] { return OpenModel(spec.model); });
    ReadDataset(table, *model, &spec);
  }
  const std::string problem = PrecisionProblem(spec.precision);
  if (!problem.empty()) table.Fail("precision", problem, "f32");
  if (spec.serves) CheckService(table, &workload);
  workload.cores = ReadRequest(table, machine);
  if (spec.auto_split && !spec.deterministic)
    table.Fail(
        "deterministic",
        fmt::format("is false, but with split = \"auto\" {}", kWhyTriedSplitsAreDeterministic),
        "true, or split = \"policy\"");
  return workload;
}

}  // namespace

const Section<CoreRequest>& CoreRequestSection() {
  using Key = SectionKey<CoreRequest>;
  constexpr int kMost = CpuSet::kMaxCpu + 1;
  static const Section<CoreRequest> section(
      "workload.cores", "cores = { … }: how many a job asks for",
      {Key::Integer("min", &CoreRequest::min, 1, kMost, "it does not start on fewer").Default("1"),
       Key::Integer("preferred", &CoreRequest::preferred, 1, kMost, "a rigid job gets just these")
           .Default("max"),
       Key::Integer("max", &CoreRequest::max, 1, kMost, "it does not use more")
           .Default("preferred, else all")});
  return section;
}

const Section<WorkloadConfig>& WorkloadSection() {
  static const Section<WorkloadConfig> section(
      "[[workload]]", "a program that jobs run, or a service; one or more",
      Joined({CommandKeys(), ProgramKeys(), PipelineKeys(), ComputingKeys(), SchedulingKeys(),
              ServiceKeys()}));
  return section;
}

std::vector<WorkloadConfig> ReadWorkloads(const TomlTable& root, const WorkloadMachine& machine) {
  std::vector<WorkloadConfig> workloads;
  std::set<std::string> names;
  double weights = 0;
  bool jobs = false;
  // A figure may have programs that only some of its points draw jobs of, and not all of them be
  // installed; a trace's file names whatever it wants.
  const bool from_file = root.Table("trace").Has("file");
  for (const TomlTable& table : root.Tables("workload")) {
    workloads.push_back(ReadWorkload(table, machine));
    const bool runs = machine.runs_programs && (workloads.back().weight > 0 || from_file);
    if (runs && workloads.back().spec.IsCommand()) CheckProgramIsThere(table, workloads.back());
    weights += workloads.back().weight;
    jobs = jobs || !workloads.back().spec.serves;
    if (!names.insert(workloads.back().name).second) {
      table.Fail("name",
                 fmt::format("\"{}\" is the name of another workload too", workloads.back().name),
                 "a name of its own");
    }
  }
  if (workloads.empty())
    root.Fail("workload", "there is none",
              "one or more [[workload]], each with a model or a command");
  if (jobs && weights <= 0)
    root.Fail("workload", "every weight is 0", "a weight above 0 for one of them");
  return workloads;
}

}  // namespace cosched
