#pragma once
// Options with a type: what may be given is said once, where the option is added. `--help` shows
// it, and a value that is refused gets one message with it, an InputError about the option.
// CLI11's own validators would take 0x10, 010 as 8 and "nan", and say less. Called where commands
// add their options, on one thread.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/read_number.h"
#include "experiments/config/option_refusal.h"

namespace cosched {

template <typename Number>
std::string NumbersAllowed(Number low, Number high) {
  return fmt::format("{} from {} to {}", std::is_integral_v<Number> ? "an integer" : "a number",
                     low, high);
}

// "INT:1..8", as `--help` has it; CLI11's words where there is no bound but 0.
template <typename Number>
std::string NumberType(Number low, Number high) {
  constexpr bool kIsWhole = std::is_integral_v<Number>;
  constexpr double kNoBound = 9e18;
  if (low == 0 && static_cast<double>(high) > kNoBound)
    return kIsWhole ? "UINT" : "FLOAT:NONNEGATIVE";
  return fmt::format("{}:{}..{}", kIsWhole ? "INT" : "FLOAT", low, high);
}

// For bounds that other options, or the machine, set.
template <typename Number>
void CheckNumber(std::string_view option, Number number, std::type_identity_t<Number> low,
                 std::type_identity_t<Number> high) {
  if (!(number >= low && number <= high))
    RefuseValue(option, fmt::format("{}", number), NumbersAllowed(low, high));
}

template <typename Value, bool = std::is_arithmetic_v<Value>>
struct NumberOption {
  using Number = Value;
};
template <typename Value>  // std::optional: may be left out; std::vector: several.
struct NumberOption<Value, false> {
  using Number = typename Value::value_type;
};

// value: a number, std::optional or std::vector of it; outlives the command. allowed: in place of
// the bounds in what a refused value is answered.
template <typename Value>
CLI::Option* AddNumber(CLI::App* command, const char* name, Value* value,
                       typename NumberOption<Value>::Number low,
                       typename NumberOption<Value>::Number high, const std::string& help,
                       std::string allowed = "") {
  using Number = typename NumberOption<Value>::Number;
  if (allowed.empty()) allowed = NumbersAllowed(low, high);
  CLI::Option* option = command->add_option(name, *value, help);
  option->transform(CLI::Validator(
      [named = std::string(name), low, high, allowed](std::string& text) {
        const std::optional<Number> number = ReadNumber<Number>(text, low, high);
        if (!number) RefuseValue(named, text, allowed);
        text = fmt::format("{}", *number);  // CLI11 reads it again: 010 would be 8.
        return std::string();
      },
      ""));
  option->type_name(NumberType(low, high));
  if constexpr (std::is_arithmetic_v<Value>) option->default_str(fmt::format("{}", *value));
  return option;
}

template <typename Value>
using NamedValues = std::vector<std::pair<std::string_view, Value>>;

// "train, infer or serve"
template <typename Value>
std::string NamesAllowed(const NamedValues<Value>& values) {
  std::string names;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) names += i + 1 < values.size() ? ", " : " or ";
    names += values[i].first;
  }
  return names;
}

// value: an enum or bool, which is what the name given stands for, or std::vector of it; outlives
// the command.
template <typename Value, typename Named = Value>
CLI::Option* AddChoice(CLI::App* command, const char* name, Value* value,
                       const std::type_identity_t<NamedValues<Named>>& values,
                       const std::string& help) {
  CLI::Option* option = command->add_option(name, *value, help);
  option->transform(CLI::Validator(
      [named = std::string(name), values](std::string& text) {
        for (const auto& [known, meant] : values) {
          if (known != text) continue;
          text = std::to_string(static_cast<int>(meant));  // As CLI11 reads enums.
          return std::string();
        }
        RefuseValue(named, text, NamesAllowed(values));
      },
      ""));
  std::string type;
  for (const auto& [known, meant] : values) {
    type += (type.empty() ? "" : "|") + std::string(known);
    if constexpr (std::is_same_v<Value, Named>) {
      if (meant == *value) option->default_str(std::string(known));
    }
  }
  option->type_name(type);
  return option;
}

}  // namespace cosched
