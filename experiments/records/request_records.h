#pragma once
// What became of requests: requests.csv, devices.csv and objectives.csv of a cell, each made when
// there is something to write. Used by CellRecords.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "experiments/records/cell_records.h"
#include "experiments/records/rows.h"
#include "experiments/records/table.h"

namespace cosched {

class RequestRecords {
 public:
  // In this folder; all throw OutputError.
  RequestRecords(std::filesystem::path folder, bool gzip, size_t buffer)
      : folder_(std::move(folder)), gzip_(gzip), buffer_(buffer) {}

  void Begin();  // There is a service, so there is requests.csv, be it without a row.
  void Write(const RequestRecord& request);
  void Write(const HoldSample& hold, std::string_view device, std::string_view service);
  void WriteObjective(TimePoint time, std::string_view service, Duration objective,
                      Duration window);
  void Sync();

 private:
  template <typename Row>
  RowWriter<Row>& Opened(std::optional<RowWriter<Row>>* file) {
    return *file ? **file : file->emplace(folder_, gzip_, buffer_);
  }

  const std::filesystem::path folder_;
  const bool gzip_;
  const size_t buffer_;
  std::optional<RowWriter<RequestRow>> requests_;
  std::optional<RowWriter<HoldRow>> devices_;
  std::optional<RowWriter<ObjectiveRow>> objectives_;
};

}  // namespace cosched
