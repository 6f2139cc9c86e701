#include "experiments/cli/reproduce.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "engine/base/cpu_description.h"
#include "engine/base/did_you_mean.h"
#include "engine/base/error.h"
#include "engine/base/topology.h"
#include "experiments/cli/figure.h"
#include "experiments/cli/figure_plan.h"
#include "experiments/cli/json_output.h"
#include "experiments/cli/reproduce_table.h"
#include "experiments/cli/reproduction.h"
#include "experiments/config/option_refusal.h"
#include "experiments/launch/build_info.h"
#include "experiments/launch/measured_cores.h"
#include "experiments/launch/plots.h"
#include "experiments/launch/records_size.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/folder_size.h"
#include "experiments/os/interrupt.h"
#include "experiments/records/output_file.h"
#include "experiments/report/appendix.h"
#include "experiments/report/claim_counts.h"
#include "experiments/report/reproduction_words.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using SteadyClock = std::chrono::steady_clock;

constexpr const char* kAllFigures = "all";

struct ReproduceArguments {
  std::vector<std::string> figures;
  std::string out = "results";
  bool quick = false;
  bool force = false;
  bool resume = false;
  bool dry_run = false;
  bool json = false;
  bool appendix = false;
};

std::vector<std::string> Chosen(const std::vector<std::string>& asked) {
  std::vector<std::string> known = FigureNames();
  if (asked.empty() || std::ranges::find(asked, kAllFigures) != asked.end()) return known;
  std::vector<std::string> chosen;
  for (const std::string& name : asked) {
    const auto found = std::ranges::find_if(known, [&name](const std::string& figure) {
      return figure == name || figure == "fig_" + name;
    });
    if (found == known.end()) {
      const std::string names = fmt::format("{}", fmt::join(known, ", "));
      RefuseOption("FIGURE",
                   fmt::format("there is no figure \"{}\"{}", name, DidYouMean(name, names)),
                   "all, " + names);
    }
    chosen.push_back(*found);
  }
  return chosen;
}

std::string UtcNowText() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

// One command's figures, one after the other.
class Reproducer {
 public:
  explicit Reproducer(const ReproduceArguments& arguments)
      : arguments_(arguments),
        topology_(Topology::ThisMachine()),
        reproduction_(arguments.out, topology_) {}

