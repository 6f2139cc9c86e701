#include "experiments/config/parameter_values.h"

#include <string>

namespace cosched {

std::vector<KeyValue> ParameterValues(std::span<const Parameter> known, const Parameters* given) {
  using Json = nlohmann::ordered_json;
  std::vector<KeyValue> values;
  for (const Parameter& parameter : known) {
    std::string text(parameter.default_value);
    if (given != nullptr) {
      if (const auto found = given->find(parameter.name); found != given->end())
        text = found->second;
    }
    const Json number = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    values.push_back({std::string(parameter.name), number.is_number() ? number : Json(text), {}});
  }
  return values;
}

}  // namespace cosched
