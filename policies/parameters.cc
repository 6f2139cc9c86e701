#include "policies/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace cosched {
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

std::string NamesOf(std::string_view owner, std::span<const Parameter> known) {
  std::string names;
  for (const Parameter& parameter : known)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", parameter.name);
  const std::string_view name = owner.substr(owner.find('.') + 1);
  return names.empty() ? fmt::format("nothing: {} has no parameters", name) : names;
}

template <typename Number>
Number ValueOf(const Parameters& parameters, std::string_view name) {
  const auto found = parameters.find(name);
  CHECK(found != parameters.end()) << "parameter \"" << name << "\" is asked for, but not listed";
  Number value = 0;
  CHECK(Parse(found->second, &value)) << "parameter \"" << name << "\" is " << found->second;
  return value;
}

}  // namespace

Parameters Completed(std::string_view owner, std::span<const Parameter> known,
                     const Parameters& given) {
  for (const auto& [name, value] : given) {
    const bool is_known = std::any_of(known.begin(), known.end(),
                                      [&key = name](const Parameter& p) { return p.name == key; });
    if (!is_known) {
      throw InputError({.file = {},
                        .line = 0,
                        .key = fmt::format("{}.{}", owner, name),
                        .problem = "there is no such parameter",
                        .allowed = NamesOf(owner, known)});
    }
  }
  Parameters complete;
  for (const Parameter& parameter : known) {
    const auto found = given.find(parameter.name);
    const std::string value(found == given.end() ? parameter.default_value
                                                 : std::string_view(found->second));
    if (!IsAllowed(value, parameter.allowed)) {
      throw InputError({.file = {},
                        .line = 0,
                        .key = fmt::format("{}.{}", owner, parameter.name),
                        .problem = fmt::format("\"{}\" is not allowed", value),
                        .allowed = std::string(parameter.allowed)});
    }
    complete.emplace(parameter.name, value);
  }
  return complete;
}

double NumberOf(const Parameters& parameters, std::string_view name) {
  return ValueOf<double>(parameters, name);
}

CpuShare ShareOf(const Parameters& parameters, std::string_view name) {
  return {std::llround(NumberOf(parameters, name) * 1000)};
}

int IntegerOf(const Parameters& parameters, std::string_view name) {
  return ValueOf<int>(parameters, name);
}

}  // namespace cosched
