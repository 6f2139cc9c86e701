#include "experiments/os/folder_size.h"

#include <system_error>

namespace cosched {

uint64_t FolderSize(const std::filesystem::path& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  // Its ++ would throw where a folder goes away.
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_regular_file(ignored)) continue;
    const std::uintmax_t size = entry->file_size(ignored);
    if (!ignored) bytes += size;
  }
  return bytes;
}

}  // namespace cosched
