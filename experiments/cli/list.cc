#include "experiments/cli/list.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/did_you_mean.h"
#include "experiments/cli/json_output.h"
#include "experiments/cli/list_table.h"
#include "experiments/cli/listings.h"
#include "experiments/config/option_refusal.h"

namespace cosched {
namespace {

struct ListArguments {
  std::string what;
  std::string section;
  ExternalPolicyArguments external;
  bool json = false;
};

struct ListChoice {
  const char* about;
  std::function<Listing()> make;
};

// What can be listed.
Listing ListLists(const std::map<std::string, ListChoice>& choices) {
  std::vector<ListRow> rows;
  nlohmann::ordered_json items = nlohmann::ordered_json::array();
  for (const auto& [name, choice] : choices) {
    rows.push_back({"cosched list " + name, choice.about});
    items.push_back({{"name", name}, {"summary", choice.about}});
  }
  return {ListTableText(rows), std::move(items)};
}

Listing MakeListing(const ListArguments& arguments) {
  const std::map<std::string, ListChoice> choices = {
      {"policies",
       {"what decides who runs where, with their parameters",
        [&] { return ListPolicies(arguments.external); }}},
      {"dispatches",
       {"which service a server takes its next request from, with their parameters",
        ListDispatches}},
      {"models", {"what a workload may be", ListModels}},
      {"formats", {"of trace files", ListFormats}},
      {"experiments",
       {"files that come with cosched, for `cosched run NAME` or to copy from", ListExperiments}},
      {"figures", {"of papers, for `cosched reproduce`", ListFigures}},
      {"keys",
       {"what an experiment file may say: type, default, range and meaning of each key",
        [&] { return ListKeys(arguments.section); }}}};
  if (!arguments.section.empty() && arguments.what != "keys") {
    RefuseOption("section",
                 fmt::format("is \"{}\", but {} have none", arguments.section, arguments.what),
                 "only with keys");
  }
  if (arguments.what.empty()) return ListLists(choices);
  const auto found = choices.find(arguments.what);
  if (found != choices.end()) return found->second.make();
  std::string names;
  for (const auto& [name, choice] : choices) names += (names.empty() ? "" : ", ") + name;
  RefuseOption(
      "what",
      fmt::format("\"{}\" can't be listed{}", arguments.what, DidYouMean(arguments.what, names)),
      names);
}

void PrintListing(const ListArguments& arguments) {
  JsonOutput output(arguments.json);
  const Listing listing = MakeListing(arguments);
  if (!arguments.json) {
    fmt::print("{}", listing.text);
    return;
  }
  output.Print({{"schema", "cosched-list"},
                {"version", 1},
                {"list", arguments.what.empty() ? "lists" : arguments.what},
                {"items", listing.items}});
}

}  // namespace

void AddListCommand(CLI::App& app, int* exit_code) {
  CLI::App* list = app.add_subcommand("list", "List what an experiment file may name");
  const auto arguments = std::make_shared<ListArguments>();
  list->add_option("what", arguments->what, "What to list; default: what there is to list")
      ->type_name("policies|dispatches|models|formats|experiments|figures|keys");
  list->add_option("section", arguments->section,
                   "With keys: a table of an experiment file, such as machine or workload");
  AddExternalPolicyOptions(list, &arguments->external);
  AddJsonFlag(list, &arguments->json, "list.schema");
  list->callback([arguments, exit_code] {
    PrintListing(*arguments);
    *exit_code = 0;
  });
}

}  // namespace cosched
