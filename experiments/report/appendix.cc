#include "experiments/report/appendix.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "experiments/analysis/table_text.h"
#include "experiments/report/claim_counts.h"
#include "experiments/report/reproduction_words.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
  return escaped;
}

std::string ValueText(const Json& value, const std::string& unit) {
  return value.is_number() ? RoundedText(value.get<double>()) + unit : value.get<std::string>();
}

// Of the limits within which a claim holds.
std::string ConditionText(const Json& limits, const std::string& unit) {
  const auto limit = [&](const char* name) {
    return fmt::format("{:g}{}", limits[name].get<double>(), unit);
  };
  const bool excludes = limits.contains("not");  // One of the two.
  if (limits.contains("from") && limits.contains("to")) {
    return fmt::format("{} to {}{}", limit("from"), limit("to"),
                       excludes ? ", not " + limit("not") : "");
  }
  if (excludes) return limits.contains("from") ? "above " + limit("from") : "below " + limit("to");
  return limits.contains("from") ? "at least " + limit("from") : "at most " + limit("to");
}

// What was found; of a figure that has not run, or failed, nothing.
std::string FoundText(const Json& claim, const std::string& unit) {
  if (claim["verdict"].is_null()) return "not judged";
  std::string text = claim["verdict"];
  if (claim["ours"].is_null()) return text;
  text += ": " + RoundedText(claim["ours"].get<double>()) + unit;
  const double level = claim["level"].get<double>();
  if (level <= 0 || level >= 1) return text;
  return text + fmt::format(" [{} {}] {}", RoundedText(claim["low"].get<double>()),
                            RoundedText(claim["high"].get<double>()), LevelPercent(level));
}

// On which machine, by which commit and when it ran.
std::string RanText(const Json& took) {
  const std::string finished =
      took["finished"].is_null() ? "was not finished" : "to " + took["finished"].get<std::string>();
  return fmt::format("{}, {}, commit {}, {} {}", took["cpu"].get<std::string>(),
                     Counted(took["cores"].get<int64_t>(), "core"),
                     took["commit"].get<std::string>(), took["started"].get<std::string>(),
                     finished);
}

// What became of it, and where the values come from.
std::string StatusText(const Json& figure) {
  const std::string status = figure["status"], why = figure["why"];
  const Json& took = figure["took"];
  if (status == kNotSupported)
    return fmt::format("* where this was written it can't run: {}\n", why);
  std::string text;
  if (status == kFigureWhole) {
    text = "* found on: ";
  } else if (status != kFigurePlanned) {
    text = fmt::format("* **{}**{}{}{}", status, why.empty() ? "" : ": ", why,
                       took.is_null() ? "" : "; on: ");
  } else {
    text = took.is_null() ? "* not run" : "* not run since its settings changed; before that on: ";
  }
  return text + (took.is_null() ? "" : RanText(took)) + "\n";
}

std::string NamedText(const Json& texts) {
  constexpr size_t kMostNamed = 6;
  std::string named;
  for (size_t i = 0; i < std::min(texts.size(), kMostNamed); ++i)
    named += (i > 0 ? "; " : "") + texts[i].get<std::string>();
  return texts.size() > kMostNamed
             ? fmt::format("{}; and {} more", named, texts.size() - kMostNamed)
             : named;
}

// What forbids to take the cells that its claims rest on like any others.
std::string CellsText(const Json& figure) {
  const Json& cells = figure["cells"];
  if (cells.is_null())
    return figure["status"] == kFigureWhole
               ? "* marked cells: not known, an earlier cosched judged this figure\n"
               : "";
  std::string text;
  if (cells["marked"].get<int>() > 0)
    text += fmt::format("* marked cells: {} of {}\n", cells["marked"].get<int>(),
                        cells["all"].get<int>());
  for (const Json& mark : cells["marks"])
    text += fmt::format("  * {}: {}\n", mark["cells"].get<int>(), mark["mark"].get<std::string>());
  if (!cells["failed"].empty())
    text += fmt::format("* failed cells, in no claim: {}\n", NamedText(cells["failed"]));
  if (!cells["lost"].empty())
    text += fmt::format("* left out of every claim: {}\n", NamedText(cells["lost"]));
  return text;
}

std::string MinutesText(const Json& plan) {
  if (plan["seconds"].is_null()) return "time not known";
  const std::string from = plan["seconds_from"];
  const std::string minutes = fmt::format("{:.1f} minutes", plan["seconds"].get<double>() / 60);
  return from == kTimeFromArrivals ? "at least " + minutes : fmt::format("{} ({})", minutes, from);
}

std::string DiskText(const Json& plan) {
  return plan["bytes"].is_null() ? "disk not known"
                                 : fmt::format("{:.1f} MB", plan["bytes"].get<double>() / 1e6);
}

