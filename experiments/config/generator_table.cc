#include "experiments/config/generator_table.h"

#include <fmt/format.h>

#include "experiments/config/distribution_table.h"

namespace cosched {
namespace {

constexpr int64_t kMaxArrivals = int64_t{1} << 53;
constexpr double kMaxTraceSeconds = 4e9;  // 126 years, within kLongestTrace.
constexpr double kMaxWeight = 1e6;
constexpr int kMaxInteger = 1'000'000;

std::optional<int> OptionalInteger(const TomlTable& table, const char* key, int64_t min) {
  if (!table.Has(key)) return std::nullopt;
  return static_cast<int>(table.Integer(key, {}, min, kMaxInteger));
}

std::string PlainText(const TomlTable& table, const char* key) {
  std::string text = table.String(key, "");
  if (text.find_first_of("\r\n") != std::string::npos)
    table.Fail(key, "holds a line break", "one line");
  return text;
}

Arrival::Kind ReadArrivalKind(const TomlTable& table) {
  const std::string kind = table.String("kind", "job");
  if (kind != "job" && kind != "request")
    table.Fail("kind", fmt::format("is \"{}\"", kind), "job, request");
  return kind == "job" ? Arrival::Kind::kJob : Arrival::Kind::kRequest;
}

void ReadCoreRequests(const TomlTable& cores, GeneratorSpec* spec) {
  cores.AllowOnly({"min", "preferred", "max"});
  spec->cores_min = OptionalInteger(cores, "min", 1);
  spec->cores_preferred = OptionalInteger(cores, "preferred", 1);
  spec->cores_max = OptionalInteger(cores, "max", 1);
  int least = 1;
  for (const auto& [key, value] : {std::pair{"min", spec->cores_min},
                                   {"preferred", spec->cores_preferred},
                                   {"max", spec->cores_max}}) {
    if (value && *value < least)
      cores.Fail(key, fmt::format("is {}, below {}", *value, least), "min <= preferred <= max");
    least = value.value_or(least);
  }
}

GeneratorSpec ReadGenerator(const TomlTable& table, const std::filesystem::path& folder) {
  GeneratorSpec spec;
  spec.process = ReadProcess(table, folder);
  spec.weight = table.Number("weight", 1, 1 / kMaxWeight, kMaxWeight);
  spec.tenant = PlainText(table, "tenant");
  if (table.Has("workload")) spec.cells = {PlainText(table, "workload")};
  spec.kind = ReadArrivalKind(table);
  if (table.Has("size"))
    spec.size = ReadDistribution(table.Table("size"), {.unit = "", .max = 1e15}, {});
  if (table.Has("duration"))
    spec.duration =
        ReadDistribution(table.Table("duration"), {.unit = "_s", .max = kMaxTraceSeconds}, {});
  ReadCoreRequests(table.Table("cores", "{ min = 1, preferred = 2, max = 4 }"), &spec);
  spec.priority = OptionalInteger(table, "priority", -kMaxInteger);
  if (table.Has("deadline_s"))
    spec.deadline = FromSeconds(table.Number("deadline_s", {}, 0, kMaxTraceSeconds));
  return spec;
}

}  // namespace

GeneratorFile ReadGeneratorFile(const TomlTable& root, const std::filesystem::path& folder) {
  root.AllowOnly({"seed", "arrivals", "length_s", "generator"});
  GeneratorFile file;
  file.seed = static_cast<uint64_t>(root.Integer("seed", 1, 0, INT64_MAX));
  if (root.Has("arrivals")) file.limits.arrivals = root.Integer("arrivals", {}, 1, kMaxArrivals);
  if (root.Has("length_s"))
    file.limits.length = FromSeconds(root.Number("length_s", {}, 1e-9, kMaxTraceSeconds));
  const std::vector<TomlTable> tables = root.Tables("generator");
  bool ends = true;
  for (const TomlTable& table : tables) {
    file.generators.push_back(ReadGenerator(table, folder));
    ends = ends && std::holds_alternative<LoadGenSpec>(file.generators.back().process);
    if (file.generators.back().cells.size() != file.generators.front().cells.size())
      table.Fail("workload", "some generators have one, and some have none", "one for all or none");
  }
  if (tables.empty())
    root.Fail("generator", "there is none", "one or more [[generator]], each with a process");
  if (!ends && !file.limits.arrivals && !file.limits.length)
    root.Fail("arrivals", "is required", "arrivals or length_s: the generators go on forever");
  if (!file.generators.front().cells.empty()) file.columns = {"workload"};
  return file;
}

}  // namespace cosched