  void Plan(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      plans_.push_back(PlanFigure(name, arguments_.quick, topology_));
      Json figure = reproduction_.Planned(plans_.back(), arguments_.quick);
      const Json* before = EarlierOf(plans_.back());
      std::error_code ignored;
      figure["kept"] = arguments_.resume && before != nullptr &&
                       (*before)["status"] == kFigureWhole &&
                       fs::exists((*before)["took"]["run"].get<std::string>(), ignored);
      figures_.push_back(std::move(figure));
    }
  }

  void PrintTable() const {
    fmt::print("{}\n", PlanTable(figures_, topology_.OneThreadPerCore().Count(),
                                 FreeSpace(fs::absolute(arguments_.out).parent_path())));
    std::fflush(stdout);
  }

  // Returns the exit code.
  int Run() {
    for (const Json& figure : figures_)
      if (reproduction_.Find(figure["name"], arguments_.quick) == nullptr)
        reproduction_.Put(figure);
    int exit_code = 0;
    for (size_t i = 0; i < figures_.size(); ++i) {
      const int code = RunOne(plans_[i], &figures_[i]);
      reproduction_.Put(figures_[i]);
      reproduction_.Save();
      if (code == kInterrupted) {
        TellInterrupted();
        return code;
      }
      exit_code = std::max(exit_code, code);
    }
    fmt::print("{}page: {}\n", ClaimCountsText(figures_), reproduction_.page().string());
    const bool all_hold = CountClaims(figures_, ClaimsOf::kAll).fail == 0;
    return all_hold ? exit_code : std::max(kFailed, exit_code);
  }

  Json Document() const { return reproduction_.Json(figures_); }

 private:
  // What is kept of the same experiment.
  const Json* EarlierOf(const FigurePlan& plan) const {
    const Json* figure = reproduction_.Find(plan.name, arguments_.quick);
    return figure != nullptr && (*figure)["hash"] == plan.hash ? figure : nullptr;
  }

  int RunOne(const FigurePlan& plan, Json* figure) {
    fmt::print(stderr, "{}\n", plan.name);
    if (!plan.wrong.empty()) {  // The other figures are none the worse for it.
      Fail(plan.wrong, figure);
      return kBadInput;
    }
    if (!plan.why_not.empty()) {
      fmt::print("{}: not supported here: {}\n\n", plan.name, plan.why_not);
      return 0;
    }
    if ((*figure)["kept"]) {
      (*figure)["took"] = (*EarlierOf(plan))["took"];
      return Draw(plan.name, figure);
    }
    const Json* before = EarlierOf(plan);
    const bool goes_on =
        arguments_.resume && before != nullptr && (*before)["status"] == kFigureInterrupted;
    // Also a process that is killed leaves something to go on with.
    Json begun = *figure;
    begun["status"] = kFigureInterrupted;
    begun["took"] = goes_on ? (*before)["took"] : Begun(plan);
    (*figure)["took"] = begun["took"];
    reproduction_.Put(std::move(begun));
    reproduction_.Save();
    const int code = Measure(plan, goes_on, figure);
    fmt::print("\n");
    return code;
  }

  Json Begun(const FigurePlan& plan) const {
    return {{"started", UtcNowText()},
            {"finished", nullptr},
            {"seconds", 0},
            {"bytes", 0},
            {"run", (reproduction_.folder() / plan.name).string()},
            {"cpu", ThisCpuModel()},
            {"cores", topology_.OneThreadPerCore().Count()},
            {"commit", GetBuildInfo().git_commit}};
  }

  // Runs, draws and judges; what was measured before an interruption counts.
  int Measure(const FigurePlan& plan, bool goes_on, Json* figure) {
    const fs::path folder = reproduction_.folder() / plan.name;
    const uint64_t size = FolderSize(folder);
    const SteadyClock::time_point began = SteadyClock::now();
    FigureRun ran;
    int code = 0;
    try {
      ran = RunFigure(plan.name, {arguments_.out, arguments_.quick, arguments_.force, goes_on},
                      topology_);
      if (!ran.failure.empty()) code = kFailed;
    } catch (const InputError& error) {
      ran.failure = error.what();
      code = kBadInput;
    }
    Json& took = (*figure)["took"];
    if (!ran.run.empty()) took["run"] = ran.run.string();
    if (ran.interrupted) {
      (*figure)["status"] = kFigureInterrupted;
      code = kInterrupted;
    } else if (ran.run.empty()) {
      Fail(ran.failure, figure);
    } else {
      code = std::max(code, Draw(plan.name, figure));
      if (!ran.failure.empty()) Fail(ran.failure, figure);
    }
    took["finished"] = UtcNowText();
    took["seconds"] = took["seconds"].get<double>() +
                      std::chrono::duration<double>(SteadyClock::now() - began).count();
    took["bytes"] = took["bytes"].get<double>() + static_cast<double>(FolderSize(folder) - size);
    return code;
  }

  static void Fail(const std::string& why, Json* figure) {
    (*figure)["status"] = kFigureFailed;
    (*figure)["why"] = why;
    fmt::print(stderr, "{} failed: {}\n", (*figure)["name"].get<std::string>(), why);
  }

  static int Draw(const std::string& name, Json* figure) {
    const SignalScope signals;
    const fs::path plots = fs::path((*figure)["took"]["run"].get<std::string>()) / "plots";
    const bool drawn = DrawWith(name, plots.parent_path());
    (*figure)["status"] = kFigureWhole;
    if (Interrupted()) return kInterrupted;  // Its numbers are whole; --resume draws them.
    std::ifstream stream(plots / (name + ".claims.json"));
    Json judged = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
    const bool is_judged = judged.is_object() && judged.contains("notes");  // The last of them.
    if (is_judged)
      for (const char* told : {"claims", "cells", "notes"})
        (*figure)[told] = std::move(judged[told]);
    std::error_code ignored;
    const fs::path picture = plots / (name + ".png");
    if (fs::exists(picture, ignored)) (*figure)["picture"] = picture.string();
    if (drawn && is_judged) return 0;
    Fail("it could not be drawn and judged", figure);
    return kFailed;
  }

  void TellInterrupted() const {
    const auto whole = std::ranges::count_if(
        figures_, [](const Json& figure) { return figure["status"] == kFigureWhole; });
    fmt::print(stderr, "interrupted: {} of {} figures are whole; continue with: {}{}\n", whole,
               figures_.size(), CommandLine(), arguments_.resume ? "" : " --resume");
  }

  const ReproduceArguments& arguments_;
  const Topology topology_;
  Reproduction reproduction_;
  std::vector<FigurePlan> plans_;
  Json figures_ = Json::array();
};

