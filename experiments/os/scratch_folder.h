#pragma once
// A folder for files that nobody needs once a command ends.

#include <filesystem>

namespace cosched {

class ScratchFolder {
 public:
  ScratchFolder();  // Below the system's folder for such. Throws OutputError.
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace cosched
