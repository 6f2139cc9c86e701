#include "experiments/records/live_records.h"

#include <system_error>
#include <utility>

namespace cosched {

LiveRecords::LiveRecords(std::filesystem::path cell)
    : cell_(std::move(cell)), submitted_(cell_, false), queues_(cell_, false) {}

LiveRecords::~LiveRecords() {
  std::error_code ignored;
  std::filesystem::remove(cell_ / SubmittedRow::kFile, ignored);
  std::filesystem::remove(cell_ / QueueRow::kFile, ignored);
}

void LiveRecords::Submitted(const Job& job) {
  submitted_.Write({.job_id = job.id.value,
                    .workload = job.workload,
                    .steps = job.steps,
                    .serves = job.service ? 1 : 0});
}

}  // namespace cosched