// What became of a figure that ran; of one whose experiment has changed since only where and when
// that was: it is planned anew.
void TellBefore(const Json& before, Json* figure) {
  if (before["hash"] != (*figure)["hash"]) {
    (*figure)["took"] = before["took"];
    return;
  }
  if ((*figure)["status"] == kNotSupported) (*figure)["lacks"].push_back((*figure)["why"]);
  for (const char* told : {"status", "why", "took", "cells", "notes", "claims"})
    (*figure)[told] = before[told];
}

// The figures of one mode, with what is known of them.
Json Known(const std::vector<std::string>& names, bool quick, const Topology& topology,
           const Reproduction& reproduction) {
  Json figures = Json::array();
  for (const std::string& name : names) {
    const FigurePlan plan = PlanFigure(name, quick, topology);
    Json figure = reproduction.Planned(plan, quick);
    const Json* before = reproduction.Find(name, quick);
    if (before != nullptr && !(*before)["took"].is_null()) TellBefore(*before, &figure);
    figures.push_back(std::move(figure));
  }
  return reproduction.Json(figures);
}

// --out is the file, or the folder that it goes to.
int WriteAppendix(const ReproduceArguments& arguments, const std::vector<std::string>& names) {
  const fs::path out = arguments.out;
  const bool is_file = out.extension() == ".md";
  const Topology topology = Topology::ThisMachine();
  const Reproduction reproduction(is_file ? fs::absolute(out).parent_path() : out, topology);
  const std::string text = ArtifactAppendix(Known(names, false, topology, reproduction),
                                            Known(names, true, topology, reproduction));
  const fs::path file = is_file ? out : out / "appendix.md";
  std::error_code ignored;
  fs::create_directories(fs::absolute(file).parent_path(), ignored);
  WriteFileWhole(file, text);
  fmt::print("{}\n", file.string());
  return 0;
}

int RunReproduce(const ReproduceArguments& arguments) {
  const std::vector<std::string> names = Chosen(arguments.figures);
  if (names.empty() || (!arguments.dry_run && !arguments.appendix && FindPython().empty())) {
    fmt::print(
        stderr,
        "figures need their files (experiments/figures, installed or in the source tree) and a "
        "python with matplotlib and pandas: see cosched doctor\n");
    return kFailed;
  }
  if (arguments.appendix) return WriteAppendix(arguments, names);
  JsonOutput output(arguments.json);
  Reproducer reproducer(arguments);
  reproducer.Plan(names);
  reproducer.PrintTable();
  const int exit_code = arguments.dry_run ? 0 : reproducer.Run();
  if (arguments.json) output.Print(reproducer.Document());
  return exit_code;
}

}  // namespace

std::vector<FigureInfo> Figures() {
  std::vector<FigureInfo> figures;
  for (const std::string& name : FigureNames()) {
    std::ifstream stream(FindTreeFile("plots/expected/" + name + ".json"));
    const Json expected = Json::parse(stream, nullptr, false);
    figures.push_back({name, expected.is_object() ? expected.value("title", "") : ""});
  }
  return figures;
}

void AddReproduceCommand(CLI::App& app, int* exit_code) {
  const auto arguments = std::make_shared<ReproduceArguments>();
  CLI::App* command =
      app.add_subcommand("reproduce", "Run, draw and check the claims of the published figures");
  command->add_option("FIGURE", arguments->figures,
                      "See `cosched list figures`; default: all of them");
  command->add_flag("--quick", arguments->quick,
                    "Fewer trials and shorter jobs: shows that it works, decides little");
  CLI::Option* dry_run =
      command->add_flag("--dry-run", arguments->dry_run,
                        "Only the table that every reproduction begins with: cells, minutes, disk "
                        "and cores of each figure, and what of it can't run here");
  CLI::Option* resume = command->add_flag(
      "--resume", arguments->resume,
      "Keep the figures that are whole in DIR, of the same experiments, and go on "
      "with the one that was interrupted");
  CLI::Option* json = AddJsonFlag(command, &arguments->json, "reproduce.schema");
  command
      ->add_flag(
          "--appendix", arguments->appendix,
          "Write an artifact appendix instead: claims, commands, expected results, times; to "
          "DIR/appendix.md, or to the file that --out names, *.md")
      ->excludes(dry_run)
      ->excludes(resume)
      ->excludes(json);
  command
      ->add_option("--out", arguments->out,
                   "Results go to DIR/<figure>/<run>, all of them to DIR/reproduce.html")
      ->capture_default_str();
  AddForceFlag(command, &arguments->force);
  command->callback([arguments, exit_code] { *exit_code = RunReproduce(*arguments); });
}

}  // namespace cosched
