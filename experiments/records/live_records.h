#pragma once
// What only a cell that runs has in its folder, for who watches it (experiments/watch): what the
// other tables tell once it is over. Both files go away with this. Used by CellRecords.
//
//   submitted.csv  a row a job, when the policy is told of it: jobs.csv has it when it ends
//   queues.csv     a row a service at every sampling instant: requests.csv has them when answered

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <tuple>

#include "experiments/records/column.h"
#include "experiments/records/table.h"
#include "policies/job.h"

namespace cosched {

struct SubmittedRow {
  int64_t job_id = 0;
  std::string_view workload;
  int64_t steps = 0;  // That it is to do; 0: nobody knows.
  int serves = 0;     // 1: it answers requests in place of doing steps.

  static constexpr std::string_view kFile = "submitted.csv";
  static constexpr auto Columns() {
    return std::tuple{TableColumn{"job_id", &SubmittedRow::job_id},
                      TableColumn{"workload", &SubmittedRow::workload},
                      TableColumn{"steps", &SubmittedRow::steps},
                      TableColumn{"serves", &SubmittedRow::serves}};
  }
};

struct QueueRow {
  RecordedTime time;
  std::string_view service;
  int64_t queued = 0;     // Requests in front, with no server yet,
  int64_t in_flight = 0;  // and those that servers have.

  static constexpr std::string_view kFile = "queues.csv";
  static constexpr auto Columns() {
    return std::tuple{
        TableColumn{"time", &QueueRow::time}, TableColumn{"service", &QueueRow::service},
        TableColumn{"queued", &QueueRow::queued}, TableColumn{"in_flight", &QueueRow::in_flight}};
  }
};

class LiveRecords {
 public:
  // Throws OutputError, as the others do.
  explicit LiveRecords(std::filesystem::path cell);
  ~LiveRecords();
  LiveRecords(const LiveRecords&) = delete;
  LiveRecords& operator=(const LiveRecords&) = delete;

  void Submitted(const Job& job);
  void Queue(const QueueRow& row) { queues_.Write(row); }

 private:
  std::filesystem::path cell_;
  RowWriter<SubmittedRow> submitted_;
  RowWriter<QueueRow> queues_;
};

}  // namespace cosched
