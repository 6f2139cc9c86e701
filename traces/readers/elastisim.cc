// elastisim: the job files of the simulator ElastiSim (elastisim.github.io/workload/job): an object
// with "jobs", each with type (rigid, moldable, malleable, evolving, adaptive), submit_time in
// seconds, num_nodes or num_nodes_min and num_nodes_max. A rigid job's three numbers of cores are
// its num_nodes. A number of nodes may be an expression in a string ("x/num_nodes"): it stays an
// attribute, is never evaluated, and gives no cores. walltime is a limit, not a duration: an
// attribute too, as is everything else, with dotted keys ("arguments.iterations"). Who: the
// application model. Jobs may be in any order.

#include <algorithm>
#include <array>

#include "traces/input/formats.h"
#include "traces/input/json_reader.h"
#include "traces/input/numbers.h"

namespace cosched {

TraceFormat ElastisimFormat();  // Named in formats.cc.

namespace {

constexpr std::array<std::string_view, 5> kTypes = {"rigid", "moldable", "malleable", "evolving",
                                                    "adaptive"};
constexpr int kMaxNodes = 1'000'000'000;

// Nothing where it is absent or an expression.
std::optional<int> Nodes(const JsonRecord& job, std::string_view key) {
  const JsonRecord::Field* field = job.Find(key);
  int64_t unused = 0;
  if (field == nullptr) return std::nullopt;
  if (field->kind == JsonScalar::Kind::kString && !ParseWholeNumber(field->text, &unused))
    return std::nullopt;
  return static_cast<int>(*job.Integer(key, 1, kMaxNodes));
}

Arrival ReadJob(const JsonRecord& job) {
  Arrival arrival;
  arrival.time = job.Seconds("submit_time");
  const std::string_view type = job.Text("type");
  if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) {
    job.Fail("type", "is " + Quoted(type), "rigid, moldable, malleable, evolving, adaptive");
  }
  const bool fixed = type == "rigid";
  const char* missing = fixed                                  ? "num_nodes"
                        : job.Find("num_nodes_min") == nullptr ? "num_nodes_min"
                                                               : "num_nodes_max";
  if (job.Find(missing) == nullptr)
    job.Fail(missing, "is required", "a number of nodes, or an expression in a string");
  arrival.cores_min = Nodes(job, fixed ? "num_nodes" : "num_nodes_min");
  arrival.cores_max = Nodes(job, fixed ? "num_nodes" : "num_nodes_max");
  if (fixed) arrival.cores_preferred = arrival.cores_max;
  if (arrival.cores_min && arrival.cores_max && *arrival.cores_min > *arrival.cores_max)
    job.Fail("num_nodes_min", "is above num_nodes_max", "num_nodes_min <= num_nodes_max");
  const JsonRecord::Field* model = job.Find("application_model");
  if (model != nullptr) arrival.tenant = model->text;
  const std::optional<int64_t> priority =
      job.Integer("attributes.priority", -1'000'000'000, 1'000'000'000);
  if (priority) arrival.priority = static_cast<int>(*priority);
  return arrival;
}

bool Detect(const TraceHead& head) {
  const size_t first = head.text.find_first_not_of(" \t\r\n");
  const auto holds = [&head](std::string_view text) {
    return head.text.find(text) != std::string_view::npos;
  };
  return first != std::string_view::npos && head.text[first] == '{' && holds("\"jobs\"") &&
         holds("\"submit_time\"") && holds("\"type\"");
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return ReadJsonObjects(std::move(input), "jobs", options.on_bad_row, ReadJob);
}

}  // namespace

TraceFormat ElastisimFormat() {
  return {.name = "elastisim",
          .summary = "JSON, jobs[].{type,submit_time,num_nodes…}; the job files of ElastiSim",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
