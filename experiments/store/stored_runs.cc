#include "experiments/store/stored_runs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/base/cpu_set.h"
#include "engine/base/error.h"
#include "experiments/analysis/metrics.h"
#include "experiments/launch/run_folder.h"
#include "experiments/os/folder_size.h"
#include "experiments/records/cell_file.h"
#include "experiments/records/manifest_file.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string TextOf(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

Json ObjectOf(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_object() ? *found : Json::object();
}

std::string ShortCommit(const std::string& commit) {
  constexpr size_t kLetters = 10;
  return commit.substr(0, kLetters) + (commit.ends_with("-dirty") ? "+" : "");
}

// One whose file is damaged says nothing good of itself.
bool HasFailed(const fs::path& cell) {
  try {
    return ReadCellFile(cell).status == "failed";
  } catch (const InputError&) {
    return true;
  }
}

void CountCells(const fs::path& point, StoredRun* run) {
  for (const CellKey& key : WholeCells(point))
    ++(HasFailed(CellFolder(point, key)) ? run->failed : run->done);
}

// Others must not be kept from being listed.
StoredRun ReadOrDamaged(const fs::path& path) {
  try {
    return ReadStoredRun(path);
  } catch (const InputError&) {
    return {.path = path,
            .experiment = path.parent_path().filename().string(),
            .status = "damaged",
            .bytes = static_cast<int64_t>(FolderSize(path))};
  }
}

}  // namespace

StoredRun ReadStoredRun(const fs::path& path) {
  const std::optional<Json> manifest = ReadManifest(path);
  if (!manifest)
    throw InputError({.file = path.string(),
                      .problem = "is no run: it has no manifest.json that can be read",
                      .allowed = "a folder results/<experiment>/<run>"});
  if (!manifest->contains("format") || !manifest->contains("experiment"))
    throw InputError({.file = path.string(),
                      .problem = "is no run: its manifest.json is not of cosched",
                      .allowed = "a folder results/<experiment>/<run>"});
  const Json experiment = ObjectOf(*manifest, "experiment"), host = ObjectOf(*manifest, "host");
  StoredRun run{.path = path,
                .experiment = TextOf(experiment, "name"),
                .started = TextOf(*manifest, "started"),
                .finished = TextOf(*manifest, "finished"),
                .status = TextOf(*manifest, "status"),
                .backend = TextOf(experiment, "backend"),
                .cpu = TextOf(host, "cpu"),
                .commit = ShortCommit(TextOf(ObjectOf(*manifest, "build"), "git_commit")),
                .command_line = TextOf(*manifest, "command_line"),
                .bytes = static_cast<int64_t>(FolderSize(path))};
  if (const std::optional<CpuSet> cpus = CpuSet::Parse(TextOf(host, "cpus")))
    run.cores = cpus->Count();
  if (const auto cells = manifest->find("cells");
      cells != manifest->end() && cells->is_number_integer())
    run.cells = cells->get<int>();
  if (IsHeld(path)) {
    run.status = "running";  // Maybe of one that is over, some cells anew.
  } else if (run.status == "running") {
    run.status = "stopped";
  }
  for (const fs::path& point : PointFolders(path)) {
    CountCells(point, &run);
    if (!run.backend.empty()) continue;
    if (const std::optional<Json> of_point = ReadManifest(point))
      run.backend = TextOf(ObjectOf(*of_point, "experiment"), "backend");
  }
  return run;
}

std::vector<StoredRun> StoredRuns(const fs::path& results) {
  std::vector<StoredRun> runs;
  std::error_code error;
  for (const fs::directory_entry& experiment : fs::directory_iterator(results, error)) {
    std::error_code inner;
    for (const fs::directory_entry& run : fs::directory_iterator(experiment.path(), inner)) {
      if (fs::exists(run.path() / kManifestName, inner)) runs.push_back(ReadOrDamaged(run.path()));
    }
  }
  std::ranges::sort(runs, [](const StoredRun& a, const StoredRun& b) {
    return std::pair(b.started, b.path) < std::pair(a.started, a.path);
  });
  return runs;
}

Json StoredRunJson(const StoredRun& run) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  return {{"path", run.path.string()},
          {"experiment", text_or_null(run.experiment)},
          {"started", text_or_null(run.started)},
          {"finished", text_or_null(run.finished)},
          {"status", text_or_null(run.status)},
          {"backend", text_or_null(run.backend)},
          {"cpu", text_or_null(run.cpu)},
          {"cores", run.cores > 0 ? Json(run.cores) : Json()},
          {"commit", text_or_null(run.commit)},
          {"command_line", text_or_null(run.command_line)},
          {"cells", run.cells},
          {"done", run.done},
          {"failed", run.failed},
          {"bytes", run.bytes}};
}

}  // namespace cosched
