#include "tests/paths.h"

namespace cosched {

std::string InSource(std::string_view path) {
  return std::string(COSCHED_SOURCE_DIR "/").append(path);
}

std::string InBuild(std::string_view path) {
  return std::string(COSCHED_BUILD_DIR "/").append(path);
}

const char* CoschedBinary() { return COSCHED_BINARY; }

}  // namespace cosched
