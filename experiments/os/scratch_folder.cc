#include "experiments/os/scratch_folder.h"

#include <cstdlib>
#include <string>

#include "engine/base/error.h"

namespace cosched {

ScratchFolder::ScratchFolder() : ScratchFolder(std::filesystem::temp_directory_path(), "cosched") {}

ScratchFolder::ScratchFolder(const std::filesystem::path& parent, const std::string& name) {
  std::string path = (parent / (name + "-XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr)
    throw OutputError("can't make a folder in " + parent.string());
  path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace cosched
