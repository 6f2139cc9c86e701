#pragma once
// The columns of a table that hold numbers, flags aside, whatever their types: for JSON, which has one kind
// of number. Pure.

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>

#include "experiments/records/column.h"

namespace cosched {
namespace numeric_columns {

// What a column's cell is of, its being empty aside.
template <typename Row, typename Column>
using ValueOf = typename KnownValue<
    std::remove_cvref_t<std::invoke_result_t<decltype(Column::get), const Row&>>>::Type;

template <typename Value>
inline constexpr bool kIsNumber = std::is_arithmetic_v<Value> && !std::same_as<Value, bool>;

template <typename Value>
std::optional<double> NumberOf(const std::optional<Value>& cell) {
  return cell ? std::optional(static_cast<double>(*cell)) : std::nullopt;
}
template <typename Value>
std::optional<double> NumberOf(Value cell) {
  return static_cast<double>(cell);
}

}  // namespace numeric_columns

// visit(name, number) of each, in the file's order; number(row) is nullopt where the cell is empty.
template <typename Row, typename Visit>
void ForEachNumericColumn(Visit visit) {
  ForEachColumn<Row>([&visit](size_t /*index*/, const auto& column) {
    using Value = numeric_columns::ValueOf<Row, std::remove_cvref_t<decltype(column)>>;
    if constexpr (numeric_columns::kIsNumber<Value>) {
      visit(column.name, [&column](const Row& row) {
        return numeric_columns::NumberOf(std::invoke(column.get, row));
      });
    }
  });
}

}  // namespace cosched
