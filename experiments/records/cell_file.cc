#include "experiments/records/cell_file.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"

namespace cosched {

std::string CellFileText(const CellKey& key, const CellFile& cell) {
  nlohmann::ordered_json json = {{"policy", key.policy},
                                 {"elasticity", ToString(key.elasticity)},
                                 {"trial", key.trial},
                                 {"status", cell.status},
                                 {"reason", cell.reason},
                                 {"machine_cores", cell.machine_cores.ToString()},
                                 {"submitted", cell.submitted.value_or(0)},
                                 {"marks", cell.marks}};
  if (!cell.services.empty()) {
    json["services"] = cell.services;
    json["requests"] = cell.requests;
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

CellFile ReadCellFile(const std::filesystem::path& cell) {
  const std::filesystem::path path = cell / kCellFileName;
  std::ifstream stream(path);
  if (!stream)
    throw InputError({path.string(), 0, "", "can't be read", "the folder of a whole cell"});
  try {
    const nlohmann::json json = nlohmann::json::parse(stream);
    const std::string cores = json.at("machine_cores").get<std::string>();
    const std::optional<CpuSet> cpus = CpuSet::Parse(cores);
    if (!cpus || cpus->Empty()) {
      throw InputError({path.string(), 0, "machine_cores", fmt::format("'{}'", cores),
                        "an interval set such as 0-3"});
    }
    CellFile file{.status = json.at("status").get<std::string>(),
                  .reason = json.at("reason").get<std::string>(),
                  .machine_cores = *cpus,
                  .submitted = std::nullopt,
                  .marks = json.at("marks").get<std::vector<std::string>>(),
                  .services = json.value("services", std::vector<int64_t>{}),
                  .requests = json.value("requests", int64_t{0})};
    if (json.contains("submitted")) file.submitted = json.at("submitted").get<int64_t>();
    return file;
  } catch (const nlohmann::json::exception& error) {
    throw InputError({path.string(), 0, "", error.what(), "the cell.json that a run wrote"});
  }
}

}  // namespace cosched
