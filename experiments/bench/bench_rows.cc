#include "experiments/bench/bench_rows.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace cosched {
namespace {

void PrintCsv(const nlohmann::ordered_json& row, bool first) {
  std::string header, line;
  for (const auto& [key, value] : row.items()) {
    if (value.is_array()) continue;
    header += (header.empty() ? "" : ",") + key;
    line +=
        (line.empty() ? "" : ",") + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  if (first) fmt::print("{}\n", header);
  fmt::print("{}\n", line);
}

}  // namespace

void PrintBenchRow(const nlohmann::ordered_json& row, BenchEngineOptions::Format format, bool first,
                   void (*print_line)(const nlohmann::ordered_json&, bool first)) {
  switch (format) {
    case BenchEngineOptions::Format::kJson: fmt::print("{}\n", row.dump()); break;
    case BenchEngineOptions::Format::kCsv: PrintCsv(row, first); break;
    case BenchEngineOptions::Format::kTable: print_line(row, first); break;
  }
  std::fflush(stdout);
}

}  // namespace cosched
