// alibaba-openb: the pods of Alibaba's GPU cluster (github.com/alibaba/clusterdata,
// cluster-trace-gpu-v2023, openb_pod_list_*.csv): name,cpu_milli,memory_mib,num_gpu,gpu_milli,
// gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time. Times are seconds. Fields may
// be empty (a pod that never ran has no scheduled_time); gpu_spec may be a list such as
// "V100M16|V100M32" and stays a text. A pod's duration is deletion_time - scheduled_time where both
// are known.

#include "traces/input/formats.h"
#include "traces/input/table_reader.h"

namespace cosched {

TraceFormat AlibabaOpenbFormat();  // Named in formats.cc.

namespace {

constexpr int64_t kMaxMilli = 1'000'000'000'000;

class PodRow final : public RowFormat {
 public:
  explicit PodRow(const Columns& columns)
      : creation_(columns.Required("creation_time")),
        cpu_milli_(columns.Required("cpu_milli")),
        num_gpu_(columns.Find("num_gpu")),
        gpu_milli_(columns.Find("gpu_milli")),
        qos_(columns.Find("qos")),
        scheduled_(columns.Find("scheduled_time")),
        deletion_(columns.Find("deletion_time")) {}

  size_t TimeColumn() const override { return creation_; }

  void Read(const Row& row, Arrival* arrival) const override {
    arrival->time = row.Seconds(creation_);
    arrival->tenant = row.Text(qos_);
    if (row.Has(cpu_milli_)) {
      const int64_t cores = (row.WholeNumber(cpu_milli_, 0, kMaxMilli) + 999) / 1000;
      if (cores > 0) arrival->cores_preferred = static_cast<int>(cores);
    }
    if (row.Has(num_gpu_) && row.Has(gpu_milli_)) {
      constexpr int64_t kMaxGpus = 1'000'000;
      arrival->size =
          row.WholeNumber(*num_gpu_, 0, kMaxGpus) * row.WholeNumber(*gpu_milli_, 0, kMaxMilli);
    }
    if (row.Has(scheduled_) && row.Has(deletion_)) {
      const Duration ran = row.Seconds(*deletion_) - row.Seconds(*scheduled_);
      if (ran >= Duration::zero()) arrival->duration = ran;
    }
  }

 private:
  size_t creation_;
  size_t cpu_milli_;
  std::optional<size_t> num_gpu_;
  std::optional<size_t> gpu_milli_;
  std::optional<size_t> qos_;
  std::optional<size_t> scheduled_;
  std::optional<size_t> deletion_;
};

bool Detect(const TraceHead& head) {
  return head.HasColumns({"name", "cpu_milli", "creation_time"});
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return ReadTable(std::move(input),
                   {.syntax = {}, .order = TableFormat::Order::kAny, .make = MakeRowFormat<PodRow>},
                   options.on_bad_row);
}

}  // namespace

TraceFormat AlibabaOpenbFormat() {
  return {
      .name = "alibaba-openb",
      .summary = "name,cpu_milli,memory_mib,num_gpu,…,creation_time,…; Alibaba's GPU pods, 2023",
      .detect = Detect,
      .open = Open};
}

}  // namespace cosched
