#include "experiments/os/scratch_folder.h"

#include <cstdlib>
#include <string>

#include "engine/base/error.h"

namespace cosched {

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "cosched-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw OutputError(name + ": can't make this folder");
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace cosched
