#include "experiments/cli/runs.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "experiments/analysis/table_text.h"
#include "experiments/cli/given_run.h"
#include "experiments/cli/json_output.h"
#include "experiments/config/option_refusal.h"
#include "experiments/launch/run_folder.h"
#include "experiments/store/run_archive.h"
#include "experiments/store/stored_runs.h"

namespace cosched {
namespace {

struct RunsArguments {
  std::string results = "results";
  std::string run;
  std::vector<std::string> runs;
  std::string file;
  bool json = false;
};

std::string CellsText(const StoredRun& run) {
  std::string text = fmt::format("{}/{}", run.done, run.cells);
  if (run.failed > 0) text += fmt::format(", {} failed", run.failed);
  return text;
}

std::string MachineText(const StoredRun& run) {
  if (run.cpu.empty()) return "?";
  return fmt::format("{}, {} core{}", run.cpu, run.cores, run.cores == 1 ? "" : "s");
}

// "2026-11-28 09:35"; UTC.
std::string MinuteText(const std::string& time) {
  if (time.size() < 16) return "?";
  return time.substr(0, 10) + " " + time.substr(11, 5);
}

void PrintRunsJson(const std::vector<StoredRun>& runs) {
  nlohmann::ordered_json of_runs = nlohmann::ordered_json::array();
  for (const StoredRun& run : runs) of_runs.push_back(StoredRunJson(run));
  JsonOutput(true).Print(
      {{"schema", "cosched-runs"}, {"version", 1}, {"runs", std::move(of_runs)}});
}

void PrintRunsTable(const std::vector<StoredRun>& runs) {
  size_t path = 3, cells = 5;
  int64_t bytes = 0;
  for (const StoredRun& run : runs) {
    path = std::max(path, run.path.string().size());
    cells = std::max(cells, CellsText(run).size());
    bytes += run.bytes;
  }
  fmt::print("{:<{}}  {:<16}  {:<7}  {:<{}}  {:<9}  {:>8}  {:<11}  {}\n", "run", path,
             "started UTC", "status", "cells", cells, "backend", "size", "commit", "machine");
  for (const StoredRun& run : runs) {
    fmt::print("{:<{}}  {:<16}  {:<7}  {:<{}}  {:<9}  {:>8}  {:<11}  {}\n", run.path.string(), path,
               MinuteText(run.started), run.status, CellsText(run), cells, run.backend,
               BytesText(static_cast<double>(run.bytes)), run.commit, MachineText(run));
  }
  fmt::print("{} run{}, {}\n", runs.size(), runs.size() == 1 ? "" : "s",
             BytesText(static_cast<double>(bytes)));
}

void ListStored(const RunsArguments& arguments) {
  const std::vector<StoredRun> runs = StoredRuns(arguments.results);
  if (arguments.json) return PrintRunsJson(runs);
  if (!runs.empty()) return PrintRunsTable(runs);
  fmt::print("there is no run below {}\n", arguments.results);
}

void ShowStored(const RunsArguments& arguments) {
  const StoredRun run = ReadStoredRun(GivenRun(arguments.run));
  if (arguments.json) return PrintRunsJson({run});
  const auto line = [](const char* name, const std::string& value) {
    if (!value.empty()) fmt::print("{:<11} {}\n", name, value);
  };
  line("run", run.path.string());
  line("experiment", run.experiment);
  line("status", run.status);
  line("started", run.started);
  line("finished", run.finished);
  line("cells", CellsText(run));
  line("backend", run.backend);
  line("machine", MachineText(run));
  line("commit", run.commit);
  line("size", BytesText(static_cast<double>(run.bytes)));
  line("command", run.command_line);
  if (run.status == "stopped")
    fmt::print("it did not end; the same command with --resume goes on with it\n");
}

// All are looked at before the first is removed.
void RemoveStored(const RunsArguments& arguments) {
  std::vector<StoredRun> runs;
  for (const std::string& run : arguments.runs) {
    runs.push_back(ReadStoredRun(run));
    if (const auto sweep = SweepOf(run))
      RefuseOption("RUN", run + " is a point of a sweep", "its run, " + sweep->string());
    if (IsHeld(run)) RefuseOption("RUN", run + " is running", "a run that is over");
  }
  for (const StoredRun& run : runs) {
    std::error_code error;
    std::filesystem::remove_all(run.path, error);
    if (error)
      throw OutputError(
          fmt::format("{}: can't be removed: {}", run.path.string(), error.message()));
    fmt::print("removed {}, {}\n", run.path.string(), BytesText(static_cast<double>(run.bytes)));
  }
}

void ExportStored(const RunsArguments& arguments) {
  const std::filesystem::path run = GivenRun(arguments.run);
  ReadStoredRun(run);
  if (IsHeld(run)) RefuseOption("RUN", run.string() + " is running", "a run that is over");
  const std::filesystem::path whole = std::filesystem::canonical(run);
  const std::filesystem::path file =
      arguments.file.empty() ? fmt::format("{}-{}.zip", whole.parent_path().filename().string(),
                                           whole.filename().string())
                             : arguments.file;
  ExportRun(run, file);
  fmt::print("{}, {}\n", file.string(),
             BytesText(static_cast<double>(std::filesystem::file_size(file))));
}

void ImportStored(const RunsArguments& arguments) {
  fmt::print("{}\n", ImportRun(arguments.file, arguments.results).string());
}

}  // namespace

void AddRunsCommand(CLI::App& app, int* exit_code) {
  const auto arguments = std::make_shared<RunsArguments>();
  CLI::App* const runs =
      app.add_subcommand("runs", "Runs that there are: list, show, remove, export, import");
  runs->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, void (*act)(const RunsArguments&)) {
    CLI::App* const command = runs->add_subcommand(name, help);
    command->callback([arguments, exit_code, act] {
      act(*arguments);
      *exit_code = 0;
    });
    return command;
  };
  CLI::App* const list =
      add("list", "What ran when, on which machine and commit, and how it ended", ListStored);
  list->add_option("RESULTS", arguments->results, "Where runs are")->capture_default_str();
  CLI::App* const show = add("show", "All of one run", ShowStored);
  show->add_option("RUN", arguments->run, "Its folder, or its experiment for the newest")
      ->required();
  for (CLI::App* const command : {list, show})
    AddJsonFlag(command, &arguments->json, "runs.schema");
  add("rm", "Remove runs with all their records", RemoveStored)
      ->add_option("RUN", arguments->runs, "Folders results/<experiment>/<run>")
      ->required();
  CLI::App* const exported =
      add("export", "A run as one zip file, for another machine", ExportStored);
  exported->add_option("RUN", arguments->run, "Its folder, or its experiment for the newest")
      ->required();
  exported->add_option("FILE", arguments->file, "Default: <experiment>-<run>.zip, here");
  CLI::App* const imported =
      add("import", "A run that `export` has written, to be compared and reported", ImportStored);
  imported->add_option("FILE", arguments->file, "The zip file")->required();
  imported->add_option("--out", arguments->results, "Where runs are")->capture_default_str();
}

}  // namespace cosched
