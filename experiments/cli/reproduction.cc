#include "experiments/cli/reproduction.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

#include "engine/base/cpu_description.h"
#include "engine/base/unique_fd.h"
#include "experiments/config/option_refusal.h"
#include "experiments/launch/build_info.h"
#include "experiments/launch/plots.h"
#include "experiments/launch/run_conditions.h"
#include "experiments/os/interrupt.h"
#include "experiments/records/output_file.h"
#include "experiments/report/claim_counts.h"
#include "experiments/report/page.h"
#include "experiments/report/reproduction_words.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;
using Data = nlohmann::ordered_json;

Data ReadData(const fs::path& file) {
  std::ifstream stream(file);
  return Data::parse(stream, nullptr, /*allow_exceptions=*/false);
}

Data MachineOf(const Topology& topology) {
  return {{"cpu", ThisCpuModel()},
          {"cores", topology.OneThreadPerCore().Count()},
          {"topology", topology.Summary()},
          {"kernel", ThisKernel()}};
}

Data OrNull(const std::optional<double>& value) { return value ? Data(*value) : Data(); }

bool IsOf(const Data& figure, const std::string& name, bool quick) {
  return figure.value("name", "") == name && figure.value("quick", false) == quick;
}

const Data* FindIn(const Data& figures, const std::string& name, bool quick) {
  const auto found =
      std::ranges::find_if(figures, [&](const Data& figure) { return IsOf(figure, name, quick); });
  return found == figures.end() ? nullptr : &*found;
}

// As an earlier run of the same experiment tells.
struct EarlierRun {
  std::optional<double> seconds, bytes;
};

EarlierRun EarlierOf(const Data* figure, const std::string& hash) {
  if (figure == nullptr || figure->value("hash", "") != hash) return {};
  if (figure->value("status", "") == kFigureWhole && !(*figure)["took"].is_null()) {
    const Data& took = (*figure)["took"];
    return {took["seconds"].get<double>(), took["bytes"].get<double>()};
  }
  const Data& plan = (*figure)["plan"];
  if (plan["seconds_from"] != kTimeFromHere) return {};
  return {plan["seconds"].get<double>(), plan["bytes"].get<double>()};
}

// How long, and from where that is known.
Data PlanOf(const FigurePlan& plan, const EarlierRun& here, const Data* elsewhere,
            const std::string& machine) {
  Data json = {{"cells", plan.cells ? Data(*plan.cells) : Data()},
               {"cores", plan.cores},
               {"seconds", nullptr},
               {"seconds_from", kTimeNotKnown},
               {"bytes", OrNull(here.bytes ? here.bytes : plan.bytes)}};
  const auto set = [&json](double seconds, const std::string& from) {
    json["seconds"] = seconds;
    json["seconds_from"] = from;
  };
  const bool is_same = elsewhere != nullptr && elsewhere->value("hash", "") == plan.hash;
  if (is_same && json["bytes"].is_null()) json["bytes"] = (*elsewhere)["bytes"];
  if (here.seconds) {
    set(*here.seconds, kTimeFromHere);
  } else if (is_same) {
    set((*elsewhere)["seconds"].get<double>(), "as it took on " + machine);
  } else if (plan.least_s) {
    set(*plan.least_s, kTimeFromArrivals);
  }
  return json;
}