std::string CommandText(const Json& figure) {
  return fmt::format("* `{}`: {}, {}\n", figure["command"].get<std::string>(),
                     MinutesText(figure["plan"]), DiskText(figure["plan"]));
}

std::string ClaimsText(const Json& claims) {
  std::string text = "| claim | published | expected | found | why |\n|---|---|---|---|---|\n";
  for (const Json& claim : claims) {
    const std::string unit = claim["unit"].get<std::string>();
    const std::string checks = claim["checks"].get<std::string>();
    const std::string row[] = {
        claim["claim"].get<std::string>(),
        IsOwnTarget(claim) ? "own target" : ValueText(claim["published"], unit),
        ConditionText(claim["holds_if"], unit) + (checks.empty() ? "" : ", " + checks),
        FoundText(claim, unit), claim["reason"].get<std::string>()};
    for (const std::string& cell : row) text += "| " + Escaped(cell) + " ";
    text += "|\n";
  }
  return text;
}

// As its script prints them, in columns.
std::string NotesText(const Json& notes) {
  if (notes.empty()) return "";
  std::string text = "\n```\n";
  for (const Json& line : notes) text += line.get<std::string>() + "\n";
  return text + "```\n";
}

std::string FigureText(const Json& whole, const Json* quick) {
  std::string text =
      fmt::format("### {}\n\n{}. Source: {}.\n\n", whole["name"].get<std::string>(),
                  whole["title"].get<std::string>(), whole["source"].get<std::string>());
  text += CommandText(whole);
  if (quick != nullptr) text += CommandText(*quick);
  text += fmt::format("* cores: {}\n", whole["plan"]["cores"].get<int>());
  text += StatusText(whole);
  for (const Json& lack : whole["lacks"])
    text += fmt::format("* where this was written: {}\n", lack.get<std::string>());
  return text + CellsText(whole) + "\n" + ClaimsText(whole["claims"]) + NotesText(whole["notes"]) +
         "\n";
}

constexpr std::string_view kIntroduction =
    R"(# Artifact appendix

## Abstract

cosched is a research simulator and benchmark harness for co-scheduling policies. It runs real training jobs and services on pinned
cores under each policy, or simulates them, and `cosched reproduce` reruns the experiments of published figures, draws them, and
checks each published claim: it holds, does not hold, or is not supported by the machine, with the reason.

## Hardware

x86-64 (aarch64 is compiled for, and not measured). Two cores are enough for most figures; a claim that needs more says so, and is
then not supported. No accelerator: devices are modelled. Real tenants are measured, so nothing else should run beside them.

## Software

Debian 12. `experiments/setup/packages.txt` names every package with its reason. PyTorch, ONNX Runtime and SimGrid are optional: what
needs them is left out where they are not installed, and says so.

## Installation

```sh
bash experiments/quickstart.sh    # as root or with sudo: installs what is missing, builds, runs a first experiment
cmake --build build               # the benchmarks, too, which some figures run
```

## How to run

```sh
build/cosched reproduce --dry-run          # cells, minutes, disk and cores of every figure, and what can't run here
build/cosched reproduce --quick            # every figure with few trials and short jobs: shows that all works, decides little
build/cosched reproduce                    # every figure, whole; after an interruption: build/cosched reproduce --resume
```

## What to expect

A table of claims for each figure on the terminal, `results/reproduce.html` with all of them and the pictures, and the same as data in
`results/reproduce.json`. Below, a claim's *expected* is the limits within which the whole interval of our value must lie; exit code 1
says that a claim does not hold or that a figure failed. A claim of which nothing is published is a target of our own. Each figure
says where, by which commit and when its values were found; a cell that is *marked* may mislead, and its mark says why.
)";

}  // namespace

std::string ArtifactAppendix(const Json& whole, const Json& quick) {
  const Json& machine = whole["machine"];
  std::string text(kIntroduction);
  text += fmt::format(
      "\nWritten by `{}` at commit {}, on {} with {}.\n\n## Figures and claims\n\n",
      whole["command"].get<std::string>(), whole["build"]["git_commit"].get<std::string>(),
      machine["cpu"].get<std::string>(), Counted(machine["cores"].get<int64_t>(), "core"));
  std::istringstream counts(ClaimCountsText(whole["figures"]));
  for (std::string line; std::getline(counts, line);) text += fmt::format("* {}\n", line);
  text += "\n";
  for (const Json& figure : whole["figures"]) {
    const auto same = std::ranges::find_if(
        quick["figures"], [&](const Json& other) { return other["name"] == figure["name"]; });
    text += FigureText(figure, same == quick["figures"].end() ? nullptr : &*same);
  }
  return text;
}

}  // namespace cosched
