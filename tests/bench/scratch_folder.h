#pragma once
// Where a benchmark writes records.

#include <unistd.h>

#include <filesystem>
#include <string>

namespace cosched {

// Among the machine's temporary files, gone when the scope ends.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = std::filesystem::temp_directory_path() / "cosched_bench_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace cosched
