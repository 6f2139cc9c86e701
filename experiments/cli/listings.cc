#include "experiments/cli/listings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/did_you_mean.h"
#include "experiments/cli/list_table.h"
#include "experiments/cli/reproduce.h"
#include "experiments/config/option_refusal.h"
#include "experiments/config/section_help.h"
#include "experiments/launch/shipped_experiments.h"
#include "experiments/wire/chaos_plan.h"
#include "policies/dispatch/dispatches.h"
#include "policies/registry.h"
#include "traces/input/formats.h"
#include "workloads/model.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

ListRow ParameterHeading() { return {"parameter", "default", "allowed", "what it says"}; }

// Adds a row each, and gives the same as JSON. owner: "policy.max-prop".
Json AddParameters(const std::string& owner, std::span<const Parameter> parameters,
                   std::vector<ListRow>* rows) {
  Json json = Json::array();
  for (const Parameter& parameter : parameters) {
    const std::string key = fmt::format("{}.{}", owner, parameter.name);
    rows->push_back({key, std::string(parameter.default_value), std::string(parameter.allowed),
                     std::string(parameter.help)});
    json.push_back({{"key", key},
                    {"default", parameter.default_value},
                    {"allowed", parameter.allowed},
                    {"meaning", parameter.help}});
  }
  return json;
}

std::string WithSource(std::string_view summary, std::string_view source) {
  return source.empty() ? std::string(summary) : fmt::format("{} [{}]", summary, source);
}

Json TextOrNull(std::string_view text) { return text.empty() ? Json() : Json(text); }

// A model of the tree, or what may stand for one; absent figures are the file's.
struct ListedModel {
  std::string name;
  std::optional<Shape> image;
  std::optional<int64_t> classes, parameters;
  std::string without;  // In place of absent figures: "the file's".
  std::string summary;
};

std::vector<ListedModel> ModelsThereAre() {
  std::vector<ListedModel> models;
  for (const ModelInfo& model : Models())
    models.push_back({model.name, model.image, model.classes, model.parameters, "", model.summary});
  const auto add = [&models](const char* name, const char* without, const char* summary) {
    models.push_back({name, std::nullopt, std::nullopt, std::nullopt, without, summary});
  };
  add("onnx:FILE", "the file's",
      "an ONNX file of opset 7 to 20; `cosched model describe onnx:FILE` tells more");
  add("graphdef:FILE", "the file's", "a frozen TensorFlow GraphDef");
  models.push_back({"empty", OpenModel("empty")->image, 2, 0, "",
                    "special: no network; what a request costs on its way to a service and back"});
  add("chaos", "-",
      "special: no CNN but a tenant that misbehaves by its seed, or as chaos:NAME says");
  return models;
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

void AddSection(const SectionHelp& section, const std::string& name, Listing* listing) {
  if (!listing->text.empty()) listing->text += "\n";
  listing->text +=
      fmt::format("{}{}{}\n", section.heading, section.heading.empty() ? "" : "  ", section.about);
  std::vector<ListRow> rows = {{"key", "type", "default", "allowed", "meaning"}};
  Json keys = Json::array();
  for (const KeyHelp& key : section.keys) {
    rows.push_back({key.name, key.type, key.fallback, key.range, key.meaning});
    keys.push_back({{"key", key.name},
                    {"type", key.type},
                    {"default", key.fallback},
                    {"allowed", key.range},
                    {"meaning", key.meaning}});
  }
  listing->text += WrappedTableText(rows, {24, 14, 22, 30, 44});
  listing->items.push_back({{"section", name},
                            {"heading", TextOrNull(section.heading)},
                            {"about", section.about},
                            {"keys", std::move(keys)}});
}

}  // namespace

Listing ListPolicies(const ExternalPolicyArguments& arguments) {
  const std::vector<std::shared_ptr<const ExternalPolicy>> external =
      OpenExternalPolicies(arguments);
  std::vector<PolicyInfo> policies(Policies().begin(), Policies().end());
  for (const auto& policy : external) policies.push_back(policy->info);
  std::vector<ListRow> rows = {{"policy", "oversubscribes", "needs a profile", "what it does"}};
  std::vector<ListRow> parameters = {ParameterHeading()};
  Json items = Json::array();
  for (const PolicyInfo& policy : policies) {
    rows.push_back({std::string(policy.name), policy.oversubscribes ? "yes" : "no",
                    policy.needs_speed ? "yes" : "no", WithSource(policy.summary, policy.source)});
    items.push_back({{"name", policy.name},
                     {"oversubscribes", policy.oversubscribes},
                     {"needs_profile", policy.needs_speed},
                     {"summary", policy.summary},
                     {"source", TextOrNull(policy.source)},
                     {"parameters", AddParameters(fmt::format("policy.{}", policy.name),
                                                  policy.parameters, &parameters)}});
  }
  std::string text = ListTableText(rows);
  if (parameters.size() > 1) text += "\n" + ListTableText(parameters);
  return {std::move(text), std::move(items)};
}

