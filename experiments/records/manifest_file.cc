#include "experiments/records/manifest_file.h"

#include <fstream>
#include <utility>

namespace cosched {

std::optional<nlohmann::ordered_json> ReadManifest(const std::filesystem::path& run) {
  std::ifstream stream(run / kManifestName);
  nlohmann::ordered_json manifest = nlohmann::ordered_json::parse(stream, nullptr, false);
  if (!manifest.is_object()) return std::nullopt;
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

}  // namespace cosched
