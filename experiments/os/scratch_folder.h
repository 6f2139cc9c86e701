#pragma once
// A folder for files that nobody needs once a command ends; it is removed with all that is in it.

#include <filesystem>
#include <string>

namespace cosched {

class ScratchFolder {
 public:
  ScratchFolder();  // Below the system's folder for such. Throws OutputError.
  // Below `parent`, in whose file system what was made here can be renamed to its place. name: what
  // its own begins with. Throws OutputError.
  ScratchFolder(const std::filesystem::path& parent, const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace cosched
