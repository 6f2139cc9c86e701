#include "experiments/hosts/tenant_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/model_from_file.h"

namespace cosched {

std::vector<std::string> FoldersOf(const TenantSpec& spec) {
  std::vector<std::string> folders;
  for (const std::string& folder : {spec.data_directory, FolderOfModelFile(spec.model)}) {
    const bool known = std::find(folders.begin(), folders.end(), folder) != folders.end();
    if (!folder.empty() && !known) folders.push_back(folder);
  }
  return folders;
}

std::vector<std::string> TenantArguments(const Job& job, const TenantSpec& spec,
                                         const CpuSet& cores, Split threads, Client client,
                                         bool unbound) {
  // Work is divided for the capacity (unless the spec says otherwise), so a malleable tenant gets
  // that of the rigid one it is compared with.
  const Split fixed = job.threads.value_or(Split{});
  const int capacity =
      std::max({job.request.max, threads.inter, threads.intra, fixed.inter, fixed.intra});
  std::vector<std::string> arguments{"tenant"};
  const auto add = [&arguments](const char* option, const std::string& value) {
    arguments.push_back(std::string("--") + option + "=" + value);
  };
  add("job", std::to_string(job.id.value));
  add("elasticity", std::string(ToString(job.elasticity)));
  add("capacity", std::to_string(capacity));
  add("cores", cores.ToString());
  add("inter", std::to_string(threads.inter));
  add("threads", std::to_string(threads.intra));
  add("model", spec.model);
  add("mode", spec.serves ? "serve" : std::string(ToString(spec.mode)));
  add("dataset", spec.dataset);
  if (!spec.data_directory.empty()) add("data", spec.data_directory);
  if (spec.serves) {
    add("max-batch", std::to_string(spec.batch));
    add("max-delay-ms", fmt::format("{}", ToSeconds(spec.max_delay) * 1e3));
  } else {
    add("batch", std::to_string(spec.batch));
    add("steps", std::to_string(spec.steps));
  }
  add("seed", std::to_string(spec.seed));
  if (spec.auto_split) add("split", "auto");
  if (spec.precision != Precision::kFloat) add("precision", std::string(ToString(spec.precision)));
  if (!spec.deterministic) arguments.emplace_back("--no-deterministic");
  if (spec.spin != kSpin) add("spin-us", std::to_string(spec.spin / std::chrono::microseconds(1)));
  add("kernel-rates", ToString(spec.rates));
  if (client != Client::kOn) add("client", std::string(ToString(client)));
  if (unbound) arguments.push_back("--unbound");
  return arguments;
}

}  // namespace cosched
