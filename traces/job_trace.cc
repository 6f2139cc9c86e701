// ReadTrace: the jobs of an experiment from a trace in the cosched format.

#include <algorithm>
#include <array>

#include "engine/base/error.h"
#include "traces/formats.h"

namespace cosched {
namespace {

constexpr std::array<std::string_view, 7> kColumns = {
    "arrival_s", "workload", "cores_min", "cores_preferred", "cores_max", "priority", "steps"};
constexpr const char* kHeader =
    "arrival_s,workload[,cores_min,cores_preferred,cores_max,priority,steps]";

size_t ColumnOf(std::span<const std::string> columns, std::string_view name) {
  return static_cast<size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
}

}  // namespace

JobTrace ReadTrace(const std::filesystem::path& file, const ArrivalCheck& check) {
  const OpenedTrace opened = OpenTrace(file, "cosched");
  const std::span<const std::string> columns = opened.reader->Columns();
  const auto fail = [&](const std::string& column, const std::string& problem,
                        const std::string& allowed) {
    throw InputError({.file = file.string(),
                      .line = std::max(opened.reader->Line(), 1),
                      .key = column,
                      .problem = problem,
                      .allowed = allowed});
  };
  for (const std::string& column : columns) {
    if (std::find(kColumns.begin(), kColumns.end(), column) == kColumns.end())
      fail(column, "unknown column", kHeader);
  }
  const size_t workload = ColumnOf(columns, "workload");
  const size_t steps = ColumnOf(columns, "steps");
  if (workload == columns.size()) fail("workload", "the header lacks this column", kHeader);
  JobTrace trace;
  Arrival arrival;
  while (opened.reader->Next(&arrival)) {
    JobArrival job = {.time = arrival.time,
                      .workload = std::string(arrival.attributes[workload]),
                      .cores_min = arrival.cores_min,
                      .cores_preferred = arrival.cores_preferred,
                      .cores_max = arrival.cores_max,
                      .priority = arrival.priority,
                      .steps = {}};
    if (steps < columns.size() && !arrival.attributes[steps].empty())
      job.steps = static_cast<int>(*arrival.size);
    if (check) {
      if (const std::optional<ArrivalProblem> problem = check(job))
        fail(problem->column, problem->problem, problem->allowed);
    }
    trace.push_back(std::move(job));
  }
  return trace;
}

}  // namespace cosched
