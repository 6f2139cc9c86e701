#pragma once
// Reads manifest.json of a run's folder (experiments/launch/run_folder.h tells what is in it).
// Called by whatever asks what a run was; thread-safe.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace cosched {

inline constexpr const char* kManifestName = "manifest.json";

// As it was written, in its order; nothing if there is none, or what is there is no manifest: no
// JSON object, or its format, status, experiment or points are not of their types.
std::optional<nlohmann::ordered_json> ReadManifest(const std::filesystem::path& run);

// A sweep's points, in its order; the run itself, without values, if it is none.
struct SweepPointFolder {
  std::filesystem::path folder;
  nlohmann::ordered_json values;  // Dotted key -> value as text, as the manifest has them.
};
std::vector<SweepPointFolder> SweepPointFolders(const std::filesystem::path& run);
// Their folders alone.
std::vector<std::filesystem::path> PointFolders(const std::filesystem::path& run);
// Whether it has points that are not itself.
bool IsSweep(const std::filesystem::path& run);
// The sweep that has this folder as a point; nothing if there is none.
std::optional<std::filesystem::path> SweepOf(const std::filesystem::path& point);

}  // namespace cosched
