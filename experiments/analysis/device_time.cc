#include "experiments/analysis/device_time.h"

#include "experiments/records/rows.h"
#include "experiments/records/table.h"

namespace cosched {

std::optional<double> DeviceSeconds(const std::filesystem::path& cell) {
  if (!HasTable<HoldRow>(cell)) return std::nullopt;
  double sum = 0;
  RowReader<HoldRow> reader(cell, &HoldRow::begin, &HoldRow::planned_end);
  while (const HoldRow* hold = reader.Next()) sum += hold->planned_end - hold->begin;
  return sum;
}

}  // namespace cosched
