#include "experiments/cli/list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/did_you_mean.h"
#include "experiments/cli/policy_options.h"
#include "experiments/cli/reproduce.h"
#include "experiments/config/option_refusal.h"
#include "experiments/config/section_help.h"
#include "experiments/wire/chaos_plan.h"
#include "policies/dispatch/dispatches.h"
#include "policies/registry.h"
#include "traces/input/formats.h"
#include "workloads/model.h"

namespace cosched {
namespace {

using ListRow = std::vector<std::string>;

// Columns as wide as their widest cell; the last one is left as it is.
void PrintTable(const std::vector<ListRow>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const ListRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const ListRow& row : rows) {
    std::string line;
    for (size_t i = 0; i + 1 < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    fmt::print("{}{}\n", line, row.back());
  }
}

ListRow ParameterHeading() { return {"parameter", "default", "allowed", "what it says"}; }

// owner: "policy.max-prop".
void AddParameterRows(const std::string& owner, std::span<const Parameter> parameters,
                      std::vector<ListRow>* rows) {
  for (const Parameter& parameter : parameters) {
    rows->push_back({fmt::format("{}.{}", owner, parameter.name),
                     std::string(parameter.default_value), std::string(parameter.allowed),
                     std::string(parameter.help)});
  }
}

void ListPolicies(const ExternalPolicyArguments& arguments) {
  const std::vector<std::shared_ptr<const ExternalPolicy>> external =
      OpenExternalPolicies(arguments);
  std::vector<PolicyInfo> policies(Policies().begin(), Policies().end());
  for (const auto& policy : external) policies.push_back(policy->info);
  std::vector<ListRow> rows = {{"policy", "oversubscribes", "needs a profile", "what it does"}};
  for (const PolicyInfo& policy : policies) {
    std::string text(policy.summary);
    if (!policy.source.empty()) text += fmt::format(" [{}]", policy.source);
    rows.push_back({std::string(policy.name), policy.oversubscribes ? "yes" : "no",
                    policy.needs_speed ? "yes" : "no", text});
  }
  PrintTable(rows);
  rows = {ParameterHeading()};
  for (const PolicyInfo& policy : policies)
    AddParameterRows(fmt::format("policy.{}", policy.name), policy.parameters, &rows);
  if (rows.size() == 1) return;
  fmt::print("\n");
  PrintTable(rows);
}

void ListDispatches() {
  std::vector<ListRow> rows = {{"dispatch", "needs", "what it does"}};
  std::vector<ListRow> parameters = {ParameterHeading()};
  for (const DispatchInfo& dispatch : Dispatches()) {
    std::vector<std::string> needs;
    if (dispatch.needs_deadline) needs.emplace_back("slo_ms");
    if (dispatch.needs_objective) needs.emplace_back("sla_ms");
    std::string text(dispatch.summary);
    if (!dispatch.source.empty()) text += fmt::format(" [{}]", dispatch.source);
    rows.push_back({std::string(dispatch.name),
                    needs.empty() ? "-" : fmt::format("{}", fmt::join(needs, ", ")), text});
    AddParameterRows(fmt::format("dispatch.{}", dispatch.name), dispatch.parameters, &parameters);
  }
  PrintTable(rows);
  fmt::print("\n");
  PrintTable(parameters);
}

void ListModels() {
  std::vector<ListRow> rows = {{"model", "image", "classes", "parameters", "what it is"}};
  for (const ModelInfo& model : Models()) {
    rows.push_back({model.name, model.image.ToString(), std::to_string(model.classes),
                    std::to_string(model.parameters), model.summary});
  }
  rows.push_back({"onnx:FILE", "the file's", "the file's", "the file's",
                  "an ONNX file of opset 7 to 20; `cosched model describe onnx:FILE` tells more"});
  rows.push_back(
      {"graphdef:FILE", "the file's", "the file's", "the file's", "a frozen TensorFlow GraphDef"});
  rows.push_back({"empty", OpenModel("empty")->image.ToString(), "2", "0",
                  "special: no network; what a request costs on its way to a service and back"});
  rows.push_back(
      {"chaos", "-", "-", "-",
       "special: no CNN but a tenant that misbehaves by its seed, or as chaos:NAME says"});
  PrintTable(rows);
  rows = {{"chaos:NAME", "what it does"}};
  for (const ChaosBehaviour& behaviour : ChaosBehaviours()) {
    rows.push_back({std::string(behaviour.name), std::string(behaviour.summary)});
  }
  fmt::print("\n");
  PrintTable(rows);
}

void ListFormats() {
  std::vector<ListRow> rows = {{"format", "what it is"}};
  for (const TraceFormat& format : TraceFormats()) {
    rows.push_back({std::string(format.name), std::string(format.summary)});
  }
  PrintTable(rows);
}

void ListFigures() {
  std::vector<ListRow> rows = {{"figure", "what it shows"}};
  for (const FigureInfo& figure : Figures()) rows.push_back({figure.name, figure.title});
  PrintTable(rows);
}

// Words in lines of at most so many characters.
std::vector<std::string> CellLines(const std::string& text, size_t width) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string& line = lines.back();
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.push_back(word);
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return lines;
}

// Rows of which each cell is wrapped to the width of its column.
void PrintWrapped(const std::vector<ListRow>& rows, const std::vector<size_t>& most) {
  std::vector<size_t> widths(most.size());
  for (const ListRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::min(most[i], std::max(widths[i], row[i].size()));
  }
  for (const ListRow& row : rows) {
    std::vector<std::vector<std::string>> cells;
    size_t lines = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      cells.push_back(CellLines(row[i], widths[i]));
      lines = std::max(lines, cells.back().size());
    }
    for (size_t line = 0; line < lines; ++line) {
      std::string text = "  ";
      for (size_t i = 0; i < cells.size(); ++i)
        text += fmt::format("{:<{}}  ", line < cells[i].size() ? cells[i][line] : "", widths[i]);
      text.erase(text.find_last_not_of(' ') + 1);
      fmt::print("{}\n", text);
    }
  }
}

