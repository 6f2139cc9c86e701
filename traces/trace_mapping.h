#pragma once
// Turns the arrivals of any trace into an experiment's jobs and requests: [trace.map] of an
// experiment file, without the file. Called by the reading of [trace]
// (experiments/config/trace_table.h), arrival by arrival. Deterministic: equal rules and arrivals
// give equal results. One thread.
//
// A column is one of the file's, or else a fact that formats share: "tenant", "size" or "duration"
// (in seconds).

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/random.h"
#include "engine/base/split.h"
#include "traces/arrivals/arrival.h"
#include "traces/arrivals/job_arrival.h"
#include "traces/arrivals/request_arrival.h"

namespace cosched {

struct MappingRules {
  // Who an arrival may go to. A request goes to a service where there is one, a job to a workload
  // that is none where there is one, unless a name says otherwise.
  struct Target {
    std::string name;
    double weight = 1;  // The weight for by-weight and by-hash.
    bool serves = false;
  };
  std::vector<Target> targets;

  enum class Choice {
    kByWeight,  // Drawn for each arrival, with probability weight / sum of weights.
    kByHash,    // The same for all arrivals of one tenant, by its name's hash.
    kByColumn,  // By what a column says: `values`, and `otherwise` for all that is not there.
    kByName,    // The column holds the target's name itself; anything else is malformed.
    kOnly,      // All go to `otherwise`.
  };
  Choice choice = Choice::kByWeight;
  std::string column;
  std::map<std::string, std::string, std::less<>> values;
  std::string otherwise;  // "" = rejected.
  uint64_t seed = 1;

  // A number from a column: value x factor, kept within [least, most]. Where the arrival says
  // nothing the workload's own value stays.
  struct Quantity {
    std::string column;
    double factor = 1;
    double least = 0;
    double most = 0;
  };
  std::optional<Quantity> steps;  // Steps of jobs; rounded to the nearest whole number.
  std::optional<Quantity> work;   // Work of requests, in steps of the service's program.
  bool cores = false;             // A job asks for the trace's cores, at most `most_cores`.
  int most_cores = 0;
  // How elastic a job is, by what a column says; other values are malformed.
  std::string elasticity_column;  // "" = as the cell.
  std::map<std::string, Elasticity, std::less<>> elasticities;
};

class TraceMapping {
 public:
  // columns: the reader's. Throws InputError whose key is one of [trace.map]'s for a column that is
  // not there.
  TraceMapping(MappingRules rules, std::span<const std::string> columns);

  struct Rejected {};
  using Result = std::variant<Rejected, JobArrival, RequestArrival>;
  // Times, priorities and deadlines (of a request: its SLO) stay those of the arrival. Throws
  // InputError whose key is the column for a value that is no number or has no meaning.
  Result Map(const Arrival& arrival);

  int64_t limited() const { return limited_; }  // Jobs that asked for more than most_cores.

 private:
  // A place in the arrival's attributes, or a fact.
  enum class Fact { kTenant = -1, kSize = -2, kDuration = -3 };
  using Column = int;
  Column Find(const std::string& name, const std::string& key,
              std::span<const std::string> columns) const;
  const MappingRules::Target* Choose(const Arrival& arrival);
  const MappingRules::Target* Draw(const Arrival& arrival, double share) const;
  std::string_view Text(Column column, const Arrival& arrival) const;
  std::optional<double> Value(const MappingRules::Quantity& quantity, Column column,
                              const Arrival& arrival) const;
  JobArrival Job(const MappingRules::Target& target, const Arrival& arrival);
  RequestArrival Request(const MappingRules::Target& target, const Arrival& arrival) const;
  void TakeCores(const Arrival& arrival, JobArrival* job);

  const MappingRules rules_;
  Random draws_;
  double service_weight_ = 0, job_weight_ = 0;  // Sums.
  Column column_ = 0, steps_ = 0, work_ = 0, elasticity_ = 0;
  int64_t limited_ = 0;
};

}  // namespace cosched
