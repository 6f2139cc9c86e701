#pragma once
// A number that is the whole of a text and within bounds: what a person, a file or a peer has
// written, before anybody trusts it. Thread-safe.

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace cosched {

// nullopt for anything else: no digits, words behind them, a plus sign or blanks before them, NaN.
template <typename Number>
std::optional<Number> ReadNumber(std::string_view text, std::type_identity_t<Number> low,
                                 std::type_identity_t<Number> high) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || !(number >= low && number <= high))
    return std::nullopt;
  return number;
}

}  // namespace cosched
