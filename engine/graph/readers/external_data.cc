#include "engine/graph/readers/external_data.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "engine/graph/readers/source_model.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

bool ParseNumber(const std::string& text, uint64_t otherwise, uint64_t* value) {
  *value = otherwise;
  if (text.empty()) return true;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end;
}

// The file itself, links followed; empty if it lies outside of the folder or is no regular file.
fs::path Inside(const fs::path& folder, const std::string& location) {
  std::error_code error;
  const fs::path relative(location);
  if (location.empty() || relative.is_absolute()) return {};
  const fs::path root = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  if (error) return {};
  fs::path file = fs::canonical(root / relative, error);
  if (error || !fs::is_regular_file(file, error)) return {};
  const auto [in_root, in_file] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  return in_root == root.end() ? file : fs::path();
}

}  // namespace

std::ifstream ExternalData::Open(const Place& place, const std::string& tensor, size_t bytes) {
  const std::string what = tensor + ", whose data are in \"" + place.location.substr(0, 256) + "\"";
  if (model_.empty()) FailFile("", what + ": there is no folder to look into");
  const fs::path file = Inside(fs::path(model_).parent_path(), place.location);
  if (file.empty()) {
    FailFile(model_, what + ": not there", "a regular file within the model's folder");
  }
  std::error_code error;
  const uint64_t size = fs::file_size(file, error);
  uint64_t offset = 0;
  uint64_t length = 0;
  if (error || !ParseNumber(place.offset, 0, &offset) ||
      !ParseNumber(place.length, bytes, &length) || length != bytes || offset > size ||
      bytes > size - offset) {
    FailFile(model_, what + ": offset \"" + place.offset.substr(0, 32) + "\", length \"" +
                         place.length.substr(0, 32) + "\" do not fit the tensor's " +
                         std::to_string(bytes) + " bytes and the file's " + std::to_string(size));
  }
  uint64_t& left = left_.emplace(file.string(), size).first->second;
  if (bytes > left) FailFile(model_, what + ": tensors take more than the file holds");
  left -= bytes;
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset));
  if (!stream) FailFile(model_, what + ": can't be read");
  return stream;
}

}  // namespace cosched
