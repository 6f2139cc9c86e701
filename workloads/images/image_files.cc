#include "workloads/images/image_files.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr int64_t kMostFileBytes = int64_t{256} << 20;

bool EndsAsImage(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

}  // namespace

std::vector<std::string> ImageFilesOf(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (EndsAsImage(entry->path()) && entry->is_regular_file(ignored))
      paths.push_back(entry->path().string());
  }
  if (error) {
    throw InputError(
        {.key = "images", .problem = folder + ": " + error.message(), .allowed = "a folder"});
  }
  if (paths.empty()) {
    throw InputError({.key = "images",
                      .problem = folder + " has no images",
                      .allowed = "files that end in .jpg, .jpeg or .png"});
  }
  std::ranges::sort(paths);
  return paths;
}

std::string ReadImageFile(const std::string& path) {
  const auto refuse = [&path](const std::string& problem) {
    throw InputError({.file = path, .problem = problem, .allowed = "a JPEG or PNG file"});
  };
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) refuse(std::error_code(errno, std::generic_category()).message());
  const auto size = static_cast<int64_t>(stream.tellg());
  if (size < 0) refuse("can't be read");
  if (size > kMostFileBytes) refuse("is larger than 256 MiB");
  std::string bytes(static_cast<size_t>(size), '\0');
  stream.seekg(0).read(bytes.data(), size);
  if (!stream) refuse("can't be read");
  return bytes;
}

}  // namespace cosched
