#include "experiments/watch/watched_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "engine/base/error.h"
#include "experiments/launch/run_folder.h"
#include "experiments/records/manifest_file.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

bool IsRun(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kManifestName, ignored);
}

void AddRunsIn(const fs::path& folder, std::vector<fs::path>* runs) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (IsRun(entry.path())) runs->push_back(entry.path());
}

// The names of runs begin with the time.
bool IsNewer(const fs::path& a, const fs::path& b) { return a.filename() > b.filename(); }

}  // namespace

fs::path WatchedRun(const std::string& word, const fs::path& results) {
  if (!word.empty() && IsRun(word)) return word;
  std::vector<fs::path> runs;
  std::error_code error;
  if (!word.empty()) {
    AddRunsIn(word, &runs);
    if (runs.empty()) AddRunsIn(results / word, &runs);
  } else {
    for (const fs::directory_entry& experiment : fs::directory_iterator(results, error))
      AddRunsIn(experiment.path(), &runs);
  }
  if (runs.empty())
    throw InputError({.file = word.empty() ? results.string() : word,
                      .problem = word.empty() ? "no run is there"
                                              : fmt::format("is no run, and {} has none of it",
                                                            fs::absolute(results).string()),
                      .allowed = "a folder results/<experiment>/<run>, or an experiment's name; "
                                 "--results says where runs are"});
  std::ranges::sort(runs, IsNewer);
  const auto running = std::ranges::find_if(runs, IsHeld);
  return running != runs.end() ? *running : runs.front();
}

}  // namespace cosched