// With the members that a judged one has (plots/claims.py).
Data Unjudged(const Data& claims, const std::string& why_not) {
  Data rows = Data::array();
  for (const Data& claim : claims) {
    Data row = {{"name", claim["name"]},
                {"claim", claim["claim"]},
                {"published", claim["published"]},
                {"holds_if", claim["holds_if"]},
                {"checks", claim.value("checks", "")},
                {"unit", claim.value("unit", "")}};
    for (const char* measured : {"ours", "low", "high", "level", "trials"}) row[measured] = nullptr;
    row["verdict"] = why_not.empty() ? Data() : Data(kNotSupported);
    row["reason"] = why_not;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string ReproduceCommand(const std::string& name, bool quick) {
  return fmt::format("{} reproduce {}{}", IsInstalled() ? "cosched" : "build/cosched", name,
                     quick ? " --quick" : "");
}

// change(path) of the paths in a figure: of its run's folder and of its picture.
template <typename Change>
void ChangePaths(Data* figure, const Change& change) {
  if ((*figure)["picture"].is_string())
    (*figure)["picture"] = change((*figure)["picture"].get<std::string>());
  Data& took = (*figure)["took"];
  if (took.is_object()) took["run"] = change(took["run"].get<std::string>());
}

// In the file they are relative to its folder, which may be moved, and be reached from anywhere.
std::string InFile(const fs::path& path, const fs::path& folder) {
  return fs::absolute(path).lexically_proximate(fs::absolute(folder)).generic_string();
}

std::string FromFile(const fs::path& path, const fs::path& folder) {
  return (path.is_absolute() ? path : (folder / path).lexically_normal()).string();
}

// In the place of the one of that name and mode, or by name.
void Insert(Data figure, Data* figures) {
  const std::string name = figure["name"];
  const bool quick = figure["quick"];
  for (Data& other : *figures) {
    if (IsOf(other, name, quick)) {
      other = std::move(figure);
      return;
    }
  }
  figures->push_back(std::move(figure));
  std::sort(figures->begin(), figures->end(), [](const Data& a, const Data& b) {
    const auto key = [](const Data& one) {
      return std::pair(one["name"].get<std::string>(), one["quick"].get<bool>());
    };
    return key(a) < key(b);
  });
}

Data CountsData(const Data& figures, ClaimsOf of) {
  const ClaimCounts counts = CountClaims(figures, of);
  return {{"all", counts.all},
          {"hold", counts.hold},
          {"direction_only", counts.direction_only},
          {"do_not_hold", counts.fail},
          {"not_supported_here", counts.not_here},
          {"not_judged", counts.not_judged}};
}

fs::path FileIn(const fs::path& folder) { return folder / "reproduce.json"; }

// Those that are kept in the folder. Throws InputError if the file is of another format.
Data ReadKept(const fs::path& folder) {
  const fs::path file = FileIn(folder);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return Data::array();
  Data kept = ReadData(file);
  if (!kept.is_object() || kept.value("schema", "") != kReproduceSchema ||
      kept.value("version", 0) != kReproduceVersion)
    RefuseOption("--out", fmt::format("{} is not of this cosched", file.string()),
                 fmt::format("a folder without it, or with one of version {}", kReproduceVersion));
  for (Data& figure : kept["figures"]) {
    ChangePaths(&figure, [&](const std::string& path) { return FromFile(path, folder); });
    // Files of before these were told; what is drawn anew has them.
    figure.emplace("cells", nullptr);
    figure.emplace("notes", Data::array());
  }
  return kept["figures"];
}

}  // namespace

Reproduction::Reproduction(fs::path folder, const Topology& topology)
    : folder_(std::move(folder)),
      machine_(MachineOf(topology)),
      figures_(ReadKept(folder_)),
      reference_(ReadData(FindTreeFile("experiments/figures/times.json"))) {}

Data Reproduction::Planned(const FigurePlan& plan, bool quick) const {
  const EarlierRun here = EarlierOf(Find(plan.name, quick), plan.hash);
  const Data none = Data::array();
  const Data& times = reference_.is_object() ? reference_["figures"] : none;
  const std::string machine = reference_.is_object() ? reference_.value("machine", "") : "";
  return {{"name", plan.name},
          {"title", plan.title},
          {"source", plan.source},
          {"quick", quick},
          {"command", ReproduceCommand(plan.name, quick)},
          {"hash", plan.hash},
          {"status", !plan.wrong.empty()     ? kFigureFailed
                     : !plan.why_not.empty() ? kNotSupported
                                             : kFigurePlanned},
          {"why", plan.wrong.empty() ? plan.why_not : plan.wrong},
          {"kept", false},
          {"lacks", plan.lacks},
          {"plan", PlanOf(plan, here, FindIn(times, plan.name, quick), machine)},
          {"took", nullptr},
          {"picture", nullptr},
          {"cells", nullptr},
          {"notes", Data::array()},
          {"claims", Unjudged(plan.claims, plan.why_not)}};
}

const Data* Reproduction::Find(const std::string& name, bool quick) const {
  return FindIn(figures_, name, quick);
}

void Reproduction::Put(Data figure) {
  // What is only planned here another process may have, or get, before.
  if (figure["status"] != kFigurePlanned) put_.emplace(figure["name"], figure["quick"]);
  Insert(std::move(figure), &figures_);
}

// Another process may reproduce other figures into the same folder.
void Reproduction::ReadOthers() {
  for (Data& other : ReadKept(folder_)) {
    if (!put_.contains({other["name"], other["quick"]})) Insert(std::move(other), &figures_);
  }
}

void Reproduction::Save() {
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  const UniqueFd folder(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) flock(folder.get(), LOCK_EX);  // For milliseconds.
  ReadOthers();
  const Data json = Json(figures_);
  Data in_file = json;
  for (Data& figure : in_file["figures"])
    ChangePaths(&figure, [this](const std::string& path) { return InFile(path, folder_); });
  WriteFileWhole(FileIn(folder_), in_file.dump(1) + "\n");
  WriteFileWhole(page(), ReproductionPage(json, folder_));
}

Data Reproduction::Json(const Data& figures) const {
  const BuildInfo& build = GetBuildInfo();
  Data claims = CountsData(figures, ClaimsOf::kAll);
  claims["of_publications"] = CountsData(figures, ClaimsOf::kPublications);
  claims["own_targets"] = CountsData(figures, ClaimsOf::kOwnTargets);
  return {{"schema", kReproduceSchema},
          {"version", kReproduceVersion},
          {"command", CommandLine()},
          {"machine", machine_},
          {"build",
           {{"version", build.version},
            {"git_commit", build.git_commit},
            {"compiler", build.compiler},
            {"build_type", build.build_type}}},
          {"claims", std::move(claims)},
          {"figures", figures}};
}

}  // namespace cosched
