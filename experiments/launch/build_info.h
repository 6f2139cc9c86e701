#pragma once
// What this binary was built from: its version and commit, the libraries and the compiler, for
// --version, manifest.json and `cosched doctor`. Filled in at build time (build_info.cmake), so
// that a commit shows without a new configure.

#include <string>
#include <string_view>

namespace cosched {

struct BuildInfo {
  std::string_view version;     // "0.1.0"
  std::string_view git_commit;  // 40 hex digits, "-dirty" if the tree had changes; "unknown"
                                // outside of a git tree
  std::string_view source_dir;  // Where plots/ is found when the binary runs from its build folder.
  std::string_view compiler;    // "GNU 12.2.0"
  std::string_view build_type;
  std::string_view sanitizers;  // "" for none
  std::string_view onednn;
  std::string_view eigen;
  std::string_view hwloc;
};

const BuildInfo& GetBuildInfo();
std::string VersionText();  // "cosched 0.1.0 (commit …)"

}  // namespace cosched
