#include "experiments/cli/reproduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/base/did_you_mean.h"
#include "engine/base/topology.h"
#include "experiments/cli/figure.h"
#include "experiments/config/option_refusal.h"
#include "experiments/launch/measured_cores.h"
#include "experiments/launch/plots.h"
#include "experiments/os/exit_code.h"

namespace cosched {
namespace {

constexpr const char* kHolds = "holds";
constexpr const char* kFails = "does not hold";
constexpr const char* kNotHere = "not supported here";

struct ReproduceArguments {
  std::vector<std::string> figures;
  std::string out = "results";
  bool quick = false;
  bool force = false;
};

// Over all figures.
struct Verdicts {
  std::map<std::string, int> claims;  // By verdict.
  int direction_only = 0;  // Claims that hold, of whose published size nothing is checked.
};

std::vector<std::string> Chosen(const std::vector<std::string>& asked) {
  std::vector<std::string> known;
  for (const FigureInfo& figure : Figures()) known.push_back(figure.name);
  if (asked.empty()) return known;
  std::vector<std::string> chosen;
  for (const std::string& name : asked) {
    const auto found = std::find_if(known.begin(), known.end(), [&name](const std::string& figure) {
      return figure == name || figure == "fig_" + name;
    });
    if (found == known.end()) {
      const std::string names = fmt::format("{}", fmt::join(known, ", "));
      RefuseOption("FIGURE",
                   fmt::format("there is no figure \"{}\"{}", name, DidYouMean(name, names)),
                   names);
    }
    chosen.push_back(*found);
  }
  return chosen;
}

// Claims without a verdict (the expected values) count as not supported. False if there are none.
bool CountVerdicts(const std::filesystem::path& file, Verdicts* verdicts) {
  std::ifstream stream(file);
  const nlohmann::json json = nlohmann::json::parse(stream, nullptr, false);
  if (!json.is_object() || !json.contains("claims")) return false;
  for (const auto& claim : json["claims"]) {
    const std::string verdict = claim.value("verdict", kNotHere);
    ++verdicts->claims[verdict];
    if (verdict == kHolds && !claim.value("checks", std::string()).empty())
      ++verdicts->direction_only;
  }
  return true;
}

int Reproduce(const std::string& name, const ReproduceArguments& arguments,
              const Topology& topology, Verdicts* verdicts) {
  fmt::print(stderr, "{}\n", name);
  const FigureRun ran =
      RunFigure(name, {arguments.out, arguments.quick, arguments.force}, topology);
  if (ran.interrupted) return kInterrupted;
  if (!ran.why_not.empty()) {
    CountVerdicts(FindTreeFile("plots/expected/" + name + ".json"), verdicts);
    fmt::print("{}: not supported here: {}\n\n", name, ran.why_not);
    return 0;
  }
  if (ran.run.empty()) return kFailed;
  const bool drawn = DrawWith(name, ran.run) &&
                     CountVerdicts(ran.run / "plots" / (name + ".claims.json"), verdicts);
  fmt::print("\n");
  return drawn && ran.whole ? 0 : kFailed;
}

int ReproduceAll(const ReproduceArguments& arguments) {
  const std::vector<std::string> figures = Chosen(arguments.figures);
  if (figures.empty() || FindPython().empty()) {
    fmt::print(
        stderr,
        "figures need their files (experiments/figures, installed or in the source tree) and a "
        "python with matplotlib and pandas: see cosched doctor\n");
    return kFailed;
  }
  const Topology topology = Topology::ThisMachine();
  Verdicts verdicts;
  int exit_code = 0;
  for (const std::string& name : figures) {
    const int code = Reproduce(name, arguments, topology, &verdicts);
    if (code == kInterrupted) return code;
    exit_code = std::max(exit_code, code);
  }
  int all = 0;
  for (const auto& [verdict, count] : verdicts.claims) all += count;
  fmt::print(
      "{} claims: {} hold ({} of them checked for direction only), {} do not hold, {} are not "
      "supported here\n",
      all, verdicts.claims[kHolds], verdicts.direction_only, verdicts.claims[kFails],
      verdicts.claims[kNotHere]);
  return verdicts.claims[kFails] > 0 ? kFailed : exit_code;
}

}  // namespace

std::vector<FigureInfo> Figures() {
  std::vector<FigureInfo> figures;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(FindTreeFile("experiments/figures"), ignored)) {
    if (entry.path().extension() != ".toml") continue;
    const std::string name = entry.path().stem().string();
    std::ifstream stream(FindTreeFile("plots/expected/" + name + ".json"));
    const nlohmann::json expected = nlohmann::json::parse(stream, nullptr, false);
    figures.push_back({name, expected.is_object() ? expected.value("title", "") : ""});
  }
  std::sort(figures.begin(), figures.end(),
            [](const FigureInfo& a, const FigureInfo& b) { return a.name < b.name; });
  return figures;
}

void AddReproduceCommand(CLI::App& app, int* exit_code) {
  const auto arguments = std::make_shared<ReproduceArguments>();
  CLI::App* command =
      app.add_subcommand("reproduce", "Run, draw and check the claims of the published figures");
  command->add_option("FIGURE", arguments->figures, "See `cosched list figures`; default: all");
  command->add_flag("--quick", arguments->quick,
                    "Fewer trials and shorter jobs: shows that it works, decides little");
  command->add_option("--out", arguments->out, "Results go to DIR/<figure>/<run>")
      ->capture_default_str();
  AddForceFlag(command, &arguments->force);
  command->callback([arguments, exit_code] { *exit_code = ReproduceAll(*arguments); });
}

}  // namespace cosched