void PrintSection(const SectionHelp& section) {
  fmt::print("{}{}{}\n", section.heading, section.heading.empty() ? "" : "  ", section.about);
  std::vector<ListRow> rows = {{"key", "type", "default", "allowed", "meaning"}};
  for (const KeyHelp& key : section.keys)
    rows.push_back({key.name, key.type, key.fallback, key.range, key.meaning});
  PrintWrapped(rows, {24, 14, 22, 30, 44});
}

// "machine" of "[machine]"; what stands above all tables goes by "top".
std::string SectionName(const SectionHelp& section) {
  if (section.heading.empty()) return "top";
  std::string name;
  for (const char c : section.heading) {
    if (c == ',') break;
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_') name += c;
  }
  return name;
}

void ListKeys(const std::string& wanted) {
  std::vector<std::string> names;
  bool first = true;
  for (const SectionHelp& section : SectionsHelp()) {
    const std::string name = SectionName(section);
    names.push_back(name);
    const bool inside = name.starts_with(wanted + ".");
    if (!wanted.empty() && wanted != name && wanted != section.heading && !inside) continue;
    if (!std::exchange(first, false)) fmt::print("\n");
    PrintSection(section);
  }
  if (!first) return;
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  RefuseOption("section", fmt::format("there is no \"{}\"{}", wanted, DidYouMean(wanted, all)),
               all);
}

}  // namespace

void AddListCommand(CLI::App& app, int* exit_code) {
  CLI::App* list = app.add_subcommand("list", "List what an experiment file may name");
  const auto what = std::make_shared<std::string>();
  list->add_option("what", *what,
                   "policies, dispatches, models, formats (of traces), figures or keys");
  const auto section = std::make_shared<std::string>();
  list->add_option("section", *section,
                   "With keys: a table of an experiment file, such as machine or workload");
  const auto external = std::make_shared<ExternalPolicyArguments>();
  AddExternalPolicyOptions(list, external.get());
  list->callback([what, section, external, exit_code] {
    const std::map<std::string, std::pair<const char*, std::function<void()>>> lists = {
        {"policies",
         {"what decides who runs where, with their parameters", [&] { ListPolicies(*external); }}},
        {"dispatches",
         {"which service a server takes its next request from, with their parameters",
          ListDispatches}},
        {"models", {"what a workload may be", ListModels}},
        {"formats", {"of trace files", ListFormats}},
        {"figures", {"of papers, for `cosched reproduce`", ListFigures}},
        {"keys",
         {"what an experiment file may say: type, default, range and meaning of each key",
          [&] { ListKeys(*section); }}}};
    if (!section->empty() && *what != "keys")
      RefuseOption("section", fmt::format("is \"{}\", but {} have none", *section, *what),
                   "only with keys");
    *exit_code = 0;
    if (what->empty()) {
      std::vector<ListRow> rows;
      for (const auto& [name, list] : lists) rows.push_back({"cosched list " + name, list.first});
      return PrintTable(rows);
    }
    std::string names;
    for (const auto& [name, list] : lists) names += (names.empty() ? "" : ", ") + name;
    const auto found = lists.find(*what);
    if (found == lists.end())
      RefuseOption("what", fmt::format("\"{}\" can't be listed{}", *what, DidYouMean(*what, names)),
                   names);
    found->second.second();
  });
}

}  // namespace cosched