Listing ListDispatches() {
  std::vector<ListRow> rows = {{"dispatch", "needs", "what it does"}};
  std::vector<ListRow> parameters = {ParameterHeading()};
  Json items = Json::array();
  for (const DispatchInfo& dispatch : Dispatches()) {
    std::vector<std::string> needs;
    if (dispatch.needs_deadline) needs.emplace_back("slo_ms");
    if (dispatch.needs_objective) needs.emplace_back("sla_ms");
    rows.push_back({std::string(dispatch.name),
                    needs.empty() ? "-" : fmt::format("{}", fmt::join(needs, ", ")),
                    WithSource(dispatch.summary, dispatch.source)});
    items.push_back({{"name", dispatch.name},
                     {"needs", needs},
                     {"summary", dispatch.summary},
                     {"source", TextOrNull(dispatch.source)},
                     {"parameters", AddParameters(fmt::format("dispatch.{}", dispatch.name),
                                                  dispatch.parameters, &parameters)}});
  }
  return {ListTableText(rows) + "\n" + ListTableText(parameters), std::move(items)};
}

Listing ListModels() {
  std::vector<ListRow> rows = {{"model", "image", "classes", "parameters", "what it is"}};
  Json items = Json::array();
  for (const ListedModel& model : ModelsThereAre()) {
    const auto number = [&model](const std::optional<int64_t>& value) {
      return value ? std::to_string(*value) : model.without;
    };
    rows.push_back({model.name, model.image ? model.image->ToString() : model.without,
                    number(model.classes), number(model.parameters), model.summary});
    items.push_back({{"name", model.name},
                     {"image", model.image ? Json(model.image->Sizes()) : Json()},
                     {"classes", model.classes ? Json(*model.classes) : Json()},
                     {"parameters", model.parameters ? Json(*model.parameters) : Json()},
                     {"summary", model.summary}});
  }
  std::vector<ListRow> behaviours = {{"chaos:NAME", "what it does"}};
  Json& chaos = items.back()["behaviours"] = Json::array();
  for (const ChaosBehaviour& behaviour : ChaosBehaviours()) {
    behaviours.push_back({std::string(behaviour.name), std::string(behaviour.summary)});
    chaos.push_back({{"name", behaviour.name}, {"summary", behaviour.summary}});
  }
  return {ListTableText(rows) + "\n" + ListTableText(behaviours), std::move(items)};
}

Listing ListFormats() {
  std::vector<ListRow> rows = {{"format", "what it is"}};
  Json items = Json::array();
  for (const TraceFormat& format : TraceFormats()) {
    rows.push_back({std::string(format.name), std::string(format.summary)});
    items.push_back({{"name", format.name}, {"summary", format.summary}});
  }
  return {ListTableText(rows), std::move(items)};
}

Listing ListExperiments() {
  std::vector<ListRow> rows = {{"experiment", "file", "what it shows"}};
  Json items = Json::array();
  for (const ShippedExperiment& shipped : ShippedExperiments()) {
    rows.push_back({shipped.name, shipped.file.string(), shipped.about});
    items.push_back(
        {{"name", shipped.name}, {"file", shipped.file.string()}, {"summary", shipped.about}});
  }
  return {ListTableText(rows), std::move(items)};
}

Listing ListFigures() {
  std::vector<ListRow> rows = {{"figure", "what it shows"}};
  Json items = Json::array();
  for (const FigureInfo& figure : Figures()) {
    rows.push_back({figure.name, figure.title});
    items.push_back({{"name", figure.name}, {"summary", figure.title}});
  }
  return {ListTableText(rows), std::move(items)};
}

Listing ListKeys(const std::string& section) {
  Listing listing{.text = "", .items = Json::array()};
  std::vector<std::string> names;
  for (const SectionHelp& help : SectionsHelp()) {
    const std::string name = SectionName(help);
    names.push_back(name);
    const bool inside = name.starts_with(section + ".");
    if (!section.empty() && section != name && section != help.heading && !inside) continue;
    AddSection(help, name, &listing);
  }
  if (!listing.text.empty()) return listing;
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  RefuseOption("section", fmt::format("there is no \"{}\"{}", section, DidYouMean(section, all)),
               all);
}

}  // namespace cosched
