#pragma once
// Where cosched keeps what it need not find out twice: $COSCHED_CACHE, else cosched in
// $XDG_CACHE_HOME or ~/.cache, as engine/kernels/onednn/provide.sh has it. Reads the environment.

#include <filesystem>

namespace cosched {

// Perhaps not there yet; empty where none of the three is set.
std::filesystem::path CacheFolder();

}  // namespace cosched
