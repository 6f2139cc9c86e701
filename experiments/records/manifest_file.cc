#include "experiments/records/manifest_file.h"

#include <fstream>

namespace cosched {

std::optional<nlohmann::ordered_json> ReadManifest(const std::filesystem::path& run) {
  std::ifstream stream(run / kManifestName);
  nlohmann::ordered_json manifest = nlohmann::ordered_json::parse(stream, nullptr, false);
  if (!manifest.is_object()) return std::nullopt;
  return manifest;
}

std::vector<std::filesystem::path> PointFolders(const std::filesystem::path& run) {
  const std::optional<nlohmann::ordered_json> manifest = ReadManifest(run);
  if (!manifest || !manifest->contains("points")) return {run};
  std::vector<std::filesystem::path> folders;
  for (const nlohmann::ordered_json& point : (*manifest)["points"])
    folders.push_back(run / point.value("name", ""));
  return folders;
}

}  // namespace cosched
