#include "experiments/os/mpirun.h"

#include <unistd.h>

#include "experiments/os/find_program.h"

namespace cosched {

// Ranks may be more than cores, and bind their threads themselves. Where one died, the others have a
// second for ending in order; by default mpirun kills them within a tenth.
std::vector<std::string> MpirunCommand(int ranks, const std::vector<std::string>& program,
                                       const std::filesystem::path& folder) {
  const std::string mpirun = FindProgram("mpirun");
  if (mpirun.empty()) return {};
  std::vector<std::string> command = {mpirun,  "--oversubscribe",           "--bind-to", "none",
                                      "--mca", "odls_base_sigkill_timeout", "2"};
  if (geteuid() == 0) command.emplace_back("--allow-run-as-root");
  if (!folder.empty()) {
    for (const char* name : {"orte_tmpdir_base", "btl_vader_backing_directory"})
      command.insert(command.end(), {"--mca", name, folder.string()});
  }
  command.insert(command.end(), {"-n", std::to_string(ranks)});
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

}  // namespace cosched
