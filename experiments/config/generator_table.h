#pragma once
// The specification of a generated trace, as `cosched trace generate` reads it: the traces of one
// or several generators, merged. experiments/examples/trace_generate.toml shows one of each kind of
// process. Pure but for the files of rates that a specification names.

#include <filesystem>
#include <vector>

#include "experiments/config/toml_table.h"
#include "traces/generators/generated_trace.h"

namespace cosched {

struct GeneratorFile {
  uint64_t seed = 1;
  TraceLimits limits;
  std::vector<std::string> columns;  // "workload", if the generators have one.
  std::vector<GeneratorSpec> generators;
};

// folder: what the files that it names are relative to. Throws InputError.
GeneratorFile ReadGeneratorFile(const TomlTable& root, const std::filesystem::path& folder);

// One [[generator]]'s process (generator_process.cc).
ProcessSpec ReadProcess(const TomlTable& table, const std::filesystem::path& folder);

}  // namespace cosched
