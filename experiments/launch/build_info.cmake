# Run at every build (cmake -P): writes OUTPUT, a .cc that defines GetBuildInfo(), and touches it only when something changed.
# A source tree without git, or a machine without it, gives the commit "unknown".
set(commit "unknown")
find_program(GIT git)
if(GIT AND EXISTS "${SOURCE_DIR}/.git")
  execute_process(COMMAND "${GIT}" describe --always --abbrev=40 --dirty --exclude=* WORKING_DIRECTORY "${SOURCE_DIR}"
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE result ERROR_QUIET)
  if(result EQUAL 0)
    set(commit "${described}")
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
// Written by experiments/build_info.cmake.
#include "experiments/launch/build_info.h"

namespace cosched {

const BuildInfo& GetBuildInfo() {
  static constexpr BuildInfo kInfo = {
      .version = "@VERSION@",
      .git_commit = "@commit@",
      .source_dir = R"(@SOURCE_DIR@)",
      .compiler = "@COMPILER@",
      .build_type = "@BUILD_TYPE@",
      .sanitizers = "@SANITIZERS@",
      .onednn = "@ONEDNN@",
      .eigen = "@EIGEN@",
      .hwloc = "@HWLOC@",
  };
  return kInfo;
}

std::string VersionText() {
  return "cosched @VERSION@ (commit @commit@)";
}

}  // namespace cosched
]])
