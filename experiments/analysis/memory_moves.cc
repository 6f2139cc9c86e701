#include "experiments/analysis/memory_moves.h"

#include "experiments/records/rows.h"
#include "experiments/records/table.h"

namespace cosched {

std::optional<MemoryMoves> SumMemoryMoves(const std::filesystem::path& cell) {
  if (!HasTable<MemoryRow>(cell)) return std::nullopt;
  MemoryMoves sum;
  RowReader<MemoryRow> reader(cell, &MemoryRow::bytes);
  while (const MemoryRow* move = reader.Next()) {
    ++sum.moves;
    sum.bytes += move->bytes;
  }
  return sum;
}

}  // namespace cosched
