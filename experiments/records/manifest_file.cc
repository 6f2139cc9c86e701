#include "experiments/records/manifest_file.h"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

namespace cosched {
namespace {

// What readers take for granted; a manifest may be another version's, or anybody's.
bool IsWellFormed(const nlohmann::ordered_json& manifest) {
  if (!manifest.is_object()) return false;
  const auto is_absent_or = [&manifest](const char* key,
                                        bool (*holds)(const nlohmann::ordered_json&)) {
    const auto found = manifest.find(key);
    return found == manifest.end() || holds(*found);
  };
  using Json = nlohmann::ordered_json;
  return is_absent_or("format", [](const Json& json) { return json.is_number_integer(); }) &&
         is_absent_or("status", [](const Json& json) { return json.is_string(); }) &&
         is_absent_or("experiment", [](const Json& json) { return json.is_object(); }) &&
         is_absent_or("points", [](const Json& json) {
           return json.is_array() && std::ranges::all_of(json, [](const Json& point) {
                    return point.is_object() && point.contains("name") && point["name"].is_string();
                  });
         });
}

}  // namespace

std::optional<nlohmann::ordered_json> ReadManifest(const std::filesystem::path& run) {
  std::ifstream stream(run / kManifestName);
  nlohmann::ordered_json manifest = nlohmann::ordered_json::parse(stream, nullptr, false);
  if (!IsWellFormed(manifest)) return std::nullopt;
  return manifest;
}

std::vector<SweepPointFolder> SweepPointFolders(const std::filesystem::path& run) {
  const std::optional<nlohmann::ordered_json> manifest = ReadManifest(run);
  if (!manifest || !manifest->contains("points")) return {{run, nlohmann::ordered_json::object()}};
  std::vector<SweepPointFolder> points;
  for (const nlohmann::ordered_json& point : (*manifest)["points"]) {
    points.push_back(
        {run / point.value("name", ""), point.value("values", nlohmann::ordered_json::object())});
  }
  return points;
}

std::vector<std::filesystem::path> PointFolders(const std::filesystem::path& run) {
  std::vector<std::filesystem::path> folders;
  for (SweepPointFolder& point : SweepPointFolders(run)) folders.push_back(std::move(point.folder));
  return folders;
}

bool IsSweep(const std::filesystem::path& run) { return PointFolders(run) != std::vector{run}; }

std::optional<std::filesystem::path> SweepOf(const std::filesystem::path& point) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(point, error);
  if (error || !whole.has_parent_path()) return std::nullopt;
  const std::filesystem::path parent = whole.parent_path();
  for (const std::filesystem::path& other : PointFolders(parent))
    if (other == whole) return parent;
  return std::nullopt;
}

}  // namespace cosched
