#include "experiments/cli/given_run.h"

#include <fmt/format.h>

#include <cstdio>

#include "experiments/analysis/comparison_runs.h"
#include "experiments/analysis/table_text.h"
#include "experiments/records/manifest_file.h"

namespace cosched {

std::filesystem::path GivenRun(const std::string& word) {
  if (std::filesystem::exists(std::filesystem::path(word) / kManifestName)) return word;
  const FoundRuns found = FindRuns({word});
  for (const std::string& note : found.notes) fmt::print(stderr, "{}", Wrapped("", note));
  return found.runs.front();
}

}  // namespace cosched
