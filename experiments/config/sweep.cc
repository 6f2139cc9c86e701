#include "experiments/config/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "engine/base/error.h"
#include "experiments/config/machine_table.h"
#include "experiments/config/not_here_error.h"
#include "experiments/config/section.h"
#include "experiments/config/toml_table.h"
#include "experiments/hosts/podman.h"
#include "experiments/hosts/slurm_allocation.h"

namespace cosched {
namespace {

constexpr size_t kMostPoints = 10'000;
constexpr size_t kLongestName = 120;          // Characters of a folder's.
constexpr size_t kLargeSimulation = 100'000;  // Jobs of one trial.

struct Assignment {
  std::string key;
  std::string toml;   // As an override.
  std::string plain;  // For names and records.
};
struct AxisValue {
  std::string label;                    // That it is named by; "": by what it sets.
  std::vector<Assignment> assignments;  // Set together.
};

struct Axis {
  std::string key;  // As written below [sweep].
  std::vector<AxisValue> values;
};

Assignment Assign(const TomlTable& table, const std::string& at, const std::string& key) {
  Assignment assignment{.key = key, .toml = table.TomlText(at), .plain = {}};
  const bool list = assignment.toml.starts_with('[');
  assignment.plain = list ? assignment.toml : table.ScalarText(at);
  return assignment;
}

std::vector<Axis> ReadAxes(const TomlTable& sweep) {
  std::vector<Axis> axes;
  size_t points = 1;
  for (const std::string& key : sweep.Leaves()) {
    Axis axis{.key = key, .values = {}};
    const size_t size = sweep.Size(key);
    if (size == 0) sweep.Fail(key, "is empty", "one or more values");
    points *= size;
    if (points > kMostPoints)
      sweep.Fail(key, "makes too many points", fmt::format("at most {} points", kMostPoints));
    for (size_t i = 0; i < size; ++i) {
      const std::string at = fmt::format("{}.{}", key, i);
      AxisValue value;
      if (sweep.IsTable(at)) {
        const TomlTable together = sweep.Table(at);
        value.label = together.String("label", "");
        for (const std::string& leaf : together.Leaves())
          if (leaf != "label") value.assignments.push_back(Assign(together, leaf, leaf));
        if (value.assignments.empty()) sweep.Fail(at, "sets nothing", "one or more keys");
      } else {
        value.assignments.push_back(Assign(sweep, at, key));
      }
      axis.values.push_back(std::move(value));
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::string FolderText(std::string text) {
  for (char& c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
  }
  return text;
}

// "threads" of "workload.0.threads", or all of it where another axis ends alike.
std::string Label(const Axis& axis, const std::vector<Axis>& axes) {
  const auto last = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  const auto alike = std::count_if(axes.begin(), axes.end(), [&](const Axis& other) {
    return last(other.key) == last(axis.key);
  });
  return alike > 1 ? axis.key : last(axis.key);
}

std::string PointName(const std::vector<Axis>& axes, const std::vector<size_t>& chosen,
                      std::set<std::string>* taken) {
  std::string name;
  for (size_t i = 0; i < axes.size(); ++i) {
    const AxisValue& value = axes[i].values[chosen[i]];
    std::string values = FolderText(value.label);
    for (size_t j = 0; value.label.empty() && j < value.assignments.size(); ++j)
      values += (values.empty() ? "" : "+") + FolderText(value.assignments[j].plain);
    name += fmt::format("{}{}={}", name.empty() ? "" : ",", Label(axes[i], axes), values);
  }
  name.resize(std::min(name.size(), kLongestName));
  std::string unique = name;
  for (int i = 2; !taken->insert(unique).second; ++i) unique = fmt::format("{}_{}", name, i);
  return unique;
}

bool IsMoreThan(int cores, const TomlTable& table, const char* key) {
  return table.IsInteger(key) && table.Integer(key, {}, INT64_MIN, INT64_MAX) > cores;
}

// The program of a command that names a file; "" = it is found in PATH, or no job runs it.
std::string ProgramFile(const TomlTable& workload) {
  if (!workload.Has("command") || workload.Number("weight", 1, 0, kMaxCount) == 0) return "";
  const std::vector<std::string> command = workload.Strings("command", std::vector<std::string>());
  if (command.empty() || command.front().find('/') == std::string::npos) return "";
  return (std::filesystem::path(workload.String("dir", ".")) / command.front()).string();
}

// The first file of a point's workloads that is not there, though the figure prepares it: what makes
// it is not installed. "" = none, or they are nobody's to prepare.
std::string Unprepared(const TomlTable& point) {
  if (!point.Table("figure").Has("prepare")) return "";
  for (const TomlTable& workload : point.Tables("workload")) {
    std::vector<std::string> files = workload.Strings("reads", std::vector<std::string>());
    if (workload.Has("reference")) files.push_back(workload.String("reference"));
    if (const std::string program = ProgramFile(workload); !program.empty())
      files.push_back(program);
    for (const std::string& file : files) {
      std::error_code ignored;
      const std::filesystem::path path = workload.Folder() / file;
      if (!std::filesystem::exists(path, ignored)) return path.lexically_normal().string();
    }
  }
  return "";
}

// What a point's workloads lack in this build, or of what the figure prepares; "" = nothing.
std::string LackedByWorkloads(const TomlTable& point) {
  for (const TomlTable& workload : point.Tables("workload")) {
    const std::string pipeline = workload.String("pipeline", "");
    if (const std::string library = PipelineLacks(pipeline); !library.empty())
      return fmt::format("{} is not in this build of cosched, which lacked {}", pipeline, library);
  }
  const std::string file = Unprepared(point);
  return file.empty() ? "" : fmt::format("{} could not be prepared", file);
}

// What this machine lacks for a point; "" = nothing. Only what is no mistake on another machine.
std::string Lacking(const TomlTable& point, const Topology& here) {
  const int cores = CoresOffered(point, here);
  const TomlTable machine = point.Table("machine");
  bool beyond = IsMoreThan(cores, machine, "cores");
  for (const TomlTable& workload : point.Tables("workload")) {
    if (workload.IsTable("cores"))
      beyond = beyond || IsMoreThan(cores, workload.Table("cores"), "max");
  }
  if (beyond) return "it needs more cores than this machine has";
  if (std::string lacked = LackedByWorkloads(point); !lacked.empty()) return lacked;
  const std::optional<Backend> backend = ParseBackend(point.String("backend", ""));
  if (backend == Backend::kContainer) return WhyNoContainers();
  if (backend == Backend::kSlurm) return WhyNoSlurmAllocation();
  if (backend == Backend::kSimulated) return "";
  const std::optional<Actuator> actuator = ParseActuator(machine.String("actuator", ""));
  const std::string why_not = actuator ? WhyNot(*actuator) : "";
  return why_not.empty() ? ""
                         : fmt::format("{} is not permitted: {}", ToString(*actuator), why_not);
}

// An override that [sweep] or [quick] made is wrong where it is written there.
[[noreturn]] void Blame(const TomlTable& table, const std::vector<std::string>& written,
                        const std::vector<std::string>& keys, const InputError& error) {
  const InputErrorDetails& details = error.details();
  // Compared by their ends: a workload goes by its name or by its index.
  const auto last = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  for (size_t i = 0; i < keys.size(); ++i) {
    if (details.file != "command line" || last(details.key) != last(keys[i])) continue;
    if (dynamic_cast<const NotHereError*>(&error) != nullptr)
      FailHere(table, written[i], details.problem, details.allowed);
    table.Fail(written[i], details.problem, details.allowed);
  }
  throw;
}

// Simulated with more than kLargeSimulation jobs in a trial: steps and samples are not written,
// unless the file asks for them. Says so; "" where nothing changed.
std::string LeaveOutOfLargeRun(const Plan& plan, ExperimentConfig* config) {
  RecordsConfig& records = config->records;
  const bool large = std::any_of(plan.traces.begin(), plan.traces.end(), [](const JobTrace& trace) {
    return trace.size() > kLargeSimulation;
  });
  if (!large || config->backend != Backend::kSimulated) return "";
  std::vector<std::string> keys;
  if (records.steps && records.steps_by_default) {
    records.steps = false;
    keys.push_back("steps");
  }
  // The simulator counts steps by samples.
  if (records.samples && records.samples_by_default && !records.steps) {
    records.samples = false;
    keys.push_back("samples");
  }
  if (keys.empty()) return "";
  return fmt::format("more than {} simulated jobs: {} are not recorded, unless [records] {} = true",
                     kLargeSimulation, fmt::join(keys, " and "), fmt::join(keys, " = true, "));
}

void AddPlanned(SweepPoint point, Sweep* sweep) {
  point.plan = MakePlan(point.config);
  const std::string note = LeaveOutOfLargeRun(point.plan, &point.config);
  if (!note.empty())
    sweep->without_records.push_back(point.name.empty() ? note : point.name + ": " + note);
  sweep->points.push_back(std::move(point));
}

// What a point sets, as overrides.
std::vector<std::string> OverridesOf(const std::vector<Axis>& axes,
                                     const std::vector<size_t>& chosen) {
  std::vector<std::string> overrides;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (const Assignment& assignment : axes[i].values[chosen[i]].assignments)
      overrides.push_back(assignment.key + "=" + assignment.toml);
  }
  return overrides;
}

// Adds the point of these values to the sweep, or to what is left out.
void AddPoint(const TomlTable& root, const std::vector<Axis>& axes,
              const std::vector<size_t>& chosen, const std::string& name, const Topology& topology,
              Sweep* sweep) {
  SweepPoint point;
  point.name = name;
  std::vector<std::string> written, keys;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (const Assignment& assignment : axes[i].values[chosen[i]].assignments) {
      point.values.emplace_back(assignment.key, assignment.plain);
      written.push_back(fmt::format("{}.{}", axes[i].key, chosen[i]));
      keys.push_back(assignment.key);
    }
  }
  try {
    const TomlTable with_values = root.With(OverridesOf(axes, chosen));
    const std::string lacking = Lacking(with_values, topology);
    if (!lacking.empty()) return sweep->left_out.push_back(fmt::format("{}: {}", name, lacking));
    point.config = LoadConfig(with_values, topology);
  } catch (const InputError& error) {
    Blame(root.Table("sweep"), written, keys, error);
  }
  AddPlanned(std::move(point), sweep);
}

// The next combination, the last axis first; false after the last one.
bool Advance(const std::vector<Axis>& axes, std::vector<size_t>* chosen) {
  for (size_t i = axes.size(); i-- > 0;) {
    if (++(*chosen)[i] < axes[i].values.size()) return true;
    (*chosen)[i] = 0;
  }
  return false;
}

std::vector<SweepCell> Interleave(const std::vector<SweepPoint>& points) {
  std::vector<SweepCell> cells;
  int trials = 0;
  for (const SweepPoint& point : points) trials = std::max(trials, point.config.trials);
  const Random blocks = Random(points.front().config.seed).Derive("order of points");
  for (int trial = 1; trial <= trials; ++trial) {
    std::vector<SweepCell> block;
    for (size_t i = 0; i < points.size(); ++i) {
      for (const CellKey& key : points[i].plan.cells) {
        if (key.trial == trial) block.push_back({i, key});
      }
    }
    ShuffleBlock(blocks, trial, &block);
    cells.insert(cells.end(), block.begin(), block.end());
  }
  return cells;
}

}  // namespace

SectionHelp SweepHelp() {
  return {.heading = "[sweep]",
          .about = "every combination of these values is a point, an experiment of its own",
          .keys = {{.name = "KEY",
                    .type = "list",
                    .fallback = "none",
                    .range = "any dotted key of the file",
                    .meaning = "its values, such as trace.jobs = [10, 100]"},
                   {.name = "NAME",
                    .type = "list of tables",
                    .fallback = "none",
                    .range = "any dotted keys, and label",
                    .meaning = "keys that are set together; the label names the point"}}};
}

SectionHelp QuickHelp() {
  return {.heading = "[quick]",
          .about = "what --quick sets in place of the file's values",
          .keys = {{.name = "KEY",
                    .type = "any",
                    .fallback = "none",
                    .range = "any dotted key of the file",
                    .meaning = "its value, such as trials = 1 or sweep.trace.jobs = [10]"}}};
}

TomlTable ChosenTable(const TomlTable& file, bool quick) {
  if (!quick) return file;
  if (!file.Has("quick"))
    file.Fail("quick", "there is none", "[quick] with the values that --quick sets");
  const TomlTable values = file.Table("quick");
  std::vector<std::string> overrides;
  for (const std::string& key : values.Leaves())
    overrides.push_back(key + "=" + values.TomlText(key));
  return file.With(overrides);
}

Sweep SinglePoint(const ExperimentConfig& config) {
  Sweep sweep;
  AddPlanned({.name = {}, .values = {}, .config = config, .plan = {}}, &sweep);
  for (const CellKey& key : sweep.points[0].plan.cells) sweep.cells.push_back({0, key});
  return sweep;
}

Sweep LoadSweep(const TomlTable& file, const std::vector<std::string>& overrides, bool quick,
                const Topology& topology) {
  const TomlTable root = ChosenTable(file, quick).With(overrides);
  const TomlTable table = root.Table("sweep");
  const std::vector<Axis> axes = ReadAxes(table);
  if (axes.empty()) return SinglePoint(LoadConfig(root, topology));

  Sweep sweep;
  std::set<std::string> names;
  std::vector<size_t> chosen(axes.size(), 0);
  do {
    AddPoint(root, axes, chosen, PointName(axes, chosen, &names), topology, &sweep);
  } while (Advance(axes, &chosen));
  if (sweep.points.empty()) {
    FailHere(table, "", fmt::format("every point is left out; {}", sweep.left_out.front()),
             "a point that can run here");
  }
  sweep.cells = Interleave(sweep.points);
  return sweep;
}

std::vector<WorkloadConfig> SweptWorkloads(const std::filesystem::path& file, bool quick) {
  const TomlTable root = ChosenTable(TomlTable::Load(file, {}), quick);
  const std::vector<Axis> axes = ReadAxes(root.Table("sweep"));
  std::vector<WorkloadConfig> workloads;
  std::vector<size_t> chosen(axes.size(), 0);
  do {
    const TomlTable point = root.With(OverridesOf(axes, chosen));
    if (!LackedByWorkloads(point).empty()) continue;
    const std::vector<WorkloadConfig> of_point = LoadWorkloads(point);
    workloads.insert(workloads.end(), of_point.begin(), of_point.end());
  } while (Advance(axes, &chosen));
  return workloads;
}

Sweep LoadSweep(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                bool quick, const Topology& topology) {
  return LoadSweep(TomlTable::Load(file, {}), overrides, quick, topology);
}

std::filesystem::path PointFolder(const std::filesystem::path& run, const SweepPoint& point) {
  return point.name.empty() ? run : run / point.name;
}

}  // namespace cosched
