#pragma once
// A generated trace, read as any trace file is: several processes merged in order of time, each
// with its tenant, workload, sizes and requests. Constant memory however many arrivals are asked
// for. Used by `cosched trace generate` and by the readers of settings. Not thread-safe.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "traces/arrivals/trace_reader.h"
#include "traces/generators/arrival_process.h"

namespace cosched {

struct GeneratorSpec {
  ProcessSpec process;
  double weight = 1;  // > 0; multiplies its rate: its times are divided by it.
  std::string tenant;
  std::vector<std::string> cells;  // Cells of the trace's columns.
  Arrival::Kind kind = Arrival::Kind::kJob;
  std::optional<Distribution> size;      // Rounded to whole numbers.
  std::optional<Distribution> duration;  // In seconds; else the process's service, if it has one.
  std::optional<int> cores_min;
  std::optional<int> cores_preferred;
  std::optional<int> cores_max;
  std::optional<Duration> deadline;
  std::optional<int> priority;
};

// Whichever is reached first; without both only a process that ends by itself ends the trace.
struct TraceLimits {
  std::optional<int64_t> arrivals;
  std::optional<Duration> length;  // Arrivals before this time.
};

class GeneratedTrace final : public TraceReader {
 public:
  // Each generator draws from streams of its own: another one beside it changes nothing of it.
  // REQUIRES: as many cells of each as there are columns.
  GeneratedTrace(std::vector<std::string> columns, std::vector<GeneratorSpec> generators,
                 const TraceLimits& limits, uint64_t seed);
  ~GeneratedTrace() override;

  std::span<const std::string> Columns() const override { return columns_; }
  bool Next(Arrival* arrival) override;
  int Line() const override { return 0; }
  Counts RowCounts() const override { return {.rows = drawn_, .skipped = 0, .first_skipped = {}}; }

 private:
  class Source;
  void SiftDown();

  TraceLimits limits_;
  std::vector<std::string> columns_;
  int64_t drawn_ = 0;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<Source*> heap_;  // Those that go on; the one that comes next is the first.
};

}  // namespace cosched
