#pragma once
// How the ranks of a pipeline are started: with Open MPI's mpirun. Called by `cosched pipeline run`
// and by hosts of tenants that have ranks. Stateless.

#include <filesystem>
#include <string>
#include <vector>

namespace cosched {

// The command line, its first word mpirun's file, that starts so many processes of `program` (its
// file and its arguments). Files that mpirun and ranks need while they run are in the folder; "":
// wherever they like, and if they are killed they stay there. Empty where there is no mpirun.
std::vector<std::string> MpirunCommand(int ranks, const std::vector<std::string>& program,
                                       const std::filesystem::path& folder = {});

}  // namespace cosched
