#include "policies/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace cosched {

PolicyInfo NoControlPolicy();
PolicyInfo StaticPartitionPolicy();
PolicyInfo StrictPolicy();
PolicyInfo AlwaysAttendPolicy();
PolicyInfo MaxPropPolicy();
PolicyInfo EqualSharePolicy();
PolicyInfo EasyBackfillPolicy();
PolicyInfo SjfPolicy();
PolicyInfo SrptPolicy();
PolicyInfo HesrptPolicy();
PolicyInfo MarginalSpeedupPolicy();
PolicyInfo RoundRobinPolicy();
PolicyInfo GangPolicy();
PolicyInfo LendReclaimPolicy();
PolicyInfo FeedbackPolicy();
PolicyInfo ScriptedPolicy();
PolicyInfo StaticSharesPolicy();
PolicyInfo RomaCtPolicy();
PolicyInfo RomaCt2Policy();
PolicyInfo RomaRulesPolicy();
PolicyInfo KosmosPolicy();
PolicyInfo KpaPolicy();

namespace {

template <typename Number>
bool Parse(std::string_view text, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

// Whether `value` is a Number that `bounds`, ">= 1" or "> 0 and < 1", let through.
template <typename Number>
bool IsWithin(std::string_view value, std::string_view bounds) {
  constexpr std::string_view kAnd = " and ";
  Number number;
  if (!Parse(value, &number) || !std::isfinite(static_cast<double>(number))) return false;
  while (true) {
    const size_t end = bounds.find(kAnd);
    const std::string_view bound = bounds.substr(0, end);
    const size_t space = std::min(bound.find(' '), bound.size());
    const std::string_view relation = bound.substr(0, space);
    Number limit;
    CHECK(Parse(bound.substr(std::min(space + 1, bound.size())), &limit))
        << "bound \"" << bound << "\"";
    CHECK(relation == ">=" || relation == ">" || relation == "<=" || relation == "<")
        << "bound \"" << bound << "\"";
    const bool holds = relation == ">="   ? number >= limit
                       : relation == ">"  ? number > limit
                       : relation == "<=" ? number <= limit
                                          : number < limit;
    if (!holds) return false;
    if (end == std::string_view::npos) return true;
    bounds.remove_prefix(end + kAnd.size());
  }
}

bool IsAllowed(std::string_view value, std::string_view allowed) {
  constexpr std::string_view kBetween = " | ";
  constexpr std::string_view kInteger = "integer ";
  constexpr std::string_view kNumber = "number ";
  constexpr std::string_view kText = "text: ";
  while (true) {
    if (allowed.starts_with(kText)) return true;
    const size_t end = allowed.find(kBetween);
    const std::string_view one = allowed.substr(0, end);
    const bool matches =
        one.starts_with(kInteger)  ? IsWithin<int>(value, one.substr(kInteger.size()))
        : one.starts_with(kNumber) ? IsWithin<double>(value, one.substr(kNumber.size()))
                                   : value == one;
    if (matches) return true;
    if (end == std::string_view::npos) return false;
    allowed.remove_prefix(end + kBetween.size());
  }
}

std::string Key(const PolicyInfo& info, std::string_view parameter) {
  return fmt::format("policy.{}.{}", info.name, parameter);
}

std::string ParameterNames(const PolicyInfo& info) {
  std::string names;
  for (const PolicyParameter& parameter : info.parameters) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", parameter.name);
  }
  return names.empty() ? fmt::format("nothing: {} has no parameters", info.name) : names;
}

template <typename Number>
Number ValueOf(const PolicyParameters& parameters, std::string_view name) {
  const auto found = parameters.find(name);
  CHECK(found != parameters.end())
      << "the policy asks for a parameter \"" << name << "\" that its PolicyInfo does not list";
  Number value = 0;
  CHECK(Parse(found->second, &value)) << "parameter \"" << name << "\" is " << found->second;
  return value;
}

}  // namespace

std::span<const PolicyInfo> Policies() {
  static const std::array kPolicies = {NoControlPolicy(),
                                       StaticPartitionPolicy(),
                                       StrictPolicy(),
                                       AlwaysAttendPolicy(),
                                       MaxPropPolicy(),
                                       EqualSharePolicy(),
                                       EasyBackfillPolicy(),
                                       SjfPolicy(),
                                       SrptPolicy(),
                                       HesrptPolicy(),
                                       MarginalSpeedupPolicy(),
                                       RoundRobinPolicy(),
                                       GangPolicy(),
                                       LendReclaimPolicy(),
                                       FeedbackPolicy(),
                                       ScriptedPolicy(),
                                       StaticSharesPolicy(),
                                       RomaCtPolicy(),
                                       RomaCt2Policy(),
                                       RomaRulesPolicy(),
                                       KosmosPolicy(),
                                       KpaPolicy()};
  return kPolicies;
}

const PolicyInfo* FindPolicy(std::string_view name) {
  for (const PolicyInfo& info : Policies()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::string PolicyNames() {
  std::string names;
  for (const PolicyInfo& info : Policies()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
  }
  return names;
}

std::unique_ptr<Policy> MakePolicy(const PolicyInfo& info, const PolicyParameters& parameters) {
  for (const auto& [name, value] : parameters) {
    const bool known =
        std::any_of(info.parameters.begin(), info.parameters.end(),
                    [&key = name](const PolicyParameter& p) { return p.name == key; });
    if (!known) {
      throw InputError({.file = {},
                        .line = 0,
                        .key = Key(info, name),
                        .problem = "there is no such parameter",
                        .allowed = ParameterNames(info)});
    }
  }
  PolicyParameters complete;
  for (const PolicyParameter& parameter : info.parameters) {
    const auto given = parameters.find(parameter.name);
    const std::string value(given == parameters.end() ? parameter.default_value
                                                      : std::string_view(given->second));
    if (!IsAllowed(value, parameter.allowed)) {
      throw InputError({.file = {},
                        .line = 0,
                        .key = Key(info, parameter.name),
                        .problem = fmt::format("\"{}\" is not allowed", value),
                        .allowed = std::string(parameter.allowed)});
    }
    complete.emplace(parameter.name, value);
  }
  return info.make(complete);
}

double NumberOf(const PolicyParameters& parameters, std::string_view name) {
  return ValueOf<double>(parameters, name);
}

CpuShare ShareOf(const PolicyParameters& parameters, std::string_view name) {
  return {std::llround(NumberOf(parameters, name) * 1000)};
}

int IntegerOf(const PolicyParameters& parameters, std::string_view name) {
  return ValueOf<int>(parameters, name);
}

}  // namespace cosched
