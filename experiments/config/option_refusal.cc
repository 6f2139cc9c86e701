#include "experiments/config/option_refusal.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"

namespace cosched {

void RefuseOption(std::string_view option, std::string problem, std::string allowed) {
  InputErrorDetails details;
  details.file = "command line";
  details.key = option;
  details.problem = std::move(problem);
  details.allowed = std::move(allowed);
  throw InputError(std::move(details));
}

void RefuseValue(std::string_view option, std::string_view value, std::string allowed) {
  RefuseOption(option, value.empty() ? "no value" : fmt::format("\"{}\"", value),
               std::move(allowed));
}

}  // namespace cosched
