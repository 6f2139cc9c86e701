#include "experiments/hosts/tenant_arguments.h"

#include <algorithm>
#include <filesystem>

#include "experiments/wire/tenant_start.h"
#include "workloads/model_from_file.h"

namespace cosched {

std::vector<std::string> FoldersOf(const TenantSpec& spec) {
  std::vector<std::string> folders;
  const ClassifySettings& classify = spec.pipeline.classify;
  std::vector<std::string> wanted = {spec.data_directory, spec.command.folder,
                                     FolderOfModelFile(spec.model),
                                     FolderOfModelFile(classify.model), classify.images};
  wanted.push_back(std::filesystem::path(spec.command.preload).parent_path().string());
  wanted.insert(wanted.end(), spec.command.mounts.begin(), spec.command.mounts.end());
  const AlignSortSettings& align_sort = spec.pipeline.align_sort;
  wanted.push_back(std::filesystem::path(align_sort.reference).parent_path().string());
  for (const std::vector<std::string>& files : align_sort.reads) {
    for (const std::string& file : files)
      wanted.push_back(std::filesystem::path(file).parent_path().string());
  }
  for (const std::string& folder : wanted) {
    const bool known = std::find(folders.begin(), folders.end(), folder) != folders.end();
    if (!folder.empty() && !known) folders.push_back(folder);
  }
  return folders;
}

std::vector<std::string> TenantArguments(const Job& job, const TenantSpec& spec, const Place& place,
                                         Client client, bool unbound) {
  // Work is divided for the capacity (unless the spec says otherwise), so a malleable tenant gets
  // that of the rigid one it is compared with.
  const Split fixed = job.threads.value_or(Split{});
  const int capacity = std::max(
      {job.request.max, place.threads.inter, place.threads.intra, fixed.inter, fixed.intra});
  return {"tenant", "--start=" + Encode({.job = job.id,
                                         .elasticity = job.elasticity,
                                         .capacity = capacity,
                                         .cores = place.cores,
                                         .threads = place.threads,
                                         .client = client,
                                         .unbound = unbound,
                                         .spec = spec})};
}

}  // namespace cosched
